/** Values that come out of the object store. */

import { ArgumentValueError } from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import { isPyObject, type PyObject } from '../python/index.js';
import type { Tensor } from '../tensor.js';
import { type Helpers, Kind } from './helpers.js';

const DEEPEST = 200;

/**
 * The JavaScript value of a Python value: arrays become Tensors over the same memory, lists and tuples arrays, dicts
 * objects or Maps, sets Sets, and NumPy's scalars numbers. Other Python objects stay what they are. `made` receives the
 * Tensors.
 */
export function toJavaScript(value: unknown, helpers: Helpers, made: Tensor[] | null, depth = 0): unknown {
  if (!isPyObject(value)) return value;
  const object = value as PyObject;
  const kind = helpers.kind_of(object);
  if (kind === 0) return object;
  if (depth > DEEPEST) {
    throw new ArgumentValueError('value', `a value with at most ${DEEPEST} levels`, 'a deeper one');
  }
  try {
    const inner = (part: unknown) => toJavaScript(part, helpers, made, depth + 1);
    switch (kind) {
      case Kind.tensor: {
        const tensor = fromDLPack(object);
        made?.push(tensor);
        return tensor;
      }
      case Kind.sequence:
        return Array.from(object as Iterable<unknown>, inner);
      case Kind.set:
        return new Set(Array.from(object as Iterable<unknown>, inner));
      case Kind.scalar:
        return object.item();
      default: {
        const parts = Array.from(helpers.flat(object) as Iterable<unknown>, inner);
        const pairs = Array.from({ length: parts.length / 2 }, (_, i): [unknown, unknown] => [
          parts[2 * i],
          parts[2 * i + 1],
        ]);
        return kind === Kind.record ? Object.fromEntries(pairs as [string, unknown][]) : new Map(pairs);
      }
    }
  } finally {
    object[Symbol.dispose]();
  }
}
