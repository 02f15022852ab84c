/** What the cases for consumers have in common: a probe that the library takes, and what must have happened to it. */

import { expect, isSkip, passes, skip } from './case.js';
import { type Environment, until } from './environment.js';
import { type Probe, type ProbeOptions, probe } from './probe.js';
import { matrix, type Recipe } from './recipes.js';
import { holds, sameList } from './reference.js';
import type { ConsumerOptions, ConsumerSubject, Taken } from './subject.js';

export interface ConsumerContext {
  readonly consumer: ConsumerSubject;
  readonly environment: Environment;
}

/** Calls the library's function. Cases that need an option that it does not have are skipped. */
export function consume({ consumer }: ConsumerContext, producer: object, options: ConsumerOptions = {}): Taken {
  const missing = (Object.keys(options) as (keyof ConsumerOptions)[]).find((name) => consumer.without?.includes(name));
  if (missing !== undefined) skip(`the library cannot ask for ${missing}`);
  return consumer.consume(producer, options);
}

/** Skips a case that says nothing about a library with a copy of its own. */
export function needSharing({ consumer }: ConsumerContext): void {
  if (consumer.copies === true) skip('the library copies what it takes');
}

/** Takes a probe, which must succeed. */
export const take = (context: ConsumerContext, { producer }: Probe, options?: ConsumerOptions): Taken =>
  passes('a tensor', () => consume(context, producer, options));

/** Skips a case for a library that takes addresses and externals. */
export function needNoNative(context: ConsumerContext): void {
  const asked = probe();
  take(context, asked).release();
  if (asked.requests[0]?.native === true) skip('it asks for native memory');
}

export async function checkTaken(taken: Taken, recipe: Recipe = matrix): Promise<void> {
  const { shape } = recipe;
  expect(sameList([...taken.shape], shape), `shape [${shape}]`, `received [${[...taken.shape]}]`);
  const found = await taken.bytes();
  expect(holds(recipe, found), `the bytes ${recipe.bytes}`, `received ${found}`);
}

/** The deleter has run this often, and does not run again. */
export async function checkDeleted(tested: Probe, expected = 1): Promise<void> {
  await until(() => tested.deleted >= expected);
  const times = (count: number) => (count === 1 ? 'one call' : `${count} calls`);
  expect(tested.deleted === expected, `${times(expected)} of the deleter`, `it had ${times(tested.deleted)}`);
}

/** The library refuses the probe and releases it once. */
export async function checkRefused(
  context: ConsumerContext,
  tested: Probe,
  deletions = 1,
  options?: ConsumerOptions,
): Promise<unknown> {
  let taken: Taken;
  try {
    taken = consume(context, tested.producer, options);
  } catch (error) {
    if (isSkip(error)) throw error;
    await checkDeleted(tested, deletions);
    return error;
  }
  taken.release();
  expect(false, 'an error', 'the tensor was taken');
  return undefined;
}

/** The library takes a probe with these elements and releases it once. */
export async function checkAccepted(
  context: ConsumerContext,
  options: ProbeOptions = {},
  expected: Recipe = matrix,
): Promise<void> {
  const tested = probe(options);
  const taken = take(context, tested);
  try {
    await checkTaken(taken, expected);
  } finally {
    taken.release();
  }
  const hasDeleter = typeof tested.answer.deleter === 'function';
  await checkDeleted(tested, hasDeleter ? 1 : 0);
}
