/** Values between a program and a run: checked and described as numbers on the way in, made into tensors on the way out. */

import { cpu } from '../device.js';
import type { DType, DTypeInfo } from '../dtype.js';
import {
  ArgumentTypeError,
  ArgumentValueError,
  BufferError,
  DisposedError,
  isA,
  isUsable,
  LayoutError,
} from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import { checkShape, sizeOf } from '../layout.js';
import { inNativeMemory } from '../native/exchange/export.js';
import { NativeStorage } from '../native/memory/storage.js';
import type { DLPackSource } from '../protocol/managed.js';
import { rowMajor } from '../storage/allocate.js';
import type { Descriptor } from '../storage/descriptor.js';
import { Tensor } from '../tensor.js';
import { convertedCopy } from '../values/copy.js';
import { descriptorOf, TensorView } from '../view.js';
import type { RawOutputs } from './binding.js';
import { codeOf, dtypeOf } from './dtypes.js';
import { named } from './error.js';
import { checkDevice, type SessionDevice } from './session-device.js';
import type { ValueType } from './value-info.js';

/** A tensor of strings, in row-major order. */
export interface StringTensor {
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** The strings, in row-major order. */
  readonly data: readonly string[];
}

/**
 * A value for an input: a tensor of any library that `fromDLPack` takes; strings, as an array or with a shape; an array
 * for a sequence; a Map; null for an optional input without a value.
 */
export type Input = object | readonly string[] | StringTensor | null;

/** A value of an output. */
export type Output = Tensor | StringTensor | readonly Output[] | ReadonlyMap<string | bigint, unknown> | null;

/** A value that is ready to be written: nothing in it runs code of the program any more. */
export type Prepared =
  | { readonly form: 'absent' }
  | { readonly form: 'tensor'; readonly descriptor: Descriptor; readonly code: number }
  | { readonly form: 'strings'; readonly value: StringTensor }
  | { readonly form: 'sequence' | 'map'; readonly values: readonly Prepared[] };

/** The tensors of a prepared value. */
export function tensorsOf(value: Prepared): readonly Descriptor[] {
  if (value.form === 'tensor') return [value.descriptor];
  return value.form === 'sequence' || value.form === 'map' ? value.values.flatMap(tensorsOf) : [];
}

/** Tensors that exist only until native code holds their memory, and the device whose memory they may be in. */
export class Temporaries {
  private readonly held: { release(): void }[] = [];

  constructor(readonly device: SessionDevice | null) {}

  keep<T extends { release(): void }>(value: T): T {
    this.held.push(value);
    return value;
  }

