/**
 * The command lines of compilers and linkers, for each system. Nothing here reads the machine, so tests compare the
 * command lines of every system on any of them.
 */

const common = ['-std=c++17', '-O2', '-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1'];

/** What a library's file name ends with. */
export function extensionOf(platform: string): string {
  return platform === 'win32' ? 'dll' : platform === 'darwin' ? 'dylib' : 'so';
}

/** The flags for C++ before the user's: the headers in `own` are searched before those in `system`. */
export function cppFlags(platform: string, own: readonly string[], system: readonly string[]): string[] {
  return [...common, ...(platform === 'win32' ? [] : ['-fPIC']), ...searchFlags(own, system)];
}

/** The same for nvcc. `architectures` are flags, and `host` is the command of the C++ compiler, or null for nvcc's own. */
export function cudaFlags(
  platform: string,
  own: readonly string[],
  system: readonly string[],
  architectures: readonly string[],
  host: string | null,
): string[] {
  return [
    ...common,
    ...(platform === 'win32' ? [] : ['-Xcompiler', '-fPIC']),
    ...architectures,
    ...(host === null ? [] : ['-ccbin', host]),
    ...searchFlags(own, system),
  ];
}

function searchFlags(own: readonly string[], system: readonly string[]): string[] {
  return [...own.map((folder) => `-I${folder}`), ...system.flatMap((folder) => ['-isystem', folder])];
}

/** Compiles the file `name` to an object beside it, and writes the files that it includes. */
export function compileArguments(name: string): string[] {
  return ['-MMD', '-MF', `${name}.d`, '-c', name, '-o', `${name}.o`];
}

/**
 * Links objects to a library. The functions of TVM-FFI come from the copy that the process has loaded; Windows needs
 * the import library of that copy.
 */
export function linkArguments(
  platform: string,
  objects: readonly string[],
  output: string,
  { isCuda, importLibrary }: { isCuda: boolean; importLibrary: string },
): string[] {
  const files = [...objects, '-o', output];
  if (platform === 'darwin') return [...files, '-dynamiclib', '-undefined', 'dynamic_lookup'];
  if (platform === 'win32') return [...files, '-shared', importLibrary];
  return [...files, '-shared', ...(isCuda ? ['-Xcompiler', '-fPIC'] : [])];
}

/** A command as text that a shell on Linux or macOS takes as it is. */
export function showCommand(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}
