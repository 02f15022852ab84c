// The first steps of every set-up: Node, npm packages, and TypeScript.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { bundleDist } from './dist.mjs';
import { at, Missing, online, run, step, whenChanged } from './steps.mjs';

export const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
/** The path of a program that an npm package brings. */
export const tool = (name) => at('node_modules', '.bin', process.platform === 'win32' ? `${name}.cmd` : name);

export function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19) || major === 21 || (major === 22 && minor < 12)) {
    throw new Missing(
      `Node 20.19 or newer of 20, or 22.12 or newer; this is ${process.version}. Install a newer one and run this again.`,
    );
  }
}

export const installPackages = () =>
  step('npm packages', () =>
    whenChanged('npm', ['package.json', 'package-lock.json'], ['node_modules/typescript'], async () => {
      await online(() => run(npm, ['install', '--no-audit', '--no-fund']));
    }),
  );

export const distInputs = [
  'src',
  'tsconfig.json',
  'package.json',
  'scripts/lib/dist.mjs',
  'scripts/lib/declarations.mjs',
];

export const buildTypeScript = () =>
  step('TypeScript: src to dist', () =>
    whenChanged('dist', distInputs, ['dist/index.js'], async () => {
      rmSync(at('dist'), { recursive: true, force: true });
      await run(tool('tsc'), ['-p', 'tsconfig.json']);
      await bundleDist();
    }),
  );

/** Removes compiled files whose source was moved or deleted, so that they do not run. */
function removeStale(folder) {
  const compiled = existsSync(at('build', folder)) ? readdirSync(at('build', folder), { recursive: true }) : [];
  for (const file of compiled) {
    const [, name, kind] = /^(.*)\.([cm]?)js(?:\.map)?$/.exec(file) ?? [];
    const isStale = name !== undefined && !existsSync(at(folder, `${name}.${kind}ts`));
    if (isStale) rmSync(at('build', folder, file));
  }
}

/** What the compiler found in each file the last time, so that it looks only at what changed. */
const testsInfo = '.cache/tests.tsbuildinfo';

export const buildTests = () =>
  step('TypeScript: tests, examples and benchmarks to build', () =>
    whenChanged(
      'build',
      ['src', 'tests', 'bench', 'examples', 'tsconfig.json', 'tsconfig.tests.json'],
      ['build/tests/harness.js'],
      async () => {
        for (const folder of ['tests', 'bench', 'examples']) removeStale(folder);
        // The compiler would not write files again that someone removed.
        if (!existsSync(at('build/tests/harness.js'))) rmSync(at(testsInfo), { force: true });
        await run(tool('tsc'), ['-p', 'tsconfig.tests.json', '--incremental', '--tsBuildInfoFile', testsInfo]);
      },
    ),
  );
