/** What a file of tensors holds, in the same terms for every format. Reads headers, and runs no code of the file. */

import { closeSync, openSync, readSync } from 'node:fs';
import { ArgumentValueError } from '../../errors.js';
import { kindOf } from '../../files/formats/magic.js';
import {
  GgufFile,
  openGgufSync,
  openNpySync,
  openNpzSync,
  openSafetensorsSync,
  type TensorFile,
} from '../../files/node/index.js';
import type { Tensor } from '../../tensor.js';
import { functionNames } from '../../tvm-ffi/function-names.js';
import type { Contents, Listed } from './listed.js';
import { readOnnx } from './onnx.js';

/** The first bytes of libraries of Linux, macOS (both orders, and for several processors) and Windows. */
const libraries = ['\x7fELF', '\xcf\xfa\xed\xfe', '\xce\xfa\xed\xfe', '\xca\xfe\xba\xbe', 'MZ'];
/** As many as the formats need that have a mark at their start. */
const HEAD = 128;

/** Opens a file by its first bytes. Formats without a mark there are known by their name. */
export function readContents(path: string): Contents {
  const head = firstBytes(path);
  if (path.endsWith('.index.json')) return fromTensorFile('safetensors index', openSafetensorsSync(path));
  if (path.endsWith('.onnx')) return readOnnx(path);
  const kind = kindOf(head);
  switch (kind?.format) {
    case 'safetensors':
      return fromTensorFile('safetensors', openSafetensorsSync(path));
    case 'gguf':
      return fromTensorFile('GGUF', openGgufSync(path));
    case 'npz':
      return fromTensorFile('npz', openNpzSync(path));
    case 'npy':
      return fromArray(openNpySync(path));
  }
  const start = String.fromCharCode(...head.subarray(0, 4));
  if (libraries.some((mark) => start.startsWith(mark))) return fromLibrary(path);
  const known = 'a safetensors, npy, npz, GGUF or ONNX file or a kernel library';
  throw new ArgumentValueError('file', known, path, kind === null ? '' : `this is ${kind.what}; ${kind.advice}`);
}

function firstBytes(path: string): Uint8Array {
  const file = openSync(path, 'r');
  try {
    const bytes = new Uint8Array(HEAD);
    return bytes.subarray(0, readSync(file, bytes, 0, HEAD, 0));
  } finally {
    closeSync(file);
  }
}

const noFunctions: readonly string[] = [];

function fromTensorFile(format: string, file: TensorFile & { metadata?: unknown }): Contents {
  const { metadata = {} } = file;
  return {
    format,
    metadata: metadata instanceof Map ? Object.fromEntries(metadata) : (metadata as Record<string, unknown>),
    sections: [{ title: '', tensors: file.names.map((name) => listed(file, name)) }],
    functions: noFunctions,
    close: () => file.dispose(),
  };
}

function listed(file: TensorFile, name: string): Listed {
  // A newer writer may use types that this package does not know. The other tensors are still worth a look.
  const type = file instanceof GgufFile ? file.unknownType(name) : null;
  if (type !== null) return { name, dtype: `GGUF type ${type}`, shape: [], nbytes: null, load: null };
  const { dtype, shape, nbytes, quantization } = file.info(name);
  if (quantization !== undefined)
    return { name, dtype: quantization.type, shape: quantization.shape, nbytes, load: null };
  return { name, dtype, shape, nbytes, load: () => file.get(name) };
}

function fromArray(array: Tensor): Contents {
  const { dtype, shape, nbytes } = array;
  // `load` shares the memory, because whoever loads a tensor disposes of it.
  const tensor: Listed = { name: 'array', dtype, shape, nbytes, load: () => array.slice() };
  return {
    format: 'npy',
    metadata: {},
    sections: [{ title: '', tensors: [tensor] }],
    functions: noFunctions,
    close: () => array.dispose(),
  };
}

function fromLibrary(path: string): Contents {
  return {
    format: 'kernel library',
    metadata: {},
    sections: [],
    functions: functionNames(path),
    close: () => undefined,
  };
}