  /** Releases all of them, also if the deleter of one throws. */
  release(): void {
    if (this.held.length === 0) return;
    const errors: unknown[] = [];
    for (const value of this.held) {
      try {
        value.release();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}

/** Checks a value of this type; errors call it `what`, such as `input 'x'`. */
export function prepare(what: string, type: ValueType, value: unknown, temporaries: Temporaries): Prepared {
  switch (type.kind) {
    case 'tensor':
      return prepareTensor(what, type.dtype, type.shape, value, temporaries);
    case 'string':
      return { form: 'strings', value: checkStrings(what, type.shape, value) };
    case 'optional':
      return value == null ? { form: 'absent' } : prepare(what, type.element, value, temporaries);
    case 'sequence':
      if (!isUsable(value) || !Array.isArray(value)) throw new ArgumentTypeError(what, 'an array', value);
      return {
        form: 'sequence',
        values: Array.from(value, (each, i) => prepare(`element ${i} of ${what}`, type.element, each, temporaries)),
      };
    case 'map':
      return prepareMap(what, type, value, temporaries);
    default:
      throw new BufferError(`Expected a type that this package knows for ${what} but the model has another one`);
  }
}

function prepareTensor(
  what: string,
  dtype: DType | null,
  shape: readonly (number | string | null)[] | null,
  value: unknown,
  temporaries: Temporaries,
): Prepared {
  const given = describeTensor(what, value, temporaries);
  checkDevice(temporaries.device, given.device, what);
  checkDType(what, dtype, given);
  checkLengths(what, shape, given.shape);
  const code = codeOf(given.dtype, what);
  const packed = isPacked(given) ? given : temporaries.keep(convertedCopy(given));
  const ready = inNativeMemory(packed, null);
  if (ready !== packed) temporaries.keep(ready);
  return { form: 'tensor', descriptor: ready, code };
}

function describeTensor(what: string, value: unknown, temporaries: Temporaries): Descriptor {
  try {
    return descriptorOf(sharedTensor(what, value, temporaries));
  } catch (error) {
    throw named(what, error);
  }
}

function sharedTensor(what: string, value: unknown, temporaries: Temporaries): TensorView {
  if (isA(value, TensorView)) return value;
  if (!isUsable(value) && typeof value !== 'function') {
    throw new ArgumentTypeError(what, 'a tensor', value, 'make one with Tensor.from()');
  }
  const taken = fromDLPack(value as DLPackSource);
  temporaries.keep({ release: () => taken.dispose() });
  return taken;
}

/** ONNX Runtime has no strides, and elements narrower than a byte follow each other. */
function isPacked({ isContiguous, bitOffset, dtype, isPadded, isAligned }: Descriptor): boolean {
  return isContiguous && bitOffset % 8 === 0 && isAligned && !(dtype.isSubByte && isPadded);
}

function checkDType(what: string, expected: DType | null, { dtype }: Descriptor): void {
  if (expected === null || dtype.name === expected) return;
  throw new ArgumentValueError(what, expected, dtype.name, `convert it with astype('${expected}')`);
}

function checkLengths(
  what: string,
  expected: readonly (number | string | null)[] | null,
  shape: readonly number[],
): void {
  if (expected === null) return;
  const fits =
    shape.length === expected.length &&
    expected.every((length, i) => typeof length !== 'number' || length === shape[i]);
  if (fits) return;
  const wanted = expected.map((length) => length ?? 'any').join(', ');
  throw new LayoutError(`Expected shape [${wanted}] for ${what} but received [${shape.join(', ')}]`, shape);
}

function checkStrings(
  what: string,
  expected: readonly (number | string | null)[] | null,
  value: unknown,
): StringTensor {
  const isList = isUsable(value) && Array.isArray(value);
  const { data, shape } = (isList ? { data: value, shape: [value.length] } : (value ?? {})) as Partial<StringTensor>;
  if (!Array.isArray(data) || !Array.isArray(shape)) {
    throw new ArgumentTypeError(what, "strings such as ['a', 'b'] or { shape, data }", value);
  }
  const lengths = checkShape(shape, `the shape of ${what}`);
  const texts = [...data] as unknown[];
  const wrong = texts.findIndex((text) => typeof text !== 'string');
  if (wrong >= 0) throw new ArgumentTypeError(`element ${wrong} of ${what}`, 'a string', texts[wrong]);
  if (sizeOf(lengths) !== texts.length) {
    throw new LayoutError(`Expected ${sizeOf(lengths)} strings for ${what} but received ${texts.length}`, lengths);
  }
  checkLengths(what, expected, lengths);
  return { shape: lengths, data: texts as string[] };
}

/** A map travels as a tensor of keys and a tensor of values. */
function prepareMap(
  what: string,
  { key, element }: ValueType & { kind: 'map' },
  value: unknown,
  temporaries: Temporaries,
): Prepared {
  if (!isA(value, Map)) throw new ArgumentTypeError(what, 'a Map', value);
  const part = (values: unknown[], dtype: DType | 'string' | null): Prepared => {
    if (dtype === 'string') return { form: 'strings', value: checkStrings(what, null, values) };
    const wrong = values.find((each) => typeof each !== 'number' && typeof each !== 'bigint');
    if (wrong !== undefined) throw new ArgumentTypeError(`an element of ${what}`, 'a number', wrong);
    const tensor = Tensor.from(values as number[], { dtype: dtype ?? 'float32' });
    temporaries.keep({ release: () => tensor.dispose() });
    return prepareTensor(what, dtype, null, tensor, temporaries);
  };
  const elementType = element.kind === 'tensor' ? element.dtype : element.kind === 'string' ? 'string' : null;
  return { form: 'map', values: [part([...value.keys()], key), part([...value.values()], elementType)] };
}

/** A tensor that a run writes an output to. */
export function prepareOutput(what: string, type: ValueType, value: unknown, temporaries: Temporaries): Prepared {
  if (!isA(value, TensorView)) throw new ArgumentTypeError(what, 'a Tensor, or null', value);
  if (type.kind !== 'tensor')
    throw new ArgumentValueError(what, `null, because it has the kind '${type.kind}',`, value);
  try {
    return describeOutput(what, type, descriptorOf(value), temporaries);
  } catch (error) {
    throw named(what, error);
  }
}

function describeOutput(
  what: string,
  type: ValueType & { kind: 'tensor' },
  given: Descriptor,
  temporaries: Temporaries,
): Prepared {
  checkDevice(temporaries.device, given.device, what);
  checkDType(what, type.dtype, given);
  checkLengths(what, type.shape, given.shape);
  if (given.isReadOnly) throw new BufferError(`Expected a writable tensor for ${what} but it is read-only`);
  if (!isPacked(given)) {
    throw new LayoutError(
      `Expected a contiguous tensor for ${what} but shape [${given.shape.join(', ')}] has strides [${given.strides.join(', ')}]`,
      given.shape,
      given.strides,
    );
  }
  const ready = inNativeMemory(given, false);
  if (ready !== given) temporaries.keep(ready);
  return { form: 'tensor', descriptor: ready, code: codeOf(given.dtype, what) };
}

const forms = { absent: 0, tensor: 1, strings: 2, sequence: 3, map: 4 } as const;

/**
 * All messages use the same array, because native code reads one before another is written. The outputs of a synchronous
 * run come in it too, and are read before anything else runs.
 */
let numbers = new Float64Array(64);

/** The numbers and texts of a run, in the order in which native/onnxruntime/values.cc reads them. */
export class Message {
  private length = 0;
  private strings: string[] | null = null;

  /** Begins with the numbers of this message. Valid until the next message is written. */
  get values(): Float64Array {
    return numbers;
  }

  get texts(): readonly string[] | null {
    return this.strings;
  }

  add(number: number): void {
    if (this.length === numbers.length) {
      const larger = new Float64Array(this.length * 2);
      larger.set(numbers);
      numbers = larger;
    }
    numbers[this.length++] = number;
  }

  /** `what` is the value for errors. */
  write(value: Prepared, what: string): void {
    this.add(forms[value.form]);
    switch (value.form) {
      case 'tensor': {
        const { storage, bitOffset, nbytes, shape, device } = value.descriptor;
        const { handle } = storage as NativeStorage;
        if (handle === 0)
          throw new DisposedError(`Expected a tensor for ${what} but the code of another input disposed it`);
        this.add(handle);
        this.add(bitOffset / 8);
        this.add(nbytes);
        this.add(value.code);
        this.add(device.isHostAccessible ? 0 : 1);
        this.writeShape(shape);
        break;
      }
      case 'strings': {
        this.strings ??= [];
        this.add(this.strings.length);
        this.add(value.value.data.length);
        this.writeShape(value.value.shape);
        for (const text of value.value.data) this.strings.push(text);
        break;
      }
      case 'sequence':
      case 'map':
        this.add(value.values.length);
        for (const each of value.values) this.write(each, what);
        break;
    }
  }

  private writeShape(shape: readonly number[]): void {
    this.add(shape.length);
    for (let i = 0; i < shape.length; i++) this.add(shape[i] as number);
  }
}

/** A value that belongs to this thread: a tensor owns its memory already. */
type Taken = Tensor | StringTensor | null | { readonly isMap: boolean; readonly values: readonly Taken[] };

/** Reads the outputs of a run of a session with this device. */
class Outputs {
  private readonly numbers: Float64Array;
  private readonly texts: readonly string[];
  private at = 0;
  /** The tensors that were taken. */
  readonly made: Tensor[] = [];

  constructor(
    raw: RawOutputs,
    private readonly device: SessionDevice | null,
  ) {
    const hasTexts = Array.isArray(raw);
    this.numbers = (hasTexts ? raw[0] : (raw as Float64Array | null)) ?? numbers;
    this.texts = hasTexts ? raw[1] : [];
  }

  take(): Taken {
    const form = this.next();
    switch (form) {
      case forms.tensor:
        return this.takeOutput();
      case forms.strings: {
        const first = this.next();
        const count = this.next();
        return { shape: this.takeShape(), data: this.texts.slice(first, first + count) };
      }
      case forms.sequence:
      case forms.map: {
        const values: Taken[] = [];
        for (let count = this.next(); count > 0; count--) values.push(this.take());
        return { isMap: form === forms.map, values };
      }
      default:
        return null;
    }
  }

  private next(): number {
    return this.numbers[this.at++] as number;
  }

  private takeOutput(): Tensor {
    const storage = new NativeStorage(this.next(), this.next(), false);
    const dtype = dtypeOf(this.next()) as DTypeInfo;
    const place = this.next() !== 0 ? (this.device as SessionDevice).info : cpu;
    const tensor = new Tensor(rowMajor(storage, dtype, place, this.takeShape(), 0));
    this.made.push(tensor);
    return tensor;
  }

  private takeShape(): number[] {
    const shape: number[] = [];
    for (let axes = this.next(); axes > 0; axes--) shape.push(this.next());
    return shape;
  }
}

/**
 * The first `count` outputs of a run of a session with this device; null for one that was given. All tensors are made
 * first, so that none is lost when a later step throws.
 */
export function readValues(raw: RawOutputs, count: number, device: SessionDevice | null): Output[] {
  const outputs = new Outputs(raw, device);
  try {
    const taken: Taken[] = [];
    for (let i = 0; i < count; i++) taken.push(outputs.take());
    if (device !== null) for (const tensor of outputs.made) followOn(device, descriptorOf(tensor));
    return taken.map(finish);
  } catch (error) {
    for (const tensor of outputs.made) tensor.dispose();
    throw error;
  }
}

function followOn(device: SessionDevice, tensor: Descriptor): void {
  if (tensor.device === device.info) device.follow(tensor);
}

function finish(taken: Taken): Output {
  if (taken === null || taken instanceof Tensor || 'data' in taken) return taken;
  const read = taken.values.map(finish);
  return taken.isMap ? readMap(read[0] as Output, read[1] as Output) : read;
}

function readMap(keys: Output, values: Output): ReadonlyMap<string | bigint, unknown> {
  const listOf = (part: Output): readonly unknown[] => {
    if (!(part instanceof Tensor)) return (part as StringTensor).data;
    try {
      return part.toArray() as readonly unknown[];
    } finally {
      part.dispose();
    }
  };
  const elements = listOf(values);
  return new Map(listOf(keys).map((key, i) => [key as string | bigint, elements[i]]));
}
