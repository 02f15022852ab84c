/** Kernels compiled from source at run time. */

import { checkOptions } from '../base/options.js';
import { checkSignal, untilAborted } from '../base/signal.js';
import { node } from '../native/load/node-modules.js';
import { textsOf } from './compile/arguments.js';
import { build, type Recipe } from './compile/build.js';
import { cacheFolder, digestOf, findBuild, keepBuild } from './compile/cache.js';
import { cppFlags, cudaFlags } from './compile/commands.js';
import { digestHeaders, findHeaders } from './compile/headers.js';
import { readSources } from './compile/source.js';
import {
  type CommandLine,
  findArchitectures,
  findCompiler,
  findCudaCompiler,
  namedCompiler,
  surroundings,
} from './compile/toolchain.js';
import { loadModule } from './module.js';
import type { FFIFunction } from './objects/native-functions.js';

const { resolve } = node.path;

export type { CommandLine };

/** How a kernel is compiled. */
export interface CompileOptions<Name extends string = string> {
  /**
   * C++ source. Several sources are compiled as one file. The headers of TVM-FFI are included before it. None when
   * absent; then `cuda` is needed.
   */
  cpp?: string | readonly string[];
  /** CUDA source, compiled by nvcc; none when absent. */
  cuda?: string | readonly string[];
  /**
   * The functions to export: names, or an object of names and documentation. With `cpp` they must be declared there,
   * otherwise defined in `cuda`. Functions that the source exports itself need no entry, so by default there is
   * none.
   */
  functions?: readonly Name[] | Readonly<Record<Name, string>>;
  /**
   * Further flags for the C++ compiler, such as `['-O3', '-march=native']`. The compiler runs in a temporary folder, so
   * paths in flags must be absolute. None when absent.
   */
  flags?: readonly string[];
  /** Further flags for nvcc; none when absent. The default architecture is that of the GPUs in this machine. */
  cudaFlags?: readonly string[];
  /** Further flags for the linker, such as `['-lblas']`; none when absent. */
  linkFlags?: readonly string[];
  /** Folders with header files; none when absent. A change in a file that the source includes causes a new build. */
  includes?: readonly string[];
  /** The C++ compiler. The default is the variable CXX, then c++, g++ or clang++. */
  compiler?: CommandLine;
  /** The CUDA compiler. The default is nvcc in CUDA_HOME, in CUDA_PATH, in /usr/local/cuda or on the PATH. */
  cudaCompiler?: CommandLine;
  /** The folder with the headers `tvm/ffi` and `dlpack`. The default is in the package of the loaded libtvm_ffi. */
  headers?: string;
  /** The folder for compiled libraries. The default is the variable DLPACK_CACHE_DIR, then the user's cache folder. */
  cache?: string;
  /**
   * Stops the waiting: the promise is rejected with the reason of the signal. The compiler goes on, for the cache.
   * Without one, nothing stops it.
   */
  signal?: AbortSignal;
}

/**
 * Compiles kernels with the compiler of this machine, or takes them from the cache, and loads them. `M` describes the
 * functions.
 *
 * @param options - The source in C++ or CUDA, the functions to export, and how to compile them.
 * @returns A promise of the functions by name.
 * @throws CompileError with the messages of the compiler.
 * @throws ArgumentTypeError or ArgumentValueError for options that make no sense.
 * @throws LoadError if there is no compiler, no headers, no usable folder for the cache, or no libtvm_ffi.
 * @example
 * ```ts
 * import { compile } from 'dlpack/tvm-ffi';
 * const { triple } = await compile({ cpp: 'int64_t triple(int64_t n) { return 3 * n; }', functions: ['triple'] });
 * console.log(triple(14)); // 42
 * ```
 */
export async function compile<const Name extends string>(
  options: CompileOptions<Name>,
): Promise<{ readonly [name in Name]: FFIFunction }>;
export async function compile<M extends object>(options: CompileOptions): Promise<M>;
export async function compile(options: CompileOptions): Promise<object> {
  return loadModule(await compileLibrary(options));
}

/**
 * Compiles kernels as {@link compile} does, but does not load them.
 *
 * @param options - As for {@link compile}.
 * @returns A promise of the path of the library, in the cache.
 * @throws As `compile` does.
 * @example
 * ```ts
 * import { compileLibrary, loadModule } from 'dlpack/tvm-ffi';
 * const path = await compileLibrary({ cpp: 'int64_t triple(int64_t n) { return 3 * n; }', functions: ['triple'] });
 * console.log(loadModule(path).triple(2)); // 6
 * ```
 */
export async function compileLibrary(options: CompileOptions): Promise<string> {
  checkOptions(options, optionNames, "{ cpp: '…', functions: ['name'] }");
  const { signal, ...given } = options; // the caller may change the options while this function waits
  checkSignal(signal);
  signal?.throwIfAborted();
  return untilAborted(compileInto(cacheFolder(given.cache), given), signal ?? null);
}

/** The library in the folder: compiled before, being compiled, or compiled now. */
async function compileInto(folder: string, given: Omit<CompileOptions, 'signal'>): Promise<string> {
  const [recipe, headers] = await makeRecipe(given);
  const key = digestOf(JSON.stringify([recipe, headers, surroundings(recipe)]));
  const found = findBuild(folder, key);
  if (found !== null) return found;
  const place = `${folder}\0${key}`;
  const running = builds.get(place);
  if (running !== undefined) return running;
  const started = build(recipe, (built) => keepBuild(folder, key, built));
  builds.set(place, started);
  try {
    return await started;
  } finally {
    builds.delete(place);
  }
}

/** The builds that run now, by cache folder and key. */
const builds = new Map<string, Promise<string>>();

const optionNames = {
  cpp: true,
  cuda: true,
  functions: true,
  flags: true,
  cudaFlags: true,
  linkFlags: true,
  includes: true,
  compiler: true,
  cudaCompiler: true,
  headers: true,
  cache: true,
  signal: true,
} as const;

/** Returns the recipe and a digest of the headers. */
async function makeRecipe(options: CompileOptions): Promise<[Recipe, string]> {
  const sources = readSources(options.cpp, options.cuda, options.functions);
  const includes = textsOf('includes', options.includes).map((folder) => resolve(folder));
  const flags = textsOf('flags', options.flags);
  const givenCudaFlags = textsOf('cudaFlags', options.cudaFlags);
  const linkFlags = textsOf('linkFlags', options.linkFlags);
  const folders = await findHeaders(options.headers);
  const hasCuda = sources.cuda.length > 0;
  const recipe: Recipe = {
    sources,
    compiler: await findCompiler(options.compiler),
    cudaCompiler: hasCuda ? await findCudaCompiler(options.cudaCompiler) : null,
    flags: [...cppFlags(process.platform, includes, folders), ...flags],
    cudaFlags: hasCuda ? [...(await cudaDefaults(options, includes, folders, givenCudaFlags)), ...givenCudaFlags] : [],
    linkFlags,
  };
  return [recipe, digestHeaders(folders)];
}

async function cudaDefaults(
  options: CompileOptions,
  includes: readonly string[],
  folders: readonly string[],
  given: readonly string[],
): Promise<string[]> {
  const hasArchitecture = given.some((flag) => /^--?(arch|gencode|gpu-arch)/.test(flag));
  const [host = null, ...rest] = namedCompiler(options.compiler) ?? [];
  const architectures = hasArchitecture ? [] : await findArchitectures();
  // nvcc takes only a command as its host compiler.
  return cudaFlags(process.platform, includes, folders, architectures, rest.length > 0 ? null : host);
}
