/** Cases for a consumer of native externals: the library takes what the peer makes, also structs that break rules. */

import { type Case, casesFrom, expect, must, passes, type Row, should, skip, thrown } from '../case.js';
import { collectUntil, type Environment, until } from '../environment.js';
import { probe } from '../probe.js';
import { matrix, type Recipe, recipes } from '../recipes.js';
import { dlpack, dlpackDevice, placesOf, READ_ONLY } from '../reference.js';
import { type ConsumerOptions, hasForm, type Subject, type Taken } from '../subject.js';
import { type ConsumerContext, checkDeleted, checkTaken, consume } from '../takes.js';
import { makeExternal, type Peer, type StructChanges, takeStruct } from './peer.js';

interface NativeContext extends ConsumerContext {
  readonly peer: Peer;
}

/** A producer of externals that counts how often the peer's deleters ran since it was made. */
function nativeProbe(peer: Peer, make: () => object) {
  const before = peer.deleted();
  const requests: { native?: unknown }[] = [];
  const producer = {
    [dlpack](request: { native?: unknown } = {}) {
      requests.push(request);
      return make();
    },
    [dlpackDevice]: () => ({ type: 1, id: 0 }),
  };
  return { producer, requests, deleted: () => peer.deleted() - before };
}

async function checkReleased(tested: { deleted(): number }, expected = 1): Promise<void> {
  await until(() => tested.deleted() >= expected);
  expect(tested.deleted() === expected, `${expected} calls of the deleter`, `it had ${tested.deleted()}`);
}

/** The library takes the external, which holds the elements of a recipe, and releases it once. */
async function accepts(context: NativeContext, changes: StructChanges, expected: Recipe = matrix): Promise<void> {
  const tested = nativeProbe(context.peer, () => makeExternal(context.peer, changes, expected));
  const taken = passes('a tensor', () => consume(context, tested.producer));
  await checkTaken(taken, expected);
  taken.release();
  await checkReleased(tested, changes.hasDeleter === false ? 0 : 1);
}

async function refuses(context: NativeContext, changes: StructChanges, options?: ConsumerOptions): Promise<void> {
  const tested = nativeProbe(context.peer, () => makeExternal(context.peer, changes));
  thrown('an error', () => consume(context, tested.producer, options).release());
  await checkReleased(tested);
}

const huge = 2n ** 62n;
const most = 2n ** 63n - 1n;
const least = -(2n ** 63n);

/** Structs that break 7.3, which a library must refuse before it follows a pointer. */
const malformed: readonly (readonly [id: string, title: string, changes: StructChanges])[] = [
  ['version.2', 'of DLPack 2', { major: 2 }],
  ['version.0', 'of DLPack 0', { major: 0 }],
  ['version.max', 'of DLPack 2^32 - 1', { major: 2 ** 32 - 1 }],
  ['shape.null', 'with axes and no shape', { shape: null, ndim: 2 }],
  ['shape.negative', 'with a negative length', { shape: [2n, -3n] }],
  ['shape.min', 'with a length of -2^63', { shape: [least, 1n] }],
  ['shape.max', 'with a length of 2^63 - 1', { shape: [most, 1n] }],
  ['shape.product', 'with 2^64 elements', { shape: [2n ** 32n, 2n ** 32n] }],
  ['data.null', 'with elements and no data', { bytes: null }],
  ['ndim.negative', 'with -1 axes', { ndim: -1 }],
  ['ndim.65', 'with 65 axes', { shape: new Array<bigint>(65).fill(1n), strides: new Array<bigint>(65).fill(1n) }],
  ['ndim.huge', 'with 2^31 - 1 axes', { ndim: 2 ** 31 - 1 }],
  ['strides.max', 'with a stride of 2^63 - 1', { strides: [most, 1n] }],
  ['strides.min', 'with a stride of -2^63', { strides: [least, 1n] }],
  ['strides.extent', 'whose elements lie 2^64 bytes apart', { strides: [huge, huge] }],
  ['byteOffset.wrap', 'whose offset wraps around', { byteOffset: 2n ** 64n - 4n }],
  ['dtype.code99', 'with type code 99', { code: 99 }],
  ['dtype.code255', 'with type code 255', { code: 255 }],
  ['dtype.bits0', 'with elements of no bits', { bits: 0 }],
  ['dtype.bits24', 'with a float of 24 bits', { bits: 24 }],
  ['dtype.lanes0', 'with elements of no lanes', { lanes: 0 }],
  ['dtype.bool1', 'with booleans of one bit', { code: 6, bits: 1 }],
  ['dtype.narrow', 'with a 4-bit float of 8 bits', { code: 17, bits: 8 }],
  ['device.0', 'on a device of type 0', { deviceType: 0 }],
  ['device.5', 'on a device of type 5', { deviceType: 5 }],
  ['device.99', 'on a device of type 99', { deviceType: 99 }],
  ['device.id', 'on a device with the id -1', { deviceId: -1 }],
];

