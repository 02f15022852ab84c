/**
 * The files that a compiler gets: the user's source between the headers of TVM-FFI and the exports of its functions.
 * `#line` makes compilers count the lines of each piece from 1, under the name of its option.
 */

import { ArgumentTypeError, ArgumentValueError } from '../../errors.js';

/** Sources and the functions to export. */
export interface Sources {
  readonly cpp: readonly string[];
  readonly cuda: readonly string[];
  /** The name and the documentation of each function. */
  readonly functions: readonly (readonly [string, string])[];
}

const headers = ['container/tensor', 'dtype', 'error', 'extra/c_env_api', 'function'];
const prelude = headers.map((name) => `#include <tvm/ffi/${name}.h>\n`).join('');

/** The text of the C++ file and of the CUDA file; null for none. The first of them exports the functions. */
export function makeFiles({ cpp, cuda, functions }: Sources): { cpp: string | null; cuda: string | null } {
  const exported = exportsOf(functions);
  return {
    cpp: cpp.length === 0 ? null : prelude + label('cpp', cpp) + exported,
    cuda: cuda.length === 0 ? null : prelude + label('cuda', cuda) + (cpp.length === 0 ? exported : ''),
  };
}

function label(option: string, sources: readonly string[]): string {
  return sources
    .map((source, i) => `#line 1 "${sources.length === 1 ? option : `${option}[${i}]`}"\n${source}\n\n`)
    .join('');
}

/** One line for each function, so that the line of an error is the number of the function. */
function exportsOf(functions: Sources['functions']): string {
  const lines = functions.map(([name, doc]) => {
    const documented = doc === '' ? '' : ` TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(${name}, ${quote(doc)});`;
    return `TVM_FFI_DLL_EXPORT_TYPED_FUNC(${name}, ${name});${documented}\n`;
  });
  return lines.length === 0 ? '' : `#line 1 "functions"\n${lines.join('')}`;
}

/** A C string literal. Octal escapes, because they end after three digits, whatever follows. */
function quote(text: string): string {
  const bytes = [...new TextEncoder().encode(text)];
  const escaped = bytes.map((byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c && byte !== 0x3f
      ? String.fromCharCode(byte)
      : `\\${byte.toString(8).padStart(3, '0')}`,
  );
  return `"${escaped.join('')}"`;
}

/** The user's line at a place that a compiler names; null for a place in another file. */
export function lineAt(sources: Sources, source: string, line: number): string | null {
  const found = /^(cpp|cuda)(?:\[(\d+)\])?$/.exec(source);
  if (found === null) return null;
  const text = sources[found[1] as 'cpp' | 'cuda'][Number(found[2] ?? 0)];
  return text?.split('\n')[line - 1]?.trimEnd() ?? null;
}

/** Checks the source options and gives them one form. */
export function readSources(cpp: unknown, cuda: unknown, functions: unknown): Sources {
  const sources = { cpp: textsOf(cpp, 'cpp'), cuda: textsOf(cuda, 'cuda'), functions: functionsOf(functions) };
  if (sources.cpp.length + sources.cuda.length === 0) {
    throw new ArgumentTypeError('cpp', 'C++ source here, or CUDA source for cuda,', cpp);
  }
  return sources;
}

function textsOf(value: unknown, option: string): string[] {
  if (value === undefined) return [];
  const list: unknown[] = Array.isArray(value) ? [...value] : [value];
  for (const text of list) if (typeof text !== 'string') throw new ArgumentTypeError(option, 'source text', text);
  return list as string[];
}

function functionsOf(value: unknown): [string, string][] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null) {
    throw new ArgumentTypeError('functions', 'an array of names, or an object of names and documentation', value);
  }
  const entries = (Array.isArray(value) ? value.map((name) => [name, '']) : Object.entries(value)) as [
    string,
    string,
  ][];
  for (const [name, doc] of entries) {
    if (typeof name !== 'string' || !/^[A-Za-z_]\w*$/.test(name)) {
      throw new ArgumentValueError('functions', 'names of C++ functions', name);
    }
    if (typeof doc !== 'string') throw new ArgumentTypeError(`functions.${name}`, 'documentation as a string', doc);
  }
  return entries;
}
