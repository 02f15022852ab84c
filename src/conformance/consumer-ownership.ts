/** Cases for a consumer: it consumes once, releases once, and holds the memory as long as anything uses it. */

import { ConformanceError, expect, must, passes, type Row, should, skip, thrown } from './case.js';
import { collectUntil, evaluateElsewhere, needGlobals } from './environment.js';
import { checkElements } from './exports.js';
import { type Probe, probe } from './probe.js';
import { matrix } from './recipes.js';
import { checkManaged, dlpack, IS_COPIED, READ_ONLY } from './reference.js';
import type { Taken } from './subject.js';
import { type ConsumerContext, checkDeleted, checkRefused, checkTaken, consume, needSharing, take } from './takes.js';

const consumedKey = Symbol.for('dlpack.consumed');
const scope = globalThis as { [consumedKey]?: unknown };
const consumedSet = (): WeakSet<object> => scope[consumedKey] as WeakSet<object>;

/** A producer that hands out the same managed tensor at each request. */
function cached(changes: Parameters<typeof probe>[0] = {}): Probe {
  let first: unknown;
  return probe({
    ...changes,
    wrap: (managed) => {
      first ??= managed;
      return first;
    },
  });
}

const reexported = (taken: Taken): { [dlpack](request?: unknown): unknown } =>
  (taken.tensor ?? skip('the library is no producer itself')) as never;

/** Replaces the set in which consumers record tensors, for the length of a check. */
async function withSet(value: unknown, body: () => void | Promise<void>): Promise<void> {
  const before = Object.getOwnPropertyDescriptor(globalThis, consumedKey);
  delete scope[consumedKey];
  if (value !== undefined)
    Object.defineProperty(globalThis, consumedKey, { value, configurable: true, writable: true });
  try {
    await body();
  } finally {
    delete scope[consumedKey];
    if (before !== undefined) Object.defineProperty(globalThis, consumedKey, before);
  }
}

