/** A producer in the hands of the kit: it records requests and deletions, and can break any rule. */

import type { DLPackRequest, ManagedTensor } from '../protocol/managed.js';
import { matrix, type Recipe } from './recipes.js';
import { dlpack, dlpackDevice, IS_COPIED, IS_PADDED } from './reference.js';

/** Fields of the managed tensor that differ. `absent` leaves a field out. */
export type Changes = Readonly<Partial<Record<keyof ManagedTensor, unknown>>>;
export const absent: unique symbol = Symbol('absent');

export interface Probe {
  /** The object to consume. */
  readonly producer: object;
  /** The bytes of its elements, from the start of its buffer. */
  readonly bytes: Uint8Array;
  readonly requests: readonly DLPackRequest[];
  /** How often deleters were called. */
  readonly deleted: number;
  /** The answer to the last request. */
  readonly answer: Record<string, unknown>;
}

export interface ProbeOptions {
  readonly recipe?: Recipe;
  readonly changes?: Changes;
  /** Whether it copies when a request asks for that. */
  readonly copies?: boolean;
  /** Runs in the deleter. */
  readonly onDelete?: (receiver: unknown, args: readonly unknown[]) => void;
  /** Makes the answer from the managed tensor. */
  readonly wrap?: (managed: Record<string, unknown>) => unknown;
}

export const rowMajor = (shape: readonly number[]): number[] =>
  shape.map((_, axis) => shape.slice(axis + 1).reduce((step, length) => step * Math.max(1, length), 1));

export function probe(options: ProbeOptions = {}): Probe {
  const { recipe = matrix, changes = {}, copies = true, onDelete, wrap = (managed) => managed } = options;
  const { dtype, shape, isPadded } = recipe;
  const bytes = recipe.bytes.slice();
  const requests: DLPackRequest[] = [];
  let deleted = 0;
  let answer: Record<string, unknown> = {};
  const producer = {
    [dlpack](request: DLPackRequest = {}): unknown {
      requests.push(request);
      const isCopied = copies && request.copy === true;
      const managed: Record<string, unknown> = {
        version: [1, 3],
        flags: (isPadded ? IS_PADDED : 0) | (isCopied ? IS_COPIED : 0),
        data: isCopied ? bytes.slice().buffer : bytes.buffer,
        byteOffset: 0,
        shape: [...shape],
        strides: rowMajor(shape),
        dtype: { ...dtype },
        device: { type: 1, id: 0 },
        // A function with a receiver and arguments, because cases look at both.
        deleter(this: unknown, ...args: unknown[]) {
          deleted++;
          onDelete?.(this, args);
        },
      };
      for (const [field, value] of Object.entries(changes)) {
        if (value === absent) delete managed[field];
        else Object.defineProperty(managed, field, { value, enumerable: true, configurable: true, writable: true });
      }
      answer = managed;
      return wrap(managed);
    },
    [dlpackDevice]: () => ({ type: 1, id: 0 }),
  };
  return {
    producer,
    bytes,
    requests,
    get deleted() {
      return deleted;
    },
    get answer() {
      return answer;
    },
  };
}
