/** Cases for a consumer that takes buffers: what it takes, what it refuses, and what it asks for. */

import { type Case, casesFrom, expect, isSkip, must, passes, type Row, should, skip, thrown } from './case.js';
import { consumerOwnershipRows } from './consumer-ownership.js';
import { type Environment, evaluateElsewhere } from './environment.js';
import { badDeleters, malformed, unusual } from './malformed.js';
import { makeExternal, takeStruct } from './native/peer.js';
import { type Changes, type Probe, probe } from './probe.js';
import { matrix, type Recipe, recipes } from './recipes.js';
import { dlpack, dlpackDevice, gather, IS_COPIED, placesOf } from './reference.js';
import { hasForm, type Subject, type Taken } from './subject.js';
import {
  type ConsumerContext,
  checkAccepted,
  checkDeleted,
  checkRefused,
  checkTaken,
  consume,
  needNoNative,
  needSharing,
  take,
} from './takes.js';

/** Elements of the matrix, or of another recipe, at places in a longer buffer. */
interface LayoutRow {
  readonly name: string;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  /** The place of the first element. */
  readonly first: number;
}

const layouts: readonly LayoutRow[] = [
  { name: 'transpose', shape: [3, 2], strides: [1, 3], first: 0 },
  { name: 'slice', shape: [2, 2], strides: [3, 1], first: 1 },
  { name: 'flip', shape: [6], strides: [-1], first: 5 },
  { name: 'flip.both', shape: [2, 3], strides: [-3, -1], first: 5 },
  { name: 'broadcast', shape: [4, 3], strides: [0, 1], first: 3 },
  { name: 'step', shape: [3], strides: [2], first: 0 },
  { name: 'overlap', shape: [3, 2], strides: [1, 1], first: 1 },
  { name: 'scalar', shape: [], strides: [], first: 2 },
  { name: 'empty', shape: [3, 0], strides: [1, 1], first: 0 },
];

async function checkLayout(context: ConsumerContext, { shape, strides, first }: LayoutRow): Promise<void> {
  let places = [first];
  shape.forEach((length, axis) => {
    places = places.flatMap((at) => Array.from({ length }, (_, i) => at + i * (strides[axis] as number)));
  });
  const bytes = Uint8Array.from(places.flatMap((at) => [...matrix.bytes.subarray(at * 4, at * 4 + 4)]));
  const tested = probe({ changes: { shape: [...shape], strides: [...strides], byteOffset: first * 4 } });
  const taken = take(context, tested);
  await checkTaken(taken, { ...matrix, shape, bytes });
  taken.release();
  await checkDeleted(tested);
}

/** Packed integers of 4 bits at places of two rows of four, which a consumer takes or refuses. The first starts a byte. */
const packedLayouts: readonly LayoutRow[] = [
  { name: 'rows', shape: [2, 3], strides: [4, 1], first: 0 },
  { name: 'flip', shape: [7], strides: [-1], first: 6 },
  { name: 'odd', shape: [3], strides: [1], first: 2 },
  { name: 'transpose', shape: [4, 2], strides: [1, 4], first: 0 },
];
const packed = recipes.find(({ name }) => name === 'i4') as Recipe;

async function checkPackedLayout(context: ConsumerContext, { shape, strides, first }: LayoutRow): Promise<void> {
  const places = placesOf(shape, strides).map((place) => first + place);
  const bytes = gather(packed.bytes, 0, 4, places);
  const tested = probe({
    recipe: packed,
    changes: { shape: [...shape], strides: [...strides], byteOffset: first / 2 },
  });
  let taken: Taken;
  try {
    taken = consume(context, tested.producer);
  } catch (error) {
    if (isSkip(error)) throw error;
    return checkDeleted(tested);
  }
  await checkTaken(taken, { ...packed, shape, bytes });
  taken.release();
  await checkDeleted(tested);
}

/** Takes a dtype, or refuses it and releases the tensor. */
async function checkDType(context: ConsumerContext, recipe: Recipe): Promise<void> {
  const tested = probe({ recipe });
  let taken: Taken;
  try {
    taken = consume(context, tested.producer);
  } catch {
    return checkDeleted(tested);
  }
  await checkTaken(taken, recipe);
  taken.release();
  await checkDeleted(tested);
}

