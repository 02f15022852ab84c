/** Recognises files by their first bytes, so that the error for a file of another format names it. */

import { isDLPackError } from '../../errors.js';
import { FileFormatError } from '../error.js';
import type { FileExtent, Reading } from '../reading.js';

export type Format = 'safetensors' | 'npy' | 'npz' | 'gguf' | 'index';

interface Kind {
  /** The format that this package opens, if it opens it. */
  readonly format?: Format;
  readonly what: string;
  readonly advice: string;
}

/** The bytes that tell the format: the header of the first member of a zip file with its name. */
const FIRST_BYTES = 128;

const npz: Kind = { format: 'npz', what: 'an npz file', advice: 'open it with openNpz()' };
const checkpoint = "convert it in Python, with torch.load(path, weights_only=True) and safetensors' save_file()";
const starts: readonly (readonly [start: string, kind: Kind])[] = [
  ['\x93NUMPY', { format: 'npy', what: 'an npy file', advice: 'open it with openNpy()' }],
  ['GGUF', { format: 'gguf', what: 'a GGUF file', advice: 'open it with openGguf()' }],
  ['\x89HDF\r\n\x1a\n', { what: 'an HDF5 file', advice: 'convert it in Python, for example with h5py and np.savez()' }],
  ['\x80\x02', { what: 'a Python pickle', advice: checkpoint }],
  ['\x80\x03', { what: 'a Python pickle', advice: checkpoint }],
  ['\x80\x04', { what: 'a Python pickle', advice: checkpoint }],
  ['\x80\x05', { what: 'a Python pickle', advice: checkpoint }],
  ['version https://git-lfs', { what: 'a Git LFS pointer', advice: 'fetch the file itself with git lfs pull' }],
  ['<!DOCTYPE', { what: 'a web page', advice: 'take the address of the file itself' }],
  ['<html', { what: 'a web page', advice: 'take the address of the file itself' }],
];

/** What a file is, by its first bytes; null if they tell nothing. */
export function kindOf(head: Uint8Array): Kind | null {
  const text = Array.from(head, (byte) => String.fromCharCode(byte)).join('');
  for (const [start, kind] of starts) if (text.startsWith(start)) return kind;
  if (text.startsWith('PK\x03\x04')) {
    const name = text.slice(30, 30 + text.charCodeAt(26));
    if (name.endsWith('.npy')) return npz;
    // PyTorch writes a folder with a pickle and the bytes of each tensor.
    if (name.includes('/')) return { what: 'a PyTorch checkpoint or another zip file', advice: checkpoint };
    return { format: 'npz', what: 'a zip file', advice: 'unpack it first' };
  }
  // Eight bytes of length, of which the upper four are zero, and the JSON of the header.
  if (text.slice(4, 9) !== '\0\0\0\0{') return null;
  return { format: 'safetensors', what: 'a safetensors file', advice: 'open it with openSafetensors()' };
}

/** Reads a header. If it is malformed because the file has another format, the error says which. */
export function* recognised<H>(file: FileExtent, format: Format, read: (file: FileExtent) => Reading<H>): Reading<H> {
  try {
    return yield* read(file);
  } catch (cause) {
    if (!isDLPackError(cause, 'FileFormatError')) throw cause;
    const kind = kindOf(yield { offset: 0, length: Math.min(file.size, FIRST_BYTES) });
    if (kind === null || kind.format === format) throw cause;
    const problem = `expected ${names[format]} but this is ${kind.what}; ${kind.advice}`;
    throw new FileFormatError(file.path, 0, problem, { cause });
  }
}

const names: Readonly<Record<Format, string>> = {
  safetensors: 'a safetensors file',
  npy: 'an npy file',
  npz: 'an npz file',
  gguf: 'a GGUF file',
  index: 'the index of a sharded model',
};