const layouts: readonly (readonly [name: string, shape: number[], strides: number[], first: number])[] = [
  ['transpose', [3, 2], [1, 3], 0],
  ['slice', [2, 2], [3, 1], 1],
  ['flip', [6], [-1], 5],
  ['broadcast', [4, 3], [0, 1], 3],
  ['step', [3], [2], 0],
  ['scalar', [], [], 2],
];

const bigints = (values: readonly number[]): bigint[] => values.map(BigInt);

const rows: readonly Row<NativeContext>[] = [
  must('nk.asks', '2', 'asks for native memory', (context) => {
    const tested = nativeProbe(context.peer, () => makeExternal(context.peer));
    passes('a tensor', () => consume(context, tested.producer)).release();
    const native = tested.requests[0]?.native;
    expect(native === true || native === 'only', 'native: true or "only"', `received ${String(native)}`);
  }),
  ...recipes.map((recipe) =>
    must<NativeContext>(`nk.dtype.${recipe.name}`, '7.3', `takes or refuses ${recipe.name}`, async (context) => {
      const tested = nativeProbe(context.peer, () => makeExternal(context.peer, {}, recipe));
      let taken: Taken;
      try {
        taken = consume(context, tested.producer);
      } catch {
        return checkReleased(tested);
      }
      await checkTaken(taken, recipe);
      taken.release();
      await checkReleased(tested);
    }),
  ),
  ...layouts.map(([name, shape, strides, first]) =>
    must<NativeContext>(`nk.layout.${name}`, '7.3', `reads a layout: ${name}`, async (context) => {
      const bytes = placesOf(shape, strides).flatMap((at) => [
        ...matrix.bytes.subarray((first + at) * 4, (first + at) * 4 + 4),
      ]);
      const expected = { ...matrix, shape, bytes: Uint8Array.from(bytes) };
      const changes = { shape: bigints(shape), strides: bigints(strides), byteOffset: BigInt(first * 4) };
      const tested = nativeProbe(context.peer, () => makeExternal(context.peer, changes));
      const taken = passes('a tensor', () => consume(context, tested.producer));
      await checkTaken(taken, expected);
      taken.release();
      await checkReleased(tested);
    }),
  ),
  must('nk.shares', '2.1', 'shares the memory: a write of either side shows', async (context) => {
    const external = makeExternal(context.peer);
    const tested = nativeProbe(context.peer, () => external);
    const taken = passes('a tensor', () => consume(context, tested.producer));
    if (taken.write === undefined) skip('the library does not write');
    taken.write(0, 1.5);
    const bytes = await taken.bytes();
    taken.release();
    expect(new DataView(bytes.buffer, bytes.byteOffset).getFloat32(0, true) === 1.5, 'the value 1.5', 'it is another');
  }),
  must('nk.minor', '7.2', 'takes a tensor of an unknown minor version', (context) => accepts(context, { minor: 99 })),
  must('nk.flags', '3.3', 'ignores unknown flags', (context) => accepts(context, { flags: 2n ** 63n })),
  must('nk.deleter.null', '7.2', 'takes a tensor without a deleter', (context) =>
    accepts(context, { hasDeleter: false }),
  ),
  must('nk.scalar.null', '7.3', 'takes a scalar without shape and strides', (context) =>
    accepts(
      context,
      { shape: null, strides: null, ndim: 0 },
      recipes.find(({ name }) => name === 'scalar'),
    ),
  ),
  must('nk.empty.null', '7.4', 'takes a tensor without elements and without data', (context) =>
    accepts(
      context,
      { bytes: null },
      recipes.find(({ name }) => name === 'empty'),
    ),
  ),
  should('nk.strides.null', '7.4', 'takes missing strides as row-major', (context) =>
    accepts(context, { strides: null, minor: 1 }),
  ),
  must('nk.axes.64', '7.3', 'takes a tensor of 64 axes', (context) => {
    const ones = new Array<number>(62).fill(1);
    return accepts(context, {}, { ...matrix, shape: [...ones, 2, 3] });
  }),
  ...malformed.map(([id, title, changes]) =>
    must<NativeContext>(
      `nk.bad.${id}`,
      id.startsWith('version') ? '7.2' : '7.3',
      `refuses and releases a tensor ${title}`,
      (context) => refuses(context, changes),
    ),
  ),
  must('nk.version.unread', '7.2', 'touches nothing but the deleter of another major version', (context) =>
    refuses(context, { major: 2, shape: null, strides: null, bytes: null, ndim: 2 ** 31 - 1 }),
  ),
  must('nk.struct', '7.3', 'does not write to the struct', async (context) => {
    const before = context.peer.changed();
    await accepts(context, {});
    await accepts(context, { strides: bigints([3, 1]), flags: 1n });
    const changed = context.peer.changed() - before;
    expect(changed === 0, 'structs as they were', `${changed} were changed`);
  }),
  must('nk.align.copies', '3.5', 'copies misaligned elements', async (context) => {
    const before = context.peer.changed();
    await accepts(context, { misaligned: 1 });
    expect(context.peer.changed() === before, 'the struct as it was', 'it was changed');
  }),
  must('nk.align.refuses', '3.5', 'refuses misaligned elements with copy: false', (context) =>
    refuses(context, { misaligned: 1 }, { copy: false }),
  ),
  must('nk.readonly', '3.3', 'does not write to read-only memory', async (context) => {
    const tested = nativeProbe(context.peer, () => makeExternal(context.peer, { flags: BigInt(READ_ONLY) }));
    const taken = passes('a tensor', () => consume(context, tested.producer));
    try {
      taken.write?.(0, 1.5);
    } catch {
      // refused
    }
    await checkTaken(taken);
    taken.release();
    await checkReleased(tested);
  }),
  must('nk.once', '7.2', 'refuses an external that it consumed before', async (context) => {
    const external = makeExternal(context.peer);
    const tested = nativeProbe(context.peer, () => external);
    const taken = passes('a tensor', () => consume(context, tested.producer));
    thrown('an error', () => consume(context, tested.producer).release());
    await checkTaken(taken);
    taken.release();
    await checkReleased(tested);
  }),
  must('nk.once.other', '7.2', 'refuses an external that another addon consumed', async (context) => {
    const external = makeExternal(context.peer);
    const tested = nativeProbe(context.peer, () => external);
    const struct = takeStruct(context.peer, external);
    thrown('an error', () => consume(context, tested.producer).release());
    context.peer.release(struct?.token as bigint);
    await checkReleased(tested);
  }),
  ...([false, true] as const).map((hasTag) =>
    must<NativeContext>(
      `nk.${hasTag ? 'otherTag' : 'untagged'}`,
      '7.2',
      `refuses an external ${hasTag ? 'with another tag' : 'without the tag'}`,
      (context) => {
        const { producer } = nativeProbe(context.peer, () => context.peer.makeUntagged(hasTag));
        thrown('an error', () => consume(context, producer).release());
      },
    ),
  ),
  must('nk.managed', '7.7', 'refuses and releases a managed tensor, if it takes only externals', async (context) => {
    if (hasForm(context.consumer, 'buffer')) skip('it takes buffers, too');
    const tested = probe();
    thrown('an error', () => consume(context, tested.producer).release());
    await checkDeleted(tested);
  }),
  must('nk.promise', '1.3', 'refuses a promise', (context) => {
    thrown('an error', () => consume(context, { [dlpack]: () => Promise.resolve({}) }).release());
  }),
  must('nk.error', '6.1', 'passes on what the method throws, unchanged', (context) => {
    const error = new EvalError('thrown by the producer');
    const throwing = {
      [dlpack]() {
        throw error;
      },
    };
    const found = thrown('an error', () => consume(context, throwing));
    expect(found === error, 'the same error object', `received ${String(found)}`);
  }),
  must('nk.gc', '5.2', 'releases a tensor that was collected', async (context) => {
    const tested = nativeProbe(context.peer, () => makeExternal(context.peer));
    (() => void consume(context, tested.producer))();
    await collectUntil(context.environment, () => tested.deleted() > 0);
    await checkReleased(tested);
  }),
];

export function nativeConsumerCases({ consumer }: Subject, environment: Environment): Case[] {
  if (consumer === undefined || !hasForm(consumer, 'external') || environment.peer === undefined) return [];
  return casesFrom(rows, { consumer, environment, peer: environment.peer });
}