/** What a method may return that is no managed tensor. */
const results: readonly (readonly [label: string, make: () => unknown])[] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['number', () => 42],
  ['string', () => 'tensor'],
  ['function', () => () => {}],
  ['array', () => [1, 2, 3]],
  ['object', () => ({})],
  ['promise', () => Promise.resolve({})],
];

const lastRequest = (tested: Probe) => tested.requests[tested.requests.length - 1] ?? {};

const rows: readonly Row<ConsumerContext>[] = [
  must('c.values', '1.2', 'takes the elements of another library', (context) => checkAccepted(context)),
  must('c.shares', '2.1', 'shares the memory: a later write of the producer shows', async (context) => {
    needSharing(context);
    const tested = probe();
    const taken = take(context, tested);
    tested.bytes.set(matrix.bytes.slice().reverse());
    await checkTaken(taken, { ...matrix, bytes: matrix.bytes.slice().reverse() });
    taken.release();
    await checkDeleted(tested);
  }),
  should('c.writes', '2.1', 'shares the memory: the producer sees what the library writes', async (context) => {
    const tested = probe();
    const taken = take(context, tested);
    taken.write?.(0, 1.5);
    const [first] = new Float32Array(tested.bytes.buffer);
    const canWrite = taken.write !== undefined;
    taken.release();
    expect(!canWrite || first === 1.5, 'a write that the producer sees', `its element is ${first}`);
  }),
  ...recipes.map((recipe) =>
    must<ConsumerContext>(`c.dtype.${recipe.name}`, '3.8', `takes or refuses ${recipe.name}`, (context) =>
      checkDType(context, recipe),
    ),
  ),
  ...layouts.map((layout) =>
    must<ConsumerContext>(`c.layout.${layout.name}`, '3.7', `reads a layout: ${layout.name}`, (context) =>
      checkLayout(context, layout),
    ),
  ),
  ...packedLayouts.map((layout) =>
    must<ConsumerContext>(`c.layout.i4.${layout.name}`, '3.8', `reads or refuses packed ${layout.name}`, (context) =>
      checkPackedLayout(context, layout),
    ),
  ),
  ...unusual.map(({ id, section, title, level, changes }) => ({
    ...must<ConsumerContext>(`c.good.${id}`, section, `takes a tensor ${title}`, (context) => {
      const made = changesFor(changes);
      const shape = (made.shape ?? matrix.shape) as number[];
      const expected = { ...matrix, shape, ...(shape.includes(0) ? { bytes: new Uint8Array() } : {}) };
      return checkAccepted(context, { changes: made }, expected);
    }),
    level,
  })),
  ...(
    [
      ['frozen', 'that is frozen', (managed) => Object.freeze(managed)],
      ['nullproto', 'without a prototype', (managed) => Object.assign(Object.create(null), managed)],
      ['proxy', 'that is a Proxy', (managed) => new Proxy(managed, {})],
      ['inherited', 'whose fields are getters of its prototype', inherited],
      ['unknown', 'with unknown fields', (managed) => Object.assign(managed, { color: 'blue' })],
    ] as const satisfies readonly (readonly [string, string, (managed: Record<string, unknown>) => unknown])[]
  ).map(([label, title, wrap]) =>
    must<ConsumerContext>(`c.good.object.${label}`, '3.1', `takes a managed tensor ${title}`, (context) =>
      checkAccepted(context, { wrap }),
    ),
  ),
  ...malformed.map(({ id, section, title, level, changes }) => ({
    ...must<ConsumerContext>(`c.bad.${id}`, section, `refuses and releases a tensor ${title}`, async (context) => {
      await checkRefused(context, probe({ changes: changes() }));
    }),
    level,
  })),
  ...badDeleters.map(({ id, section, title, changes }) =>
    must<ConsumerContext>(`c.bad.${id}`, section, `refuses a tensor ${title}`, async (context) => {
      await checkRefused(context, probe({ changes: changes() }), 0);
    }),
  ),
  must('c.version.unread', '3.2', 'reads only version and deleter of another major version', async (context) => {
    const read: string[] = [];
    const tested = probe({
      changes: { version: [2, 0] },
      wrap: (managed) =>
        new Proxy(managed, {
          get(target, key) {
            if (typeof key === 'string' && key in target) read.push(key);
            return target[key as string];
          },
        }),
    });
    await checkRefused(context, tested);
    const others = read.filter((key) => key !== 'version' && key !== 'deleter');
    expect(others.length === 0, 'no read of another field', `it read ${others.join(', ')}`);
  }),
  must('c.read.order', '3.1', 'reads the deleter first, then the version', async (context) => {
    const read: string[] = [];
    const wrap = (managed: Record<string, unknown>) =>
      new Proxy(managed, {
        get(target, key) {
          if (typeof key === 'string' && key in target) read.push(key);
          return target[key as string];
        },
      });
    take(context, probe({ wrap })).release();
    const first = read.slice(0, 2).join(', ');
    expect(first === 'deleter, version', 'reads of deleter and version', `it read ${first} first`);
  }),
  must('c.read.once', '3.1', 'reads each field at most once', async (context) => {
    const reads = new Map<string, number>();
    const tested = probe({
      wrap: (managed) =>
        new Proxy(managed, {
          get(target, key) {
            if (typeof key === 'string') reads.set(key, (reads.get(key) ?? 0) + 1);
            return target[key as string];
          },
        }),
    });
    take(context, tested).release();
    const twice = [...reads].filter(([key, count]) => count > 1 && key in tested.answer).map(([key]) => key);
    expect(twice.length === 0, 'each field read once', `${twice.join(', ')} was read again`);
  }),
  ...results.map(([label, make]) =>
    must<ConsumerContext>(
      `c.result.${label}`,
      label === 'promise' ? '1.3' : '3.1',
      `refuses a method that returns ${label}`,
      (context) => {
        thrown('an error', () => consume(context, { [dlpack]: make }));
      },
    ),
  ),
  must('c.result.external', '2.5.4', 'refuses an external if it did not send native: true', (context) => {
    const { peer } = context.environment;
    if (peer === undefined) skip('needs the peer of dlpack/native');
    needNoNative(context);
    const external = makeExternal(peer);
    try {
      thrown('an error', () => consume(context, { [dlpack]: () => external }));
    } finally {
      // Not later by the collector, because other cases count what the peer releases.
      const struct = takeStruct(peer, external);
      if (struct !== null) peer.release(struct.token);
    }
  }),
  must('c.recognise.this', '1.2', 'calls the method on the object', async (context) => {
    const tested = probe();
    class Private {
      readonly #tested = tested.producer as { [dlpack](request: unknown): unknown };
      [dlpack](request: unknown) {
        return this.#tested[dlpack](request);
      }
    }
    const taken = passes('a tensor', () => consume(context, new Private()));
    taken.release();
    await checkDeleted(tested);
  }),
  must('c.recognise.nodevice', '1.2', 'takes an object without the device method', async (context) => {
    const tested = probe();
    const bare = { [dlpack]: (tested.producer as { [dlpack]: unknown })[dlpack] };
    passes('a tensor', () => consume(context, bare)).release();
    await checkDeleted(tested);
  }),
  must('c.recognise.prototype', '1.2', 'takes an object without a prototype', async (context) => {
    const tested = probe();
    const bare = Object.assign(Object.create(null), tested.producer) as object;
    passes('a tensor', () => consume(context, bare)).release();
    await checkDeleted(tested);
  }),
  must('c.recognise.function', '1.2', 'takes a function that has the method', async (context) => {
    const tested = probe();
    passes('a tensor', () =>
      consume(
        context,
        Object.assign(() => {}, tested.producer),
      ),
    ).release();
    await checkDeleted(tested);
  }),
  must(
    'c.recognise.symbolFirst',
    '1.6',
    'asks the symbol where an object also has names of Python',
    async (context) => {
      const tested = probe();
      const both = Object.assign(tested.producer, {
        __dlpack__: () => thrown('no call of __dlpack__', () => {}),
        __dlpack_device__: () => [1, 0],
      });
      const taken = passes('a tensor', () => consume(context, both));
      expect(tested.requests.length === 1, 'one call of the method of the symbol', `it had ${tested.requests.length}`);
      taken.release();
      await checkDeleted(tested);
    },
  ),
  must('c.bad.address', '2.5.4', 'refuses an address if it did not send native: true', async (context) => {
    needNoNative(context);
    await checkRefused(context, probe({ changes: { data: 4096n } }));
  }),
  must('c.realm', '4.1.3', 'takes a tensor and a buffer of another realm', async ({ consumer, environment }) => {
    const code = `(() => {
      const bytes = new Uint8Array([${matrix.bytes}]);
      const record = { deleted: 0 };
      record.producer = {
        [Symbol.for('dlpack')]: () => ({
          version: [1, 3], flags: 0, data: bytes.buffer, byteOffset: 0, shape: [2, 3], strides: [3, 1],
          dtype: { code: 2, bits: 32, lanes: 1 }, device: { type: 1, id: 0 }, deleter() { record.deleted++; },
        }),
        [Symbol.for('dlpack.device')]: () => ({ type: 1, id: 0 }),
      };
      return record;
    })()`;
    const record = evaluateElsewhere(environment, code) as Probe;
    const taken = take({ consumer, environment }, record);
    await checkTaken(taken);
    taken.release();
    await checkDeleted(record);
  }),
  must('c.error.unchanged', '6.1', 'passes on what the method throws, unchanged', (context) => {
    const error = new EvalError('thrown by the producer');
    const throwing = {
      [dlpack]() {
        throw error;
      },
      [dlpackDevice]: () => ({ type: 1, id: 0 }),
    };
    const found = thrown('an error', () => consume(context, throwing));
    expect(found === error, 'the same error object', `received ${String(found)}`);
  }),
  must('c.copy.request', '2', 'passes copy on to the producer', (context) => {
    for (const copy of [true, false]) {
      const tested = probe();
      take(context, tested, { copy }).release();
      const received = lastRequest(tested).copy;
      expect(received === copy, `copy: ${copy}`, `received ${received}`);
    }
  }),
  must('c.copy.true.marked', '2.1', 'takes the copy that the producer made', async (context) => {
    const tested = probe();
    const taken = take(context, tested, { copy: true });
    await checkTaken(taken);
    taken.release();
    await checkDeleted(tested);
  }),
  should('c.copy.true.unmarked', '2.5.2', 'copies by itself if the producer did not', async (context) => {
    const tested = probe({ copies: false });
    const taken = take(context, tested, { copy: true });
    tested.bytes.fill(0);
    await checkTaken(taken);
    taken.release();
    await checkDeleted(tested);
  }),
  must('c.copy.false.marked', '2.5.3', 'refuses a copy after copy: false', async (context) => {
    await checkRefused(context, probe({ changes: { flags: IS_COPIED } }), 1, { copy: false });
  }),
  must('c.device.request', '2', 'passes the device on to the producer', (context) => {
    const tested = probe();
    take(context, tested, { device: { type: 1, id: 0 } }).release();
    const { device } = lastRequest(tested);
    expect(device?.type === 1, 'device { type: 1, id: 0 }', `received ${JSON.stringify(device)}`);
  }),
  must('c.device.checked', '2.5.1', 'refuses a tensor on another device than it asked for', async (context) => {
    await checkRefused(context, probe(), 1, { device: { type: 2, id: 0 } });
  }),
  must('c.align.copies', '3.5', 'copies misaligned elements', async (context) => {
    const tested = misaligned();
    const taken = take(context, tested);
    await checkTaken(taken);
    taken.release();
    await checkDeleted(tested);
  }),
  must('c.align.refuses', '3.5', 'refuses misaligned elements with copy: false', async (context) => {
    await checkRefused(context, misaligned(), 1, { copy: false });
  }),
];

/** The elements of the matrix from an odd byte on. */
function misaligned(): Probe {
  const data = new Uint8Array(25);
  data.set(matrix.bytes, 1);
  return probe({ changes: { data: data.buffer, byteOffset: 1 }, copies: false });
}

/** The changes of a variant. Not every runtime has resizable buffers, nor every page shared memory. */
function changesFor(changes: () => Changes): Changes {
  try {
    return changes();
  } catch {
    return skip('this runtime has no such buffers');
  }
}

function inherited(managed: Record<string, unknown>): object {
  const getters = Object.keys(managed).map((key) => [key, { get: () => managed[key] }]);
  return Object.create(Object.create(null, Object.fromEntries(getters)));
}

export function consumerCases({ consumer }: Subject, environment: Environment): Case[] {
  if (consumer === undefined || !hasForm(consumer, 'buffer')) return [];
  return casesFrom([...rows, ...consumerOwnershipRows], { consumer, environment });
}
