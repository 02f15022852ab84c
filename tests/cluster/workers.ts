/** Tasks and an actor in JavaScript, for the tests. Ray's workers import this module. */

import { fromDLPack, Tensor } from 'dlpack';
import { addressOf } from 'dlpack/native';
import { python } from 'dlpack/python';
import { type ActorHandle, get, type ObjectRef } from 'dlpack/ray';
import { trap } from '../trap.js';

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export class Counter {
  #count: number;
  #kept: Tensor | null = null;
  #waiting: (() => void) | null = null;

  constructor(start = 0) {
    if (start < 0) throw new RangeError('a counter starts at zero or above');
    this.#count = start;
  }

  add(step = 1): number {
    this.#count += step;
    return this.#count;
  }

  /** Waits for {@link release}, which needs a second call at the same time. */
  async block(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#waiting = resolve;
    });
    return 'released';
  }

  async release(): Promise<void> {
    while (this.#waiting === null) await pause(5);
    this.#waiting();
  }

  process(): { pid: number; runtime: string; node: string } {
    const runtime = 'Bun' in globalThis ? 'bun' : 'Deno' in globalThis ? 'deno' : 'node';
    const node = python().import('ray').get_runtime_context().get_node_id() as string;
    return { pid: process.pid, runtime, node };
  }

  /** What arrives: the dtype, the shape, whether it can be written, and its address. */
  describe(x: Tensor): [string, readonly number[], boolean, bigint] {
    return [x.dtype, x.shape, x.isReadOnly, addressOf(x)];
  }

  /** The same memory comes back. */
  same(x: Tensor): Tensor {
    return x;
  }

  keep(x: Tensor): void {
    this.#kept = fromDLPack(x);
  }

  kept(): number {
    return this.#kept?.size ?? 0;
  }

  keepWrongly(x: Tensor): void {
    this.#kept = x;
  }

  /** Arguments of every kind, as they arrived. */
  echo(...args: unknown[]): unknown {
    return args;
  }

  fail(text: string): never {
    throw new RangeError(text);
  }

  failInPython(): never {
    return python().eval('1 / 0');
  }

  throwText(): never {
    throw 'only text';
  }

  date(): Date {
    return new Date(0);
  }

  trap(): string {
    const caught = trap();
    return caught instanceof Error ? caught.constructor.name : String(caught);
  }

  crash(): void {
    process.kill(process.pid, 'SIGKILL');
  }
}

/** A class that the module exports later. */
export let Late: typeof Counter | undefined;

export function defineLate(): void {
  Late = Counter;
}

export function twice(x: Tensor<'float32'>): Tensor<'float32'> {
  const y = x.copy();
  const { data } = y;
  for (let i = 0; i < data.length; i++) data[i] = 2 * (data[i] as number);
  return y;
}

/** What a handle among the arguments is, and what its actor answers. */
export async function askActor(handles: { actor: ActorHandle<Counter> }): Promise<[boolean, number]> {
  const started = handles.actor.add.remote(1);
  return [started instanceof Promise, await get(await started)];
}

export async function slow(ms: number): Promise<number> {
  await pause(ms);
  return ms;
}

export async function total(refs: ObjectRef<number>[]): Promise<number> {
  const values = await get(refs);
  return values.reduce((sum, value) => sum + value, 0);
}

export function explode(): never {
  throw new TypeError('thrown in a task');
}

/** The process that runs the task. */
export function ownProcess(): number {
  return process.pid;
}

/** Fails until the file has been written, so that a second attempt succeeds. */
export async function once(path: string): Promise<string> {
  const { existsSync, writeFileSync } = await import('node:fs');
  if (existsSync(path)) return 'second';
  writeFileSync(path, '');
  process.kill(process.pid, 'SIGKILL');
  return 'first';
}

export function make(shape: number[]): Tensor<'float32'> {
  const x = Tensor.empty(shape, 'float32');
  x.fill(1.5);
  return x;
}
