/** What the cases for producers have in common: a tensor of the library, its export, and what the export must hold. */

import type { ManagedTensor } from '../protocol/managed.js';
import { expect, passes, skip } from './case.js';
import type { Environment } from './environment.js';
import { matrix, type Recipe } from './recipes.js';
import {
  checkManaged,
  dlpack,
  type dlpackDevice,
  elementsOf,
  holds,
  hostBufferOf,
  IS_PADDED,
  sameList,
} from './reference.js';
import type { ProducerSubject } from './subject.js';

export interface ProducerContext {
  readonly producer: ProducerSubject;
  readonly environment: Environment;
}

type Method = (request?: unknown) => unknown;
export type Producer = { [dlpack]: Method; [dlpackDevice]: () => { type: number; id: number } };

export function makeTensor({ producer }: ProducerContext, recipe: Recipe = matrix): Producer {
  const tensor = passes(`a tensor of ${recipe.name}`, () => producer.make(recipe));
  if (tensor === null) skip(`the library has no ${recipe.name} tensors`);
  return tensor as Producer;
}

export const flagsOf = ({ flags }: ManagedTensor): number => Number(BigInt(flags) & 0xffn);
export const release = ({ deleter }: ManagedTensor): void => deleter?.();
export const exportedBytes = ({ data }: ManagedTensor): Uint8Array => new Uint8Array(hostBufferOf(data) as ArrayBuffer);

/** Exports a tensor, checks the export, hands it to `body` and releases everything. */
export function withExport<T>(
  context: ProducerContext,
  request: unknown,
  body: (managed: ManagedTensor, tensor: Producer) => T,
  recipe: Recipe = matrix,
): T {
  const tensor = makeTensor(context, recipe);
  const answer = passes('an export', () => (request === undefined ? tensor[dlpack]() : tensor[dlpack](request)));
  const managed = checkManaged(answer);
  try {
    return body(managed, tensor);
  } finally {
    release(managed);
    context.producer.dispose?.(tensor);
  }
}

/** The export holds the recipe's elements. */
export function checkElements(managed: ManagedTensor, recipe: Recipe = matrix): void {
  const { shape, dtype } = managed;
  expect(sameList(shape, recipe.shape), `shape [${recipe.shape}]`, `received [${shape}]`);
  const { code, bits, lanes } = recipe.dtype;
  expect(
    dtype.code === code && dtype.bits === bits && dtype.lanes === lanes,
    `dtype { code: ${code}, bits: ${bits}, lanes: ${lanes} }`,
    `received { code: ${dtype.code}, bits: ${dtype.bits}, lanes: ${dtype.lanes} }`,
  );
  const isPadded = (flagsOf(managed) & IS_PADDED) !== 0;
  expect(
    isPadded === recipe.isPadded || bits >= 8,
    `IS_SUBBYTE_TYPE_PADDED ${recipe.isPadded}`,
    `received ${isPadded}`,
  );
  const found = elementsOf(managed);
  expect(holds(recipe, found), `the bytes ${recipe.bytes}`, `received ${found}`);
}
