/** Code that tests of the fake driver share. */

import { equal, ok } from '../assert.js';
import { testWith } from '../harness.js';
import { type DriverArgument, fake, fakeDriver, fakeMissing, made } from './fake.js';

export const { call, must, start } = fakeDriver;

/** The value that a function of the fake driver writes through its first argument. */
export const make = (symbol: string, ...rest: DriverArgument[]): bigint => made(fakeDriver, symbol, ...rest);

export const bytes = (count: number, value: number): Uint8Array => new Uint8Array(count).fill(value);
export const alloc = (count: number): bigint => make('cuMemAlloc_v2', count);
export const stream = (nonBlocking = true): bigint => make('cuStreamCreateWithPriority', nonBlocking ? 1 : 0, 0);
export const event = (): bigint => make('cuEventCreate', 2);
export const fill = (address: bigint, value: number, count: number, on: bigint): void =>
  must('cuMemsetD8Async', address, value, count, on);
export function pool(): bigint {
  const properties = new Int32Array(22);
  properties.set([1, 0, 1, 0]); // pinned, no handles, device 0
  return make('cuMemPoolCreate', properties);
}

/** A test on a new machine with a current context, that ends without errors unless it takes them. */
export function fakeTest(name: string, body: (context: bigint) => void | Promise<void>): void {
  testWith(fakeMissing, name, async () => {
    fake.forget();
    must('cuInit', 0);
    const context = make('cuDevicePrimaryCtxRetain', 0);
    must('cuCtxPushCurrent_v2', context);
    await body(context);
    equal(fake.errors(), []);
  });
}

export function matches(text: string, pattern: RegExp): void {
  ok(pattern.test(text), `expected ${pattern} but received ${text}`);
}

export function fails(action: () => unknown, pattern: RegExp): void {
  let message: string | undefined;
  try {
    action();
  } catch (error) {
    message = String(error);
  }
  matches(message ?? 'nothing thrown', pattern);
}

/** Takes the errors, each of which must match its pattern. */
export function expectErrors(...patterns: RegExp[]): void {
  const errors = fake.errors();
  equal(errors.length, patterns.length, errors.join('\n'));
  for (const [i, pattern] of patterns.entries()) matches(errors[i] as string, pattern);
  fake.reset();
}
