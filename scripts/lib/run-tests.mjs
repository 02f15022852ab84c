// Runs compiled test files, each in a separate process, and adds up their results.
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { at, root, run } from './steps.mjs';

function testFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return testFiles(path);
    return entry.name.endsWith('.test.js') ? [path] : [];
  });
}

/** Test folders with their own command. */
const apart = {
  gpu: 'npm run gpu',
  bundlers: 'npm run test:bundlers',
  cluster: 'npm run test:cluster',
  peers: 'npm run test:peers',
};

/**
 * A test that waits for ever must not hide its name. The longest file takes two minutes on an idle machine. Node 24 itself rarely
 * waits for ever at the end of a process, for a thread that compiles and waits for a collection.
 */
const minutes = 12;

/**
 * Runs all test files whose path contains `filter` with `command` and returns the result counts. `intoFiles` is for
 * programs that cannot write into a pipe. `after` is called with each file when it ends. With `again`, up to three files that
 * fail run once more at the end, alone: what then passes is unsteady, is listed, and does not fail the run.
 */
export async function runTests(options) {
  const {
    command,
    args,
    filter = '',
    exclude = () => false,
    env = {},
    cwd = root,
    intoFiles = false,
    workers = availableParallelism() + 1, // tests wait for children and timers, too
    after = () => {},
    again = false,
  } = options;
  const folder = options.folder ?? at('build/tests');
  const others = Object.keys(apart).filter((name) => existsSync(join(folder, name)));
  for (const name of others)
    console.log(`  tests/${name}: ${testFiles(join(folder, name)).length} files, run them with ${apart[name]}`);
  const files = testFiles(folder).filter((file) => {
    const path = relative(folder, file);
    // The path relative to the repository, so that the name of the clone's folder does not match.
    const isWanted = relative(join(folder, '..'), file).includes(filter) && !exclude(path);
    return isWanted && !others.includes(path.split(/[\\/]/)[0]);
  });
  const total = { passed: 0, failed: 0, skipped: 0 };
  const failures = [];
  const add = (count) => {
    for (const key of Object.keys(total)) total[key] += count[key];
  };
  const nameOf = (file) => relative(folder, file).replace('.test.js', '');

  /** Runs a file and prints its verdict. Returns its counts; a process that ends early or badly counts as a failure. */
  const runFile = async (file) => {
    const start = performance.now();
    const into = intoFiles ? `${file}.output` : undefined;
    const limits = { minutes, allowFailure: true };
    const { code, signal, output } = await run(command, [...args, file], { cwd, env, into, ...limits });
    after(relative(folder, file));
    const lines = output.trimEnd().split('\n');
    const result = lines.findLast((line) => line.startsWith('RESULT '));
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const name = nameOf(file);
    const rest = lines.filter((line) => !line.startsWith('RESULT ')).join('\n');
    if (result === undefined) {
      console.log(`  FAILED ${name}: ended with ${signal ?? code} before its tests did (${seconds} s)\n${rest}`);
      return { passed: 0, failed: 1, skipped: 0 };
    }
    const count = JSON.parse(result.slice(7));
    const broken = count.failed === 0 && code !== 0;
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    const verdict =
      count.failed > 0 ? `FAILED ${count.failed}` : broken ? `FAILED with ${signal ?? code} at exit` : 'ok';
    console.log(`  ${verdict} ${name}: ${count.passed} passed${skipped} (${seconds} s)${rest ? `\n${rest}` : ''}`);
    return broken ? { ...count, failed: 1 } : count;
  };

  const queue = [...files];
  const worker = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const count = await runFile(file);
      if (count.failed > 0) failures.push({ file, count });
      else add(count);
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));

  const unsteady = [];
  const mayRepeat = again && failures.length <= 3;
  for (const { file, count } of failures) {
    if (mayRepeat) console.log(`  once more, alone: ${nameOf(file)}`);
    const last = mayRepeat ? await runFile(file) : count;
    if (last.failed === 0) unsteady.push(nameOf(file));
    add(last);
  }
  if (unsteady.length > 0) console.log(`  unsteady, failed beside others and passed alone: ${unsteady.join(', ')}`);
  return total;
}

export function summary({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
