/** Cases for a producer that exports buffers: what it must answer to each request. */

import type { ManagedTensor } from '../protocol/managed.js';
import { type Case, casesFrom, expect, must, nameOf, passes, type Row, should, skip, thrown } from './case.js';
import type { Environment } from './environment.js';
import {
  checkElements,
  exportedBytes,
  flagsOf,
  makeTensor,
  type Producer,
  type ProducerContext,
  release,
  withExport,
} from './exports.js';
import { producerLifetimeRows } from './producer-lifetime.js';
import { matrix, recipes, widthOf } from './recipes.js';
import { checkManaged, dlpack, dlpackDevice, elementsOf, gather, IS_COPIED, READ_ONLY, sameList } from './reference.js';
import { hasForm, type ProducerSubject, type Subject } from './subject.js';
import { wrappedRows } from './wrapped.js';

const exportsFor = (id: string, section: string, title: string, request: unknown): Row<ProducerContext> =>
  must(id, section, title, (context) => withExport(context, request, (managed) => checkElements(managed)));

/** Refuses a request. The name of its error is a rule of its own. */
function refusal(context: ProducerContext, request: unknown): unknown {
  const tensor = makeTensor(context);
  try {
    return thrown('an error', () => {
      const answer = tensor[dlpack](request) as Partial<ManagedTensor> | undefined;
      answer?.deleter?.();
      return answer;
    });
  } finally {
    context.producer.dispose?.(tensor);
  }
}

const refuses = (id: string, section: string, title: string, request: unknown): Row<ProducerContext> =>
  must(id, section, title, (context) => {
    refusal(context, request);
  });

/** Refuses a request with an error of this name. */
const names = (id: string, section: string, title: string, name: string, request: unknown): Row<ProducerContext> =>
  must(id, section, title, (context) => {
    const found = nameOf(refusal(context, request));
    expect(found === name, `an error named ${name}`, `received ${found}`);
  });

const namesBufferError = (id: string, request: unknown): Row<ProducerContext> =>
  names(id, '6.2', 'names that error BufferError', 'BufferError', request);

/** Values outside the table of section 2. */
const badValues: readonly (readonly [field: string, label: string, value: unknown])[] = [
  ['copy', '1', 1],
  ['copy', '0', 0],
  ['copy', 'string', 'yes'],
  ['native', '1', 1],
  ['native', 'string', 'yes'],
  ['stream', 'number', 1],
  ['stream', 'string', '1'],
  ['maxVersion', 'nan', [Number.NaN, 0]],
  ['maxVersion', 'string', '1.0'],
  ['maxVersion', 'bigint', [1n, 0n]],
  ['maxVersion', 'short', [1]],
  ['maxVersion', 'negative', [1, -1]],
  ['device', 'tuple', [1, 0]],
  ['device', 'string', 'cpu'],
  ['device', 'noid', { type: 1 }],
  ['device', 'bigint', { type: 1n, id: 0n }],
];

const goodRequests: readonly (readonly [label: string, section: string, title: string, request: unknown])[] = [
  ['absent', '2.3.1', 'exports without a request', undefined],
  ['null', '2.3.1', 'takes null for the request as absent', null],
  ['empty', '2.3.1', 'exports for a request without fields', {}],
  ['unknown', '2.3.2', 'ignores fields that it does not know', { color: 'blue', [Symbol('other')]: 1 }],
  [
    'nulls',
    '2.3.1',
    'takes null fields as absent',
    { maxVersion: null, device: null, copy: null, stream: null, native: null },
  ],
  [
    'undefined',
    '2.3.1',
    'takes undefined fields as absent',
    { maxVersion: undefined, device: undefined, copy: undefined, stream: undefined, native: undefined },
  ],
  ['frozen', '2.3.4', 'does not write to the request', Object.freeze({ copy: null })],
];

const devices: readonly (readonly [label: string, type: number])[] = [
  ['cuda', 2],
  ['webgpu', 15],
  ['unknown', 99],
];