export const consumerOwnershipRows: readonly Row<ConsumerContext>[] = [
  must('c.once.recorded', '5.1', 'records what it consumed in the set at Symbol.for("dlpack.consumed")', (context) => {
    const tested = probe();
    const taken = take(context, tested);
    const isRecorded = consumedSet()?.has(tested.answer) === true;
    taken.release();
    expect(isRecorded, 'the managed tensor in the set', 'it is not there');
  }),
  must('c.once.refused', '5.1', 'refuses a managed tensor that it consumed before', async (context) => {
    const tested = cached();
    const taken = take(context, tested);
    const before = tested.deleted;
    thrown('an error', () => consume(context, tested.producer).release());
    const calls = tested.deleted - before;
    expect(calls === 0, 'no call of the deleter for the refused one', `it had ${calls}`);
    await checkTaken(taken);
    taken.release();
    await checkDeleted(tested);
  }),
  must('c.once.released', '5.1', 'refuses a managed tensor that it has released', async (context) => {
    const tested = cached();
    take(context, tested).release();
    await checkDeleted(tested);
    thrown('an error', () => consume(context, tested.producer).release());
    await checkDeleted(tested);
  }),
  must('c.once.foreign', '5.1', 'refuses a managed tensor that another library consumed', async (context) => {
    const tested = cached();
    take(context, probe()).release(); // makes the set
    const managed = (tested.producer as { [dlpack](): object })[dlpack]();
    consumedSet().add(managed);
    await checkRefused(context, tested, 0);
  }),
  must('c.once.afterError', '5.1', 'refuses a managed tensor that it refused before', async (context) => {
    const tested = cached({ changes: { byteOffset: -4 } });
    await checkRefused(context, tested);
    thrown('an error', () => consume(context, tested.producer).release());
    await checkDeleted(tested);
  }),
  must('c.once.afterVersion', '5.1', 'releases a managed tensor of another major version once', async (context) => {
    const tested = cached({ changes: { version: [2, 0] } });
    await checkRefused(context, tested);
    thrown('an error', () => consume(context, tested.producer).release());
    await checkDeleted(tested);
  }),
  must('c.once.cached', '5.1', 'takes a managed tensor without a deleter again', async (context) => {
    const tested = cached({ changes: { deleter: null } });
    const first = take(context, tested);
    const second = take(context, tested);
    first.release();
    await checkTaken(second);
    second.release();
  }),
  must('c.once.copied', '5.1', 'takes a copy without a deleter only once', (context) => {
    const tested = cached({ changes: { deleter: null, flags: IS_COPIED } });
    const taken = take(context, tested);
    thrown('an error', () => consume(context, tested.producer).release());
    taken.release();
  }),
  must('c.set.created', '5.8', 'creates the set if it is missing', (context) =>
    withSet(undefined, () => {
      const tested = probe();
      take(context, tested).release();
      expect(consumedSet()?.has?.(tested.answer) === true, 'a WeakSet with the managed tensor', 'there is none');
    }),
  ),
  must('c.set.shared', '5.8', 'uses the set that is there', (context) => {
    const set = new WeakSet<object>();
    return withSet(set, () => {
      const tested = probe();
      take(context, tested).release();
      expect(set.has(tested.answer), 'the managed tensor in that set', 'it is not there');
    });
  }),
  must('c.set.garbage', '5.8', 'uses a set of its own where the property holds something else', (context) =>
    withSet(42, async () => {
      const tested = probe();
      const taken = take(context, tested);
      await checkTaken(taken);
      taken.release();
      await checkDeleted(tested);
    }),
  ),
  must('c.release.once', '5.2', 'calls the deleter once if it is released twice', async (context) => {
    const tested = probe();
    const taken = take(context, tested);
    taken.release();
    try {
      taken.release();
    } catch {
      // an error for a second release is the library's choice
    }
    await checkDeleted(tested);
  }),
  must('c.release.held', '5.2', 'does not call the deleter before it is released', async (context) => {
    needSharing(context);
    const tested = probe();
    const taken = take(context, tested);
    await checkTaken(taken);
    expect(tested.deleted === 0, 'no call of the deleter', `it had ${tested.deleted}`);
    taken.release();
    await checkDeleted(tested);
  }),
  must('c.deleter.this', '5.2', 'calls the deleter on the managed tensor', async (context) => {
    let receiver: unknown;
    const tested = probe({ onDelete: (self) => (receiver = self) });
    take(context, tested).release();
    await checkDeleted(tested);
    expect(receiver === tested.answer, 'the managed tensor as this', `received ${typeof receiver}`);
  }),
  must('c.deleter.arguments', '5.2', 'calls the deleter without arguments', async (context) => {
    let count = 0;
    const tested = probe({ onDelete: (_, args) => (count = args.length) });
    take(context, tested).release();
    await checkDeleted(tested);
    expect(count === 0, 'no arguments', `received ${count}`);
  }),
  should('c.deleter.sync', '5.2', 'calls the deleter before its release returns', (context) => {
    const tested = probe();
    take(context, tested).release();
    expect(tested.deleted === 1, 'one call of the deleter by then', `it had ${tested.deleted}`);
  }),
  must('c.deleter.throws', '5.2', 'calls a deleter that throws only once', async (context) => {
    needSharing(context);
    const tested = probe({ onDelete: fail });
    const taken = take(context, tested);
    for (let i = 0; i < 2; i++) {
      try {
        taken.release();
      } catch {
        // what the library does with the error is its choice
      }
    }
    await checkDeleted(tested);
  }),
  must('c.deleter.masks', '5.2', 'reports its own error if the deleter throws after it', async (context) => {
    const tested = probe({ changes: { byteOffset: -4 }, onDelete: fail });
    const error = await checkRefused(context, tested);
    expect(
      !String((error as Error)?.message).includes(failure),
      'the reason of the refusal',
      `received ${String(error)}`,
    );
  }),
  must('c.deleter.nested', '5.2', 'may be called from a deleter', async (context) => {
    const inner = probe();
    const outer = probe({ onDelete: () => take(context, inner).release() });
    take(context, outer).release();
    await checkDeleted(outer);
    await checkDeleted(inner);
  }),
  must(
    'c.deleter.reexport',
    '5.3',
    'tolerates the deleter of its export inside the deleter of another',
    async (context) => {
      const first = probe();
      const taken = take(context, first);
      const managed = checkManaged(passes('an export', () => reexported(taken)[dlpack]()));
      taken.release();
      const outer = probe({ onDelete: () => managed.deleter?.() });
      take(context, outer).release();
      await checkDeleted(outer);
      if (managed.deleter != null) await checkDeleted(first);
    },
  ),
  must('c.readonly', '3.3', 'does not write to read-only memory', async (context) => {
    const tested = probe({ changes: { flags: READ_ONLY } });
    const taken = take(context, tested);
    await checkTaken(taken);
    try {
      taken.write?.(0, 1.5);
    } catch {
      // refused
    }
    taken.release();
    expect(tested.bytes[0] === matrix.bytes[0], 'memory as it was', 'it was written');
  }),
  must('c.buffer.kept', '4.1.2', 'does not detach the buffer', async (context) => {
    const tested = probe();
    take(context, tested).release();
    await checkDeleted(tested);
    expect(tested.bytes.length === matrix.bytes.length, 'a buffer of 24 bytes', `it has ${tested.bytes.length}`);
  }),
  must('c.buffer.grows', '4.2.1', 'keeps its shape when a resizable buffer grows', async (context) => {
    const { data, resize } = resizable();
    new Uint8Array(data).set(matrix.bytes);
    const taken = take(context, probe({ changes: { data } }));
    resize(96);
    await checkTaken(taken);
    taken.release();
  }),
  must('c.memory.grows', '4.5.2', 'follows a WebAssembly memory, if it asks for one', async (context) => {
    await needFollowing(context);
    await checkFollowing(context, new WebAssembly.Memory({ initial: 1 }));
  }),
  must(
    'c.memory.realm',
    '4.5.3',
    'takes a WebAssembly memory of another realm, if it asks for one',
    async (context) => {
      await needFollowing(context);
      const code = 'new WebAssembly.Memory({ initial: 1 })';
      await checkFollowing(context, evaluateElsewhere(context.environment, code) as WebAssembly.Memory);
    },
  ),
  ...(
    [
      ['', {}, 'exports memory that grows so that it stays valid, to a consumer that does not follow it'],
      ['.follow', { memory: true }, 'exports memory that grows to a consumer that follows it'],
      ['.share', { copy: false }, 'refuses to share memory that grows, or shares it so that it stays valid'],
    ] as const
  ).map(([label, request, title]) =>
    must<ConsumerContext>(
      `c.memory.reexport${label}`,
      label === '.follow' ? '4.5.1' : '4.2.2',
      title,
      async (context) => {
        await needFollowing(context);
        const memory = new WebAssembly.Memory({ initial: 1 });
        const taken = take(context, inMemory(memory));
        let answer: unknown;
        try {
          answer = reexported(taken)[dlpack](request);
        } catch (error) {
          taken.release();
          if (label === '.share') return;
          throw error;
        }
        const managed = checkManaged(answer, { followsMemory: label === '.follow' });
        memory.grow(1);
        checkElements(managed);
        managed.deleter?.();
        taken.release();
      },
    ),
  ),
  should('c.buffer.shrunk', '4.2.3', 'notices that the producer shrank the buffer', async (context) => {
    needSharing(context);
    const { data, resize } = resizable();
    const taken = take(context, probe({ changes: { data } }));
    resize(8);
    await checkUnreadable(taken);
  }),
  should('c.buffer.detached', '4.2.3', 'notices that the producer detached the buffer', async (context) => {
    needSharing(context);
    needGlobals('structuredClone');
    const tested = probe();
    const taken = take(context, tested);
    structuredClone(tested.bytes.buffer, { transfer: [tested.bytes.buffer] });
    await checkUnreadable(taken);
  }),
  must('c.reexport.values', '5.6', 'exports a tensor again with the same memory', async (context) => {
    const tested = probe();
    const taken = take(context, tested);
    const again = probeOf(reexported(taken));
    const second = take(context, again);
    await checkTaken(second);
    tested.bytes.set(matrix.bytes.slice().reverse());
    await checkTaken(second, { ...matrix, bytes: matrix.bytes.slice().reverse() });
    second.release();
    taken.release();
    await checkDeleted(tested);
  }),
  must('c.reexport.order', '5.6', 'keeps the first tensor until its own export was released', async (context) => {
    const tested = probe();
    const taken = take(context, tested);
    const managed = checkManaged(passes('an export', () => reexported(taken)[dlpack]()));
    taken.release();
    expect(tested.deleted === 0, 'no call of the first deleter', `it had ${tested.deleted}`);
    managed.deleter?.();
    if (managed.deleter != null) await checkDeleted(tested);
  }),
  must('c.reexport.readonly', '5.6', 'passes READ_ONLY on', (context) =>
    checkFlags(context, READ_ONLY, (flags) => expect((flags & READ_ONLY) !== 0, 'READ_ONLY', `flags are ${flags}`)),
  ),
  must('c.reexport.copied', '5.6', 'does not pass IS_COPIED on', (context) =>
    checkFlags(context, IS_COPIED, (flags) => expect((flags & IS_COPIED) === 0, 'no IS_COPIED', `flags are ${flags}`)),
  ),
  must('c.gc', '5.2', 'releases a tensor that was collected', async (context) => {
    const tested = probe();
    (() => void take(context, tested))();
    await collectUntil(context.environment, () => tested.deleted > 0);
    await checkDeleted(tested);
  }),
  must('c.gc.reexport', '5.2', 'keeps the memory while only an export of its tensor is held', async (context) => {
    needGlobals('WeakRef');
    const tested = probe();
    const managed = (() => checkManaged(reexported(take(context, tested))[dlpack]()))();
    const witness = new WeakRef({});
    await collectUntil(context.environment, () => tested.deleted > 0 || witness.deref() === undefined);
    const { deleted } = tested;
    managed.deleter?.();
    expect(deleted === 0, 'no call of the deleter', `it had ${deleted}`);
  }),
];

