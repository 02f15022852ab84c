/** The header of an ONNX model: inputs, outputs and weights. Skips the bytes of the weights. */

import { closeSync, fstatSync, openSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { type DType, parseDType } from '../../dtype.js';
import { FileFormatError } from '../../files/error.js';
import { checkNames } from '../../files/limits.js';
import { MAX_NDIM } from '../../layout.js';
import { Tensor } from '../../tensor.js';
import type { Contents, Listed } from './listed.js';
import { type Field, ProtoFile } from './proto-file.js';

/** The numbers of element types in a file. ONNX Runtime's C API has others from 24 on (`src/onnxruntime/dtypes.ts`). */
const dtypes: Readonly<Record<number, DType>> = {
  1: 'float32',
  2: 'uint8',
  3: 'int8',
  4: 'uint16',
  5: 'int16',
  6: 'int32',
  7: 'int64',
  9: 'bool',
  10: 'float16',
  11: 'float64',
  12: 'uint32',
  13: 'uint64',
  14: 'complex64',
  15: 'complex128',
  16: 'bfloat16',
  17: 'float8_e4m3fn',
  18: 'float8_e4m3fnuz',
  19: 'float8_e5m2',
  20: 'float8_e5m2fnuz',
  21: 'uint4',
  22: 'int4',
  23: 'float4_e2m1fn',
  24: 'float8_e8m0fnu',
};
const STRING = 8;

export function readOnnx(path: string): Contents {
  const descriptor = openSync(path, 'r');
  try {
    return readModel(new ProtoFile(path, descriptor, fstatSync(descriptor).size), descriptor);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function readModel(file: ProtoFile, descriptor: number): Contents {
  const metadata: Record<string, unknown> = {};
  let graph: Field | null = null;
  let opsets = 0;
  for (const field of file.fields(0, file.size)) {
    if (field.number === 1) metadata.ir_version = field.value;
    else if (field.number === 2) metadata.producer = file.text(field);
    else if (field.number === 3) metadata.producer_version = file.text(field);
    else if (field.number === 7) graph = field;
    else if (field.number === 8) {
      checkNames(file.path, field.start, ++opsets, 'opsets');
      Object.assign(metadata, readOpset(file, field));
    }
  }
  if (graph === null) throw file.malformed(0, 'it has no graph');
  const inputs: Listed[] = [];
  const outputs: Listed[] = [];
  const weights: Listed[] = [];
  let nodes = 0;
  for (const field of file.fields(graph.start, graph.end)) {
    const check = (count: number, what: string) => checkNames(file.path, field.start, count, what);
    if (field.number === 1) nodes++;
    else if (field.number === 5) check(weights.push(readWeight(file, field)), 'weights');
    else if (field.number === 11) check(inputs.push(readValueInfo(file, field)), 'inputs');
    else if (field.number === 12) check(outputs.push(readValueInfo(file, field)), 'outputs');
  }
  metadata.nodes = nodes;
  // Old models list their weights among the inputs, too.
  const given = new Set(weights.map(({ name }) => name));
  return {
    format: 'ONNX',
    metadata,
    sections: [
      { title: 'inputs', tensors: inputs.filter(({ name }) => !given.has(name)) },
      { title: 'outputs', tensors: outputs },
      { title: 'weights', tensors: weights },
    ],
    functions: [],
    close: () => closeSync(descriptor),
  };
}

function readOpset(file: ProtoFile, opset: Field): Record<string, number> {
  let domain = '';
  let version = 0;
  for (const field of file.fields(opset.start, opset.end)) {
    if (field.number === 1) domain = file.text(field);
    else if (field.number === 2) version = field.value;
  }
  return { [domain === '' ? 'opset' : `opset ${domain}`]: version };
}

function addAxis<T>(file: ProtoFile, field: Field, shape: T[], length: T): void {
  if (shape.push(length) > MAX_NDIM) throw file.malformed(field.start, `a tensor has more than ${MAX_NDIM} axes`);
}

const typeName = (number: number): string => dtypes[number] ?? (number === STRING ? 'string' : `ONNX type ${number}`);

/** The elements that a weight without `raw_data` has in the field of its type, by the number of the field. */
const typedFields = [4, 5, 6, 7, 10, 11];

function readWeight(file: ProtoFile, weight: Field): Listed {
  let name = '';
  let type = 0;
  const shape: number[] = [];
  let raw: Field | null = null;
  let typed = 0;
  const external = new Map<string, string>();
  for (const field of file.fields(weight.start, weight.end)) {
    if (field.number === 1) for (const length of file.numbers(field)) addAxis(file, field, shape, length);
    else if (field.number === 2) type = field.value;
    else if (field.number === 8) name = file.text(field);
    else if (field.number === 9) raw = field;
    else if (field.number === 13) readEntry(file, field, external);
    else if (typedFields.includes(field.number)) typed += field.end - field.start;
  }
  const dtype = dtypes[type];
  const stored = raw === null ? null : raw.end - raw.start;
  if (dtype === undefined) return { name, dtype: typeName(type), shape, nbytes: stored ?? typed, load: null };
  const refuse = (problem: string): FileFormatError => file.malformed(weight.start, `the weight '${name}' ${problem}`);
  // Not the size of a typed field, in which a number has as many bytes as it needs.
  const nbytes = countBytes(dtype, shape);
  if (nbytes === null) throw refuse(`has the shape [${shape.join(', ')}]`);
  const extent = extentOf(file, external, nbytes, refuse);
  const found = extent?.length ?? stored ?? nbytes;
  if (found !== nbytes) throw refuse(`has ${found} bytes, and ${dtype} of shape [${shape.join(', ')}] needs ${nbytes}`);
  const bytes = extent === null ? raw && (() => file.bytes(raw)) : () => readExtent(extent);
  const load = bytes && (() => Tensor.wrap(bytes(), { dtype, shape }));
  return { name, dtype, shape, nbytes, load };
}

/** The bytes of elements side by side; null for a shape that no file can hold. */
function countBytes(dtype: DType, shape: readonly number[]): number | null {
  const bits = shape.reduce((product, length) => product * length, parseDType(dtype).itemBits);
  return shape.every(Number.isSafeInteger) && Number.isSafeInteger(bits) ? Math.ceil(bits / 8) : null;
}

/** Where the bytes of a weight are, if they are in another file. */
interface Extent {
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

function readEntry(file: ProtoFile, entry: Field, into: Map<string, string>): void {
  let key = '';
  let value = '';
  for (const field of file.fields(entry.start, entry.end)) {
    if (field.number === 1) key = file.text(field);
    else if (field.number === 2) value = file.text(field);
  }
  into.set(key, value);
  checkNames(file.path, entry.start, into.size, 'entries for the data of a weight');
}

/** Null for a weight in the model itself. A file outside of the model's folder is none of the model's. */
function extentOf(
  file: ProtoFile,
  external: ReadonlyMap<string, string>,
  nbytes: number,
  refuse: (problem: string) => FileFormatError,
): Extent | null {
  const location = external.get('location');
  if (location === undefined) return null;
  if (location === '' || location.includes('\0')) throw refuse(`is in '${location}', which is no name of a file`);
  if (isAbsolute(location) || location.split(/[\\/]/).includes('..')) {
    throw refuse(`is in '${location}', which is not in the folder of the model`);
  }
  const numberOf = (key: string, otherwise: number): number => {
    const text = external.get(key) ?? String(otherwise);
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw refuse(`has the ${key} '${text}' in '${location}'`);
  };
  const path = join(dirname(file.path), location);
  return { path, offset: numberOf('offset', 0), length: numberOf('length', nbytes) };
}

function readExtent({ path, offset, length }: Extent): Uint8Array {
  const descriptor = openSync(path, 'r');
  try {
    const { size } = fstatSync(descriptor);
    const file = new ProtoFile(path, descriptor, size);
    // Before the memory is allocated, of which a forged length may need more than there is.
    if (offset + length > size) throw new FileFormatError(path, size, 'the file ends inside a weight');
    return file.bytes({ start: offset, end: offset + length });
  } finally {
    closeSync(descriptor);
  }
}

/** An input or output. Axes without a fixed length have a name. */
function readValueInfo(file: ProtoFile, info: Field): Listed {
  let name = '';
  let dtype = 'no tensor';
  const shape: (number | string)[] = [];
  for (const field of file.fields(info.start, info.end)) {
    if (field.number === 1) name = file.text(field);
    const tensor = field.number === 2 ? child(file, field, 1) : null;
    if (tensor === null) continue;
    for (const part of file.fields(tensor.start, tensor.end)) {
      if (part.number === 1) dtype = typeName(part.value);
      else if (part.number === 2)
        for (const axis of file.fields(part.start, part.end)) addAxis(file, axis, shape, readAxis(file, axis));
    }
  }
  return { name, dtype, shape, nbytes: null, load: null };
}

function child(file: ProtoFile, message: Field, number: number): Field | null {
  for (const field of file.fields(message.start, message.end)) if (field.number === number) return field;
  return null;
}

function readAxis(file: ProtoFile, axis: Field): number | string {
  for (const field of file.fields(axis.start, axis.end)) {
    if (field.number === 1) return field.value;
    if (field.number === 2) return file.text(field);
  }
  return '?';
}
