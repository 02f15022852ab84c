// The addon, by the compiler of this machine.
import { mkdirSync } from 'node:fs';
import { compileFlags, linkFlags, sources } from '../../native/flags.mjs';
import { at, inParallel, Missing, run, step, whenChanged } from './steps.mjs';

export const prebuild = () => `prebuilds/${process.platform}-${process.arch}/dlpack.node`;

/** The folder with node_api.h. */
export const headers = 'node_modules/node-api-headers/include';

export async function findCompiler() {
  const candidates = process.env.CXX ? [process.env.CXX] : ['c++', 'g++', 'clang++'];
  for (const candidate of candidates) {
    try {
      await run(candidate, ['--version']);
      return candidate;
    } catch {
      // The next one.
    }
  }
  throw new Missing(
    `a C++17 compiler; tried ${candidates.join(', ')}. Install g++ or clang++ (Debian: apt install g++; macOS: xcode-select --install), or name one in CXX.`,
  );
}

/** What the addon's own sources have to pass. */
export const warningFlags = [
  '-Wall',
  '-Wextra',
  '-Werror',
  '-Wno-unknown-warning-option', // Clang does not know the next one
  '-Wno-maybe-uninitialized', // gcc 12 takes arrays that are filled up to ndim for empty ones
];

export const buildNative = () =>
  step('C++: native to prebuilds', () =>
    whenChanged('native', ['native', 'include', 'scripts/lib/native.mjs'], [prebuild()], async () => {
      const compiler = await findCompiler();
      mkdirSync(at(prebuild(), '..'), { recursive: true });
      mkdirSync(at('.cache/objects'), { recursive: true });
      const flags = [...warningFlags, ...compileFlags(process.platform, headers)];
      const objectOf = (source) => `.cache/objects/${source.replaceAll('/', '-')}.o`;
      await inParallel(sources(), (source) =>
        run(compiler, [...flags, '-c', `native/${source}`, '-o', objectOf(source)]),
      );
      await run(compiler, [...sources().map(objectOf), '-o', prebuild(), ...linkFlags(process.platform)]);
    }),
  );
