/** The compilers of this machine. */

import { ArgumentTypeError, LoadError } from '../../errors.js';
import { node } from '../../native/load/node-modules.js';
import { checkText } from './arguments.js';
import type { Recipe } from './build.js';
import { findTool, runCommand, type Tool } from './tool.js';

const { existsSync } = node.fs;
const { join } = node.path;

/** A command, or a command with its first arguments: `'clang++'`, `['zig', 'c++']`. */
export type CommandLine = string | readonly string[];

/** A string may contain arguments, as the variable CXX may, or be a path with spaces. */
function wordsOf(line: CommandLine, option: string): string[] {
  const words =
    typeof line !== 'string' ? line : existsSync(line) ? [line] : line.split(' ').filter((word) => word !== '');
  if (!Array.isArray(words) || words.length === 0 || words.some((word) => typeof word !== 'string')) {
    throw new ArgumentTypeError(option, 'a command, such as "g++" or ["zig", "c++"]', line);
  }
  for (const word of words) checkText(option, word, 'a command, such as "g++" or ["zig", "c++"]');
  return words;
}

/** The first tool that runs. Throws a LoadError with its name and with what to do if there is none. */
async function firstOf(lines: readonly (readonly string[])[], name: string, advice: readonly string[]): Promise<Tool> {
  for (const line of lines) {
    const tool = await findTool(line);
    if (tool !== null) return tool;
  }
  const tried = lines.map((line) => line.join(' '));
  throw new LoadError(name, tried, advice);
}

/** The named C++ compiler: the option, or the variable CXX; null for none. */
export function namedCompiler(option: CommandLine | undefined): string[] | null {
  const line = option ?? process.env.CXX;
  return line === undefined || line === '' ? null : wordsOf(line, 'compiler');
}

export async function findCompiler(option: CommandLine | undefined): Promise<Tool> {
  const named = namedCompiler(option);
  const lines = named === null ? [['c++'], ['g++'], ['clang++']] : [named];
  return firstOf(lines, 'a C++17 compiler', [
    'Debian and Ubuntu: apt install g++',
    'Alpine: apk add g++',
    'macOS: xcode-select --install',
    'every system with Python: pip install ziglang, and set CXX="python3 -m ziglang c++"',
    'or name one in CXX, or with compile({ compiler })',
  ]);
}

export async function findCudaCompiler(option: CommandLine | undefined): Promise<Tool> {
  const { CUDA_HOME, CUDA_PATH } = process.env;
  const homes = [CUDA_HOME, CUDA_PATH, process.platform === 'win32' ? undefined : '/usr/local/cuda'];
  const known = homes.flatMap((home) => (home ? [[join(home, 'bin', 'nvcc')]] : []));
  const lines = option === undefined ? [...known, ['nvcc']] : [wordsOf(option, 'cudaCompiler')];
  return firstOf(lines, 'nvcc, the CUDA compiler', [
    'install the CUDA toolkit',
    'or name its folder in CUDA_HOME, or nvcc with compile({ cudaCompiler })',
  ]);
}

/** Flags for the GPUs in the variable TVM_FFI_CUDA_ARCH_LIST (`"8.9 9.0a"`), or in this machine. */
export async function findArchitectures(): Promise<string[]> {
  const list = process.env.TVM_FFI_CUDA_ARCH_LIST || (await capabilities());
  const names = [...new Set(list.match(/\d+\.\d+[a-z]?/g) ?? [])].map((name) => name.replace('.', ''));
  return names.map((name) => `-gencode=arch=compute_${name},code=sm_${name}`);
}

let known: string | null = null;

/** What nvidia-smi prints about the GPUs in this machine, which do not change while a process runs. */
async function capabilities(): Promise<string> {
  if (known !== null) return known;
  const { isDone, output } = await runCommand('nvidia-smi', ['--query-gpu=compute_cap', '--format=csv,noheader']);
  if (isDone) known = output;
  return isDone ? output : '';
}

/** Variables that change what compilers and linkers find or do. */
const variables = [
  'CPATH',
  'C_INCLUDE_PATH',
  'CPLUS_INCLUDE_PATH',
  'LIBRARY_PATH',
  'COMPILER_PATH',
  'GCC_EXEC_PREFIX',
  'CCC_OVERRIDE_OPTIONS',
  'SDKROOT',
  'MACOSX_DEPLOYMENT_TARGET',
  'INCLUDE',
  'LIB',
  'NVCC_PREPEND_FLAGS',
  'NVCC_APPEND_FLAGS',
];

/** What determines a library beside its recipe: the system, its processor if flags name it, and variables. */
export function surroundings({ flags, cudaFlags }: Recipe): unknown[] {
  // Several machines may share a home folder.
  const isNative = [...flags, ...cudaFlags].some((flag) => flag.includes('native'));
  const processor = isNative ? node.os.cpus()[0]?.model : null;
  return [process.platform, process.arch, processor, variables.map((name) => process.env[name])];
}
