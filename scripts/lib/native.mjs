// Builds the addon with the compiler of this machine.
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
      // Try the next compiler.
    }
  }
  throw new Missing(
    `a C++17 compiler; tried ${candidates.join(', ')}. Install g++ or clang++ (Debian: apt install g++; macOS: xcode-select --install), or name one in CXX.`,
  );
}

/** The warnings for the addon's own sources. */
export const warningFlags = [
  '-Wall',
  '-Wextra',
  '-Werror',
  '-Wno-unknown-warning-option', // Clang does not know the next flag
  '-Wno-maybe-uninitialized', // gcc 12 reports arrays that are filled up to ndim
];

/** Compiles and links native/ with the compiler of this machine. */
async function compileNative({ output, objects, more = [], link }) {
  const compiler = await findCompiler();
  mkdirSync(at(output, '..'), { recursive: true });
  mkdirSync(at(objects), { recursive: true });
  const flags = [...warningFlags, ...compileFlags(process.platform, headers), ...more];
  const objectOf = (source) => `${objects}/${source.replaceAll('/', '-')}.o`;
  await inParallel(sources(), (source) => run(compiler, [...flags, '-c', `native/${source}`, '-o', objectOf(source)]));
  await run(compiler, [...sources().map(objectOf), '-o', output, ...link]);
}

const inputs = ['native', 'include', 'scripts/lib/native.mjs'];

export const buildNative = () =>
  step('C++: native to prebuilds', () =>
    whenChanged('native', inputs, [prebuild()], () =>
      compileNative({ output: prebuild(), objects: '.cache/objects', link: linkFlags(process.platform) }),
    ),
  );

/** Builds the addon with a sanitizer of GCC on Linux and returns its path. */
export async function buildSanitized(name, flags) {
  const output = `build/native/${name}/dlpack.node`;
  await step(`C++: native with the ${name} sanitizer`, () =>
    whenChanged(`native-${name}`, inputs, [output], () =>
      compileNative({
        output,
        objects: `.cache/objects-${name}`,
        more: [...flags, '-O1', '-g', '-fno-omit-frame-pointer'],
        link: ['-shared', ...flags, '-ldl'],
      }),
    ),
  );
  return output;
}

/** Builds the addon with allocations that tests can let fail, and the addon that commands them. Needs GNU ld on Linux. */
export const buildFaults = () =>
  step('C++: native with allocations that can fail', () =>
    whenChanged(
      'native-faults',
      [...inputs, 'tests/faults/addon'],
      process.platform === 'linux' ? ['build/native/faults/dlpack.node', 'build/native/faults/control.node'] : [],
      async () => {
        if (process.platform !== 'linux') return 'left out: the linker of Linux is needed';
        const compiler = await findCompiler();
        mkdirSync(at('build/native/faults'), { recursive: true });
        const wrapped = 'malloc calloc realloc posix_memalign free mmap munmap pthread_create'.split(' ');
        const flags = [...warningFlags, ...compileFlags('linux', headers)];
        const object = 'build/native/faults/allocations.o';
        await run(compiler, [...flags, '-c', 'tests/faults/addon/allocations.cc', '-o', object]);
        await run(compiler, [
          ...sources().map((source) => `.cache/objects/${source.replaceAll('/', '-')}.o`),
          object,
          '-o',
          'build/native/faults/dlpack.node',
          ...wrapped.map((name) => `-Wl,--wrap=${name}`),
          ...linkFlags('linux'),
        ]);
        const control = [
          ...flags,
          '-shared',
          'tests/faults/addon/control.cc',
          '-o',
          'build/native/faults/control.node',
        ];
        await run(compiler, [...control, '-ldl']);
      },
    ),
  );
