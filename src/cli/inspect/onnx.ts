/** The header of an ONNX model: inputs, outputs and weights. Skips the bytes of the weights. */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { type DType, parseDType } from '../../dtype.js';
import { FileFormatError } from '../../files/error.js';
import { Tensor } from '../../tensor.js';
import type { Contents, Listed } from './listed.js';

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

/** A field of a protocol buffer message: a number, or the extent of its bytes in the file. */
interface Field {
  readonly number: number;
  /** The number; for bytes, their count. */
  readonly value: number;
  readonly isBytes: boolean;
  readonly start: number;
  readonly end: number;
}

/** Reads through a window, so that weights of gigabytes between two fields are never read. */
class ProtoFile {
  private readonly window = new Uint8Array(1 << 16);
  private windowStart = 0;
  private windowEnd = 0;

  constructor(
    readonly path: string,
    private readonly file: number,
    readonly size: number,
  ) {}

  private byte(at: number): number {
    if (at < this.windowStart || at >= this.windowEnd) {
      this.windowStart = at;
      this.windowEnd = at + readSync(this.file, this.window, 0, this.window.length, at);
      if (this.windowEnd === at) throw this.malformed(at, 'the file ends inside a field');
    }
    return this.window[at - this.windowStart] as number;
  }

  malformed(at: number, problem: string): FileFormatError {
    return new FileFormatError(this.path, at, `expected an ONNX model but ${problem}`);
  }

  /** A number of seven bits in each byte, and the position after it. */
  private varint(at: number): { value: number; next: number } {
    let value = 0;
    let scale = 1;
    for (let next = at; next < at + 10; next++, scale *= 128) {
      const byte = this.byte(next);
      value += (byte & 127) * scale;
      if (byte < 128) return { value, next: next + 1 };
    }
    throw this.malformed(at, 'a number has more than ten bytes');
  }

  /** The fields of the message between two positions. */
  *fields(start: number, end: number): Generator<Field> {
    for (let at = start; at < end; ) {
      const key = this.varint(at);
      const number = Math.floor(key.value / 8);
      const kind = key.value % 8;
      if (number === 0) throw this.malformed(at, 'a field has the number 0');
      if (kind === 0) {
        const { value, next } = this.varint(key.next);
        yield { number, value, isBytes: false, start: key.next, end: next };
        at = next;
        continue;
      }
      const length = kind === 2 ? this.varint(key.next) : { value: kind === 1 ? 8 : 4, next: key.next };
      if (kind !== 1 && kind !== 2 && kind !== 5) throw this.malformed(at, `a field has the wire type ${kind}`);
      at = length.next + length.value;
      if (at > end) throw this.malformed(length.next, 'a field is longer than its message');
      yield { number, value: length.value, isBytes: true, start: length.next, end: at };
    }
  }

  bytes({ start, end }: { start: number; end: number }): Uint8Array {
    const bytes = new Uint8Array(end - start);
    for (let at = 0; at < bytes.length; ) {
      const count = readSync(this.file, bytes, at, bytes.length - at, start + at);
      if (count === 0) throw this.malformed(start + at, 'the file ends inside a field');
      at += count;
    }
    return bytes;
  }

  /** Names and versions. A longer text is not what a reader of a list wants. */
  text({ start, end }: Field): string {
    return new TextDecoder().decode(this.bytes({ start, end: Math.min(end, start + 4096) }));
  }

  /** Numbers of a repeated field: packed into one field, or one of them. */
  numbers(field: Field): number[] {
    if (!field.isBytes) return [field.value];
    const values: number[] = [];
    for (let at = field.start; at < field.end; ) {
      const { value, next } = this.varint(at);
      values.push(value);
      at = next;
    }
    return values;
  }
}

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
  for (const field of file.fields(0, file.size)) {
    if (field.number === 1) metadata.ir_version = field.value;
    else if (field.number === 2) metadata.producer = file.text(field);
    else if (field.number === 3) metadata.producer_version = file.text(field);
    else if (field.number === 7) graph = field;
    else if (field.number === 8) Object.assign(metadata, readOpset(file, field));
  }
  if (graph === null) throw file.malformed(0, 'it has no graph');
  const inputs: Listed[] = [];
  const outputs: Listed[] = [];
  const weights: Listed[] = [];
  let nodes = 0;
  for (const field of file.fields(graph.start, graph.end)) {
    if (field.number === 1) nodes++;
    else if (field.number === 5) weights.push(readWeight(file, field));
    else if (field.number === 11) inputs.push(readValueInfo(file, field));
    else if (field.number === 12) outputs.push(readValueInfo(file, field));
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
    if (field.number === 1) for (const length of file.numbers(field)) shape.push(length);
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
        for (const axis of file.fields(part.start, part.end)) shape.push(readAxis(file, axis));
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
