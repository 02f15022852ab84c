// How the addon is compiled and linked, for `npm run build`, `npm run build:all` and `npx dlpack build`.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of this file. */
export const nativeFolder = fileURLToPath(new URL('.', import.meta.url));

/** Files to compile, relative to that folder. Those of other systems and processors compile to nothing. */
export const sources = () =>
  readdirSync(nativeFolder, { recursive: true })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.cc'))
    .sort();

/** Flags of GCC and Clang for one source; `headers` is the folder with node_api.h. */
export const compileFlags = (platform, headers) => [
  '-std=c++17',
  '-fvisibility=hidden',
  '-fno-exceptions',
  '-fno-rtti',
  '-fno-threadsafe-statics',
  // At this level loops over elements become vector code. A product and a sum stay two roundings.
  '-O3',
  '-fno-trapping-math',
  '-ffp-contract=off',
  // A write behind the end of a buffer on the stack, or of one whose size the compiler knows, ends the process. The
  // runtime of these checks is in libc; on Windows it would be another library.
  ...(platform === 'win32' ? [] : ['-fstack-protector-strong', '-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2']),
  `-I${headers}`,
  // platform/windows_node_api.cc defines the pointers that such calls go through.
  ...(platform === 'win32' ? ['-DNAPI_EXTERN=__declspec(dllimport)'] : ['-fPIC']),
];

/** Flags that make one library of the objects. No C++ runtime: the addon links nothing but libc. */
export const linkFlags = (platform) =>
  ({
    // The compiler's helpers (atomics on ARM) are linked in. The table of imported functions is read-only after loading.
    linux: ['-shared', '-nodefaultlibs', '-Wl,-z,relro,-z,now,-z,noexecstack', '-lc', '-ldl', '-lgcc'],
    darwin: ['-shared', '-Wl,-undefined,dynamic_lookup', '-Wl,-install_name,@rpath/dlpack.node'],
    win32: ['-shared'],
  })[platform] ?? ['-shared'];