const rows: readonly Row<ProducerContext>[] = [
  must('p.symbol', '1.1', 'has the method Symbol.for("dlpack")', (context) => {
    const type = typeof makeTensor(context)[dlpack];
    expect(type === 'function', 'a function at Symbol.for("dlpack")', `received ${type}`);
  }),
  must('p.device', '1.4', 'names the device of its exports', (context) =>
    withExport(context, undefined, ({ device }, tensor) => {
      const named = passes('a device', () => tensor[dlpackDevice]());
      expect(
        named.type === device.type && named.id === device.id,
        `device { type: ${device.type}, id: ${device.id} }, as in the export`,
        `received { type: ${named?.type}, id: ${named?.id} }`,
      );
    }),
  ),
  must('p.synchronous', '1.3', 'answers with the tensor itself, not with a promise', (context) =>
    withExport(context, undefined, () => {}),
  ),
  ...recipes.map((recipe) =>
    must<ProducerContext>(`p.values.${recipe.name}`, '3.8', `exports the elements of ${recipe.name}`, (context) =>
      withExport(context, undefined, (managed) => checkElements(managed, recipe), recipe),
    ),
  ),
  ...goodRequests.map(([label, section, title, request]) => exportsFor(`p.request.${label}`, section, title, request)),
  ...[
    [1, 0],
    [1, 3],
    [1, 99],
    [2, 0],
  ].map((maxVersion) =>
    exportsFor(
      `p.version.${maxVersion.join('.')}`,
      '2',
      `exports a tensor of DLPack 1.x to a consumer that knows ${maxVersion.join('.')}`,
      { maxVersion },
    ),
  ),
  refuses('p.version.0.8', '2', 'refuses a consumer that knows no DLPack 1.x', { maxVersion: [0, 8] }),
  namesBufferError('p.version.0.8.name', { maxVersion: [0, 8] }),
  ...[null, false].map((copy) =>
    must<ProducerContext>(`p.copy.${copy}`, '2.1', `shares its memory with copy: ${copy}`, (context) =>
      withExport(context, { copy }, (managed, tensor) => {
        expect((flagsOf(managed) & IS_COPIED) === 0, 'no IS_COPIED flag', 'it is set');
        exportedBytes(managed)[managed.byteOffset] = 0x3f;
        const again = checkManaged(tensor[dlpack]());
        const [first] = elementsOf(again);
        release(again);
        expect(first === 0x3f, 'a write to one export in the next', `the first byte is ${first}`);
      }),
    ),
  ),
  must('p.copy.true', '2.1', 'copies with copy: true', (context) =>
    withExport(context, { copy: true }, (managed, tensor) => {
      checkElements(managed);
      exportedBytes(managed)[managed.byteOffset] = 0x3f;
      const own = checkManaged(tensor[dlpack]());
      const [first] = elementsOf(own);
      release(own);
      expect(first === matrix.bytes[0], 'a copy that writes do not leave', `the tensor changed to ${first}`);
    }),
  ),
  must('p.copy.true.flag', '2', 'sets IS_COPIED with copy: true', (context) =>
    withExport(context, { copy: true }, (managed) =>
      expect((flagsOf(managed) & IS_COPIED) !== 0, 'IS_COPIED', `flags are ${flagsOf(managed)}`),
    ),
  ),
  must('p.copy.true.own', '2.1', 'copies on its own device with copy: true', (context) => {
    const device = withExport(context, undefined, (managed) => managed.device);
    withExport(context, { copy: true, device }, (managed) => {
      checkElements(managed);
      expect((flagsOf(managed) & IS_COPIED) !== 0, 'IS_COPIED', `flags are ${flagsOf(managed)}`);
    });
  }),
  must('p.copy.true.writable', '2', 'clears READ_ONLY in a copy', (context) => {
    const tensor = makeReadOnly(context);
    const managed = checkManaged(passes('a copy', () => tensor[dlpack]({ copy: true })));
    const flags = flagsOf(managed);
    release(managed);
    expect((flags & READ_ONLY) === 0, 'a copy without READ_ONLY', `flags are ${flags}`);
  }),
  must('p.readonly', '3.3', 'marks memory that must not be written', (context) => {
    const managed = checkManaged(passes('an export', () => makeReadOnly(context)[dlpack]()));
    const flags = flagsOf(managed);
    release(managed);
    expect((flags & READ_ONLY) !== 0, 'READ_ONLY', `flags are ${flags}`);
  }),
  ...[null, false].map((copy) =>
    must<ProducerContext>(`p.device.own.${copy}`, '2.1', `shares on its own device with copy: ${copy}`, (context) => {
      const device = withExport(context, undefined, (managed) => managed.device);
      withExport(context, { device, copy }, (managed) => {
        checkElements(managed);
        expect((flagsOf(managed) & IS_COPIED) === 0, 'no IS_COPIED flag', 'it is set');
      });
    }),
  ),
  exportsFor('p.device.hostId', '2.4.1', 'ignores the id of a host device', { device: { type: 1, id: 7 } }),
  ...devices.flatMap(([label, type]) => [
    must<ProducerContext>(`p.device.${label}`, '2.1', `copies to a device of type ${type}, or refuses`, (context) => {
      const tensor = makeTensor(context);
      let answer: ManagedTensor;
      try {
        answer = tensor[dlpack]({ device: { type, id: 0 } }) as ManagedTensor;
      } catch {
        return;
      }
      const { device } = checkManaged(answer);
      const flags = flagsOf(answer);
      release(answer);
      expect(device.type === type, `device type ${type}, or an error`, `received type ${device.type}`);
      expect((flags & IS_COPIED) !== 0, 'IS_COPIED', `flags are ${flags}`);
    }),
    refuses(`p.device.${label}.share`, '2.1', `refuses device type ${type} with copy: false`, {
      device: { type, id: 0 },
      copy: false,
    }),
    namesBufferError(`p.device.${label}.name`, { device: { type, id: 0 }, copy: false }),
  ]),
  ...[-1n, 0n, 1n, 2n, 4096n].map((stream) =>
    refuses(`p.stream.host.${stream}`, '2.2', `refuses stream ${stream}n for host memory`, { stream }),
  ),
  namesBufferError('p.stream.host.name', { stream: 1n }),
  must('p.native.false', '2', 'exports a buffer without native', (context) =>
    withExport(context, { native: false }, (managed) => checkElements(managed)),
  ),
  must('p.native.only', '2', 'never answers native: "only" with a managed tensor', (context) => {
    const tensor = makeTensor(context);
    let answer: Partial<ManagedTensor>;
    try {
      answer = tensor[dlpack]({ native: 'only' }) as Partial<ManagedTensor>;
    } catch {
      return;
    }
    const isManaged = 'version' in answer || 'data' in answer;
    if (isManaged) answer.deleter?.();
    expect(!isManaged, 'a native external or an error', 'received a managed tensor');
  }),
  ...badValues.map(([field, label, value]) =>
    names(`p.bad.${field}.${label}`, '2.3.3', `throws a TypeError for a bad ${field} (${label})`, 'TypeError', {
      [field]: value,
    }),
  ),
  ...[1, 'cpu', true].map((request) =>
    names(
      `p.bad.request.${typeof request}`,
      '2.3.3',
      `throws a TypeError for a request that is a ${typeof request}`,
      'TypeError',
      request,
    ),
  ),
  must('p.flags.known', '3.3', 'sets only flags that dlpack.h defines', (context) =>
    withExport(context, undefined, ({ flags }) => expect(BigInt(flags) < 8n, 'flags below 8', `received ${flags}`)),
  ),
  should('p.request.once', '2.3.4', 'reads each field of a request once', (context) => {
    const reads: Record<string, number> = {};
    const request = Object.defineProperties(
      {},
      Object.fromEntries(
        ['maxVersion', 'device', 'copy', 'stream', 'native'].map((field) => {
          const get = () => {
            reads[field] = (reads[field] ?? 0) + 1;
            return null;
          };
          return [field, { get, enumerable: true }];
        }),
      ),
    );
    withExport(context, request, () => {});
    const twice = Object.keys(reads).filter((field) => (reads[field] as number) > 1);
    expect(twice.length === 0, 'each field read once', `${twice.join(', ')} was read again`);
  }),
];