/** A buffer with room for the matrix, and the function that changes its length, or skips. */
function resizable(): { data: ArrayBuffer; resize(length: number): void } {
  const { resize } = ArrayBuffer.prototype as { resize?: (length: number) => void };
  if (resize === undefined) skip('this runtime has no resizable buffers');
  const type = ArrayBuffer as new (length: number, options: object) => ArrayBuffer;
  const data = new type(24, { maxByteLength: 96 });
  return { data, resize: (length) => resize.call(data, length) };
}

/** A probe with the elements of the matrix at the start of a memory. */
function inMemory(memory: WebAssembly.Memory): Probe {
  new Uint8Array(memory.buffer).set(matrix.bytes);
  return probe({ changes: { data: memory }, copies: false });
}

/** Skips a case for a library that takes no WebAssembly memory. */
async function needFollowing(context: ConsumerContext): Promise<void> {
  needGlobals('WebAssembly');
  const asked = probe();
  take(context, asked).release();
  await checkDeleted(asked);
  if (asked.requests[0]?.memory !== true) skip('it does not ask for a memory');
}

/** A tensor in a WebAssembly memory keeps its elements when the memory grows. */
async function checkFollowing(context: ConsumerContext, memory: WebAssembly.Memory): Promise<void> {
  const tested = inMemory(memory);
  const taken = take(context, tested);
  memory.grow(1);
  await checkTaken(taken);
  taken.release();
  await checkDeleted(tested);
}

/** Memory that its owner took away is an error, not other elements. */
async function checkUnreadable(taken: Taken): Promise<void> {
  try {
    const bytes = await taken.bytes();
    throw new ConformanceError('an error', `it read ${bytes.length === 0 ? 'nothing' : bytes}`);
  } catch (error) {
    if (error instanceof ConformanceError) throw error;
  }
  taken.release();
}

const failure = 'thrown by the deleter';
function fail(): never {
  throw new ConformanceError('no look at this error', failure);
}

/** The library's own tensor in place of a probe. */
const probeOf = (producer: object): Probe => ({ ...probe(), producer });

function checkFlags(context: ConsumerContext, flags: number, check: (flags: number) => void): void {
  const taken = take(context, probe({ changes: { flags } }));
  const managed = checkManaged(passes('an export', () => reexported(taken)[dlpack]()));
  const found = Number(BigInt(managed.flags) & 0xffn);
  managed.deleter?.();
  taken.release();
  check(found);
}
