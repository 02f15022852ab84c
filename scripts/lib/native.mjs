// Builds the addon with the compiler of this machine.
import { compileFlags, linkFlags, sources } from '../../native/flags.mjs';
import { Compilation, findCompiler } from './compile.mjs';
import { step } from './steps.mjs';

export const prebuild = () => `prebuilds/${process.platform}-${process.arch}/dlpack.node`;

/** The folder with node_api.h. */
export const headers = 'node_modules/node-api-headers/include';

/** The warnings for the addon's own sources. */
export const warningFlags = [
  '-Wall',
  '-Wextra',
  '-Werror',
  '-Wno-unknown-warning-option', // Clang does not know the next flag
  '-Wno-maybe-uninitialized', // gcc 12 reports arrays that are filled up to ndim
];

const flags = (platform) => [...warningFlags, ...compileFlags(platform, headers)];

/** Compiles native/ with the compiler of this machine, and links the objects and `added` of them in other folders. */
async function buildAddon({ output, folder, more = [], added = [], link }) {
  const compilation = await Compilation.with(await findCompiler());
  const objectOf = (source) => `${folder}/${source.replaceAll('/', '-')}.o`;
  const pairs = sources().map((source) => [`native/${source}`, objectOf(source)]);
  let count = await compilation.compile(pairs, [...flags(process.platform), ...more]);
  count += await compilation.compile(added, flags(process.platform));
  const objects = [...pairs, ...added].map(([, object]) => object);
  const isLinked = await compilation.link(objects, output, link);
  return isLinked ? `${count} of ${objects.length} files` : 'up to date';
}

export const buildNative = () =>
  step('C++: native to prebuilds', () =>
    buildAddon({ output: prebuild(), folder: '.cache/objects', link: linkFlags(process.platform) }),
  );

/** Builds the addon for a debugger: with symbols, and little optimised. */
export const buildDebug = () =>
  step('C++: native with symbols, to build/native/debug/dlpack.node', () =>
    buildAddon({
      output: 'build/native/debug/dlpack.node',
      folder: '.cache/objects-debug',
      more: ['-Og', '-g'],
      link: linkFlags(process.platform),
    }),
  );

/** Builds the addon with a sanitizer of GCC on Linux and returns its path. */
export async function buildSanitized(name, sanitizer) {
  const output = `build/native/${name}/dlpack.node`;
  await step(`C++: native with the ${name} sanitizer`, () =>
    buildAddon({
      output,
      folder: `.cache/objects-${name}`,
      more: [...sanitizer, '-O1', '-g', '-fno-omit-frame-pointer'],
      link: ['-shared', ...sanitizer, '-ldl'],
    }),
  );
  return output;
}

/** Functions that tests can let fail. */
const wrapped = ['malloc', 'calloc', 'realloc', 'posix_memalign', 'free', 'mmap', 'munmap', 'pthread_create'];

/** Builds the addon with allocations that tests can let fail, and the addon that commands them. Needs GNU ld on Linux. */
export const buildFaults = () =>
  step('C++: native with allocations that can fail', async () => {
    if (process.platform !== 'linux') return 'left out: the linker of Linux is needed';
    const objectOf = (name) => `.cache/objects-faults/${name}.o`;
    const note = await buildAddon({
      output: 'build/native/faults/dlpack.node',
      folder: '.cache/objects', // those of the ordinary addon, because only the linker knows of the functions
      added: [['tests/faults/addon/allocations.cc', objectOf('allocations')]],
      link: [...wrapped.map((name) => `-Wl,--wrap=${name}`), ...linkFlags('linux')],
    });
    const compilation = await Compilation.with(await findCompiler());
    await compilation.compile([['tests/faults/addon/control.cc', objectOf('control')]], flags('linux'));
    await compilation.link([objectOf('control')], 'build/native/faults/control.node', ['-shared', '-ldl']);
    return note;
  });