function makeReadOnly({ producer }: ProducerContext): Producer {
  const tensor = producer.makeReadOnly?.(matrix) ?? null;
  if (tensor === null) skip('the library has no read-only tensors');
  return tensor as Producer;
}

/** The author's own views. */
const viewRows = ({ views = {} }: ProducerSubject): Row<ProducerContext>[] =>
  Object.entries(views).flatMap(([name, view]) => {
    const recipe = recipes.find((candidate) => candidate.name === (view.recipe ?? 'f32')) ?? matrix;
    const made = (context: ProducerContext) => view.make(makeTensor(context, recipe)) as Producer;
    /** Exports the view, and checks its elements and whether they are a copy. */
    const checkView = (context: ProducerContext, request: unknown, isCopied: boolean): void => {
      const managed = checkManaged(passes('an export', () => made(context)[dlpack](request)));
      const found = elementsOf(managed);
      const { shape } = managed;
      const flags = flagsOf(managed);
      release(managed);
      const expected = gather(recipe.bytes, 0, widthOf(recipe.dtype, false), view.elements);
      expect(sameList(shape, view.shape), `shape [${view.shape}]`, `received [${shape}]`);
      expect(sameList([...found], [...expected]), `the bytes ${expected}`, `received ${found}`);
      expect(((flags & IS_COPIED) !== 0) === isCopied, 'IS_COPIED if it was copied', `flags are ${flags}`);
    };
    const rule = must<ProducerContext>(`p.view.${name}`, '3.7', `exports a view: ${name}`, (context) =>
      checkView(context, undefined, view.startsInsideByte === true),
    );
    const copied = must<ProducerContext>(`p.view.${name}.copy`, '2.1', `copies a view: ${name}`, (context) =>
      checkView(context, { copy: true }, true),
    );
    if (view.startsInsideByte !== true) return [rule, copied];
    const refused = must<ProducerContext>(
      `p.view.${name}.share`,
      '2.1',
      `refuses to share a view: ${name}`,
      (context) => {
        thrown('an error', () => made(context)[dlpack]({ copy: false }));
      },
    );
    return [rule, copied, refused];
  });

export function producerCases({ producer }: Subject, environment: Environment): Case[] {
  if (producer === undefined || !hasForm(producer, 'buffer')) return [];
  return casesFrom([...rows, ...viewRows(producer), ...producerLifetimeRows, ...wrappedRows], {
    producer,
    environment,
  });
}
