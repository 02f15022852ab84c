/**
 * The compilers of this machine.
 *
 * @module
 */

import { join } from 'node:path';
import { ArgumentTypeError, LoadError } from '../../errors.js';
import { findTool, runCommand, type Tool } from './tool.js';

/** A command, or a command with its first arguments: `'clang++'`, `['zig', 'c++']`. */
export type CommandLine = string | readonly string[];

/** A string may contain arguments, as the variable CXX may. */
function wordsOf(line: CommandLine, option: string): string[] {
  const words = typeof line === 'string' ? line.split(' ').filter((word) => word !== '') : line;
  if (!Array.isArray(words) || words.length === 0 || words.some((word) => typeof word !== 'string')) {
    throw new ArgumentTypeError(option, 'a command, such as "g++" or ["zig", "c++"]', line);
  }
  return words;
}

async function firstOf(lines: readonly (readonly string[])[]): Promise<Tool | null> {
  for (const line of lines) {
    const tool = await findTool(line);
    if (tool !== null) return tool;
  }
  return null;
}

/** The named C++ compiler: the option, or the variable CXX; null for none. */
export function namedCompiler(option: CommandLine | undefined): string[] | null {
  const line = option ?? process.env.CXX;
  return line === undefined || line === '' ? null : wordsOf(line, 'compiler');
}

export async function findCompiler(option: CommandLine | undefined): Promise<Tool> {
  const named = namedCompiler(option);
  const lines = named === null ? [['c++'], ['g++'], ['clang++']] : [named];
  const tool = await firstOf(lines);
  if (tool !== null) return tool;
  throw new LoadError(
    'a C++17 compiler',
    lines.map((line) => line.join(' ')),
    [
      'Debian and Ubuntu: apt install g++',
      'macOS: xcode-select --install',
      'or name one in CXX, or with compile({ compiler: ["zig", "c++"] })',
    ],
  );
}

export async function findCudaCompiler(option: CommandLine | undefined): Promise<Tool> {
  const { CUDA_HOME, CUDA_PATH } = process.env;
  const homes = [CUDA_HOME, CUDA_PATH, process.platform === 'win32' ? undefined : '/usr/local/cuda'];
  const known = homes.flatMap((home) => (home ? [[join(home, 'bin', 'nvcc')]] : []));
  const lines = option === undefined ? [...known, ['nvcc']] : [wordsOf(option, 'cudaCompiler')];
  const tool = await firstOf(lines);
  if (tool !== null) return tool;
  throw new LoadError(
    'nvcc, the CUDA compiler',
    lines.map((line) => line.join(' ')),
    ['install the CUDA toolkit', 'or name its folder in CUDA_HOME, or nvcc with compile({ cudaCompiler })'],
  );
}

/** Flags for the GPUs in the variable TVM_FFI_CUDA_ARCH_LIST (`"8.9 9.0a"`), or in this machine. */
export async function findArchitectures(): Promise<string[]> {
  let list = process.env.TVM_FFI_CUDA_ARCH_LIST ?? '';
  if (list === '') {
    const { isDone, output } = await runCommand('nvidia-smi', ['--query-gpu=compute_cap', '--format=csv,noheader']);
    list = isDone ? output : '';
  }
  const names = [...new Set(list.match(/\d+\.\d+[a-z]?/g) ?? [])].map((name) => name.replace('.', ''));
  return names.map((name) => `-gencode=arch=compute_${name},code=sm_${name}`);
}
