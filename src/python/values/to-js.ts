/** JavaScript values of Python values. Python takes a value apart in one call, and its parts are put together here. */

import { checkOptions, type OptionNames } from '../../base/options.js';
import { signalOf } from '../../base/signal.js';
import { type Device, deviceFromType } from '../../device.js';
import { type DType, dtypeFromCode, dtypeFromName } from '../../dtype.js';
import { ArgumentValueError, Words } from '../../errors.js';
import { fromDLPack } from '../../from-dlpack.js';
import { outsideScopes } from '../../storage/scoped.js';
import { Tensor } from '../../tensor.js';
import { loadSource } from '../interpreter/source-module.js';
import { importModule, isPyObject, type PyArgument, type PyObject, referenceOf } from '../objects/object.js';
import { begin, type PyCallAsyncTo, type PyFunction } from '../threads/async.js';
import { Operation } from '../wire-layout.js';
import SOURCE from './values.py';

/** How deep a conversion goes. */
export interface ToJSOptions {
  /** The most levels of lists, dicts and other containers inside each other, from 1 to 1000; 200 when absent. */
  depth?: number;
}

const optionNames: OptionNames<ToJSOptions> = { depth: true };
const DEEPEST = 1000;

/** The numbers of values.py. */
const Kind = { value: 0, tensor: 1, date: 2, dtype: 3, device: 4, sequence: 5, set: 6, map: 7, object: 8 } as const;

/** Text is the reason why a value cannot be taken apart. */
type Flatten = (value: PyObject, depth: number) => string | Iterable<unknown>;

type Adopt = (value: unknown) => unknown;
const keep: Adopt = (value) => value;

let loaded: { readonly flatten: Flatten; readonly call: PyObject };

/** Called when Python starts, because each operation here waits for the GIL, which `callToJSAsync` never does. */
export function loadHelpers(): void {
  outsideScopes(() => {
    const { flatten, call } = loadSource(importModule, '_dlpack_values', SOURCE);
    loaded = { flatten, call };
  });
}

/** The JavaScript value of a Python value, with everything inside it. A value of JavaScript stays as it is. */
export function toJS<T = unknown>(object: PyArgument, options: ToJSOptions = {}): T {
  checkOptions(options, optionNames, '{ depth: 10 }');
  const { depth = 200 } = options;
  if (!Number.isInteger(depth) || depth < 1 || depth > DEEPEST) {
    throw new ArgumentValueError('depth', `an integer from 1 to ${DEEPEST}`, depth);
  }
  return convert(object, depth, []) as T;
}

/**
 * The same for a value that only the caller has: its memory does not wait for the garbage collector. `adopt` may make
 * something else of a value that stays as it is.
 */
export function takeJS(object: unknown, made: Tensor[] = [], adopt: Adopt = keep): unknown {
  if (!isPyObject(object)) return object;
  try {
    return convert(object, 200, made, adopt);
  } finally {
    (object as PyObject)[Symbol.dispose]();
  }
}

/** Adds the Tensors that it makes to `made`, and disposes them if it fails. */
function convert(object: unknown, depth: number, made: Tensor[], adopt: Adopt = keep): unknown {
  if (!isPyObject(object)) return object;
  const result = loaded.flatten(object, depth);
  if (typeof result === 'string') throw refused(result);
  const [bytes, leaves] = [...result] as [Uint8Array, PyObject];
  const before = made.length;
  const parts = leaves[Symbol.iterator]() as Iterator<unknown>;
  try {
    return new Builder(new Uint32Array(bytes.slice().buffer), parts, made, adopt).build();
  } catch (error) {
    for (const tensor of made.splice(before)) tensor.dispose();
    throw error;
  } finally {
    parts.return?.();
    leaves[Symbol.dispose]();
    (result as PyObject)[Symbol.dispose]();
  }
}

function refused(reason: string): ArgumentValueError {
  const received = reason.includes('levels') ? 'a deeper one' : 'one that does';
  return new ArgumentValueError('object', reason, new Words(received), 'convert its parts');
}

/**
 * As `callAsync`, and the result becomes a JavaScript value as with `py.toJS`. The thread of the pool takes it apart and
 * imports its tensors, so the event loop does not wait for Python, and no Python object is left over.
 */
export const callToJSAsync = (async (fn: PyFunction, ...args: readonly PyArgument[]) =>
  beginToJS(fn, args, null)) as PyCallAsyncTo<unknown>;

callToJSAsync.with = (options) => {
  const signal = signalOf(options);
  return async (fn, ...args) => beginToJS(fn, args, signal);
};

async function beginToJS(fn: PyFunction, args: readonly PyArgument[], signal: AbortSignal | null): Promise<unknown> {
  referenceOf(fn); // `call` would raise a TypeError of Python for another value
  const parts = await begin<string | unknown[]>(Operation.callPartsAsync, loaded.call, [fn, ...args], signal);
  if (typeof parts === 'string') throw refused(parts);
  const [bytes, ...leaves] = parts as [Uint8Array, ...unknown[]];
  return new Builder(new Uint32Array(bytes.slice().buffer), leaves.values(), [], keep).build();
}

/** Puts the parts of a value together. */
class Builder {
  private at = 0;

  constructor(
    /** The kinds of all parts in order, with the length after the kind of a container. */
    private readonly kinds: Uint32Array,
    private readonly leaves: Iterator<unknown>,
    private readonly made: Tensor[],
    private readonly adopt: Adopt,
  ) {}

  build(): unknown {
    const kind = this.kinds[this.at++];
    switch (kind) {
      case Kind.value:
        return this.adopt(this.leaf());
      case Kind.tensor:
        return this.tensor();
      case Kind.date:
        return new Date((this.leaf() as number | null) ?? Number.NaN);
      case Kind.dtype:
        return dtypeOf(this.leaf() as string);
      case Kind.device:
        return deviceOf(this.leaf() as string);
    }
    const parts = new Array<unknown>(this.kinds[this.at++] as number);
    for (let i = 0; i < parts.length; i++) parts[i] = this.build();
    if (kind === Kind.sequence) return parts;
    if (kind === Kind.set) return new Set(parts);
    return kind === Kind.map ? new Map(pairsOf(parts)) : Object.fromEntries(pairsOf(parts));
  }

  private leaf(): unknown {
    return this.leaves.next().value;
  }

  private tensor(): Tensor {
    const object = this.leaf() as PyObject;
    if (typeof object === 'object' && object instanceof Tensor) return object; // another thread imported it
    try {
      const tensor = fromDLPack(object);
      this.made.push(tensor);
      return tensor;
    } finally {
      object[Symbol.dispose]();
    }
  }
}

/** The name of a dtype that Python describes by its code, bits and lanes, or by its name. */
function dtypeOf(text: string): DType {
  const [code, bits, lanes] = text.split(' ').map(Number) as [number, number, number];
  return lanes === undefined ? dtypeFromName(text).name : dtypeFromCode(code, bits, lanes).name;
}

function deviceOf(text: string): Device {
  const [type, id] = text.split(' ').map(Number) as [number, number];
  return deviceFromType(type, id).name;
}

function pairsOf(parts: readonly unknown[]): [string, unknown][] {
  return Array.from({ length: parts.length / 2 }, (_, i) => [parts[2 * i] as string, parts[2 * i + 1]]);
}
