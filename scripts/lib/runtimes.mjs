// The supported JavaScript runtimes, from the npm registry, in .runtimes.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { npm } from './setup.mjs';
import { at, Missing, online, run, step, whenChanged } from './steps.mjs';

/** Every supported runtime, from the npm registry. `folder` names its package in .runtimes. */
export const runtimes = [
  { name: 'Node 20', folder: 'node20', package: 'node@20', args: ['--expose-gc'] },
  { name: 'Node 22', folder: 'node22', package: 'node@22', args: ['--expose-gc'] },
  { name: 'Node 24', folder: 'node24', package: 'node@24', args: ['--expose-gc'] },
  { name: 'Node 26', folder: 'node26', package: 'node@26', args: ['--expose-gc'] },
  { name: 'Bun', folder: 'bun', package: 'bun@1.4.4', args: ['--expose-gc'] },
  { name: 'Deno', folder: 'deno', package: 'deno@2.9.6', args: ['run', '-A', '--v8-flags=--expose-gc'] },
];

/** The Node of all figures, whichever runs the script. */
export const reference = runtimes.find(({ name }) => name === 'Node 24');

/** The packages with the binaries. Those in the table fetch them with install scripts, which npm 12 blocks. */
function binaryOf({ folder, package: name }) {
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const version = name.split('@')[1];
  if (folder === 'bun')
    return { spec: `@oven/bun-${platform === 'linux-arm64' ? 'linux-aarch64' : platform}@${version}`, path: 'bin/bun' };
  if (folder === 'deno')
    return { spec: `@deno/${platform}${process.platform === 'linux' ? '-glibc' : ''}@${version}`, path: 'deno' };
  return { spec: `node-${platform}@${version}`, path: 'bin/node' };
}

export const runtimePath = (runtime) => at('.runtimes/node_modules', runtime.folder, binaryOf(runtime).path);

/** True if the version in the table, or a newer one that begins with it, is there. */
function isInstalled(runtime) {
  const manifest = at('.runtimes/node_modules', runtime.folder, 'package.json');
  if (!existsSync(manifest) || !existsSync(runtimePath(runtime))) return false;
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
  return `${version}.`.startsWith(`${runtime.package.split('@')[1]}.`);
}

export const installRuntimes = () =>
  step('runtimes: Node 20, 22, 24, 26, Bun, Deno', () =>
    whenChanged(
      'runtimes',
      ['scripts/lib/runtimes.mjs'],
      runtimes.map((r) => runtimePath(r).slice(at('').length)),
      async () => {
        if (runtimes.every(isInstalled)) return 'up to date';
        mkdirSync(at('.runtimes'), { recursive: true });
        writeFileSync(at('.runtimes/package.json'), '{ "private": true }\n');
        const specs = runtimes.map((runtime) => `${runtime.folder}@npm:${binaryOf(runtime).spec}`);
        const flags = ['--no-audit', '--no-fund', '--ignore-scripts'];
        await online(() => run(npm, ['install', ...flags, ...specs], { cwd: at('.runtimes') }));
        for (const runtime of runtimes) {
          if (!existsSync(runtimePath(runtime)))
            throw new Missing(`${runtime.name}: npm package ${runtime.package} has no binary here`);
        }
      },
    ),
  );
