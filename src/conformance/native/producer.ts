/** Cases for a producer of native externals: the peer takes what the library makes. */

import { type Case, casesFrom, expect, must, passes, type Row, should, skip, thrown } from '../case.js';
import { collectUntil, type Environment } from '../environment.js';
import { makeTensor, type Producer } from '../exports.js';
import { matrix, type Recipe, recipes } from '../recipes.js';
import { checkManaged, dlpack, holds, IS_COPIED, IS_PADDED, READ_ONLY, sameList } from '../reference.js';
import { hasForm, type Subject } from '../subject.js';
import { wrappedNativeRows } from '../wrapped.js';
import { exportNative, type NativeContext, taken, withStruct } from './exports.js';
import { readStruct, type Struct, takeStruct } from './peer.js';

function checkStruct({ peer }: NativeContext, struct: Struct, recipe: Recipe = matrix): void {
  const { major, shape, strides, dtype, flags } = struct;
  expect(major === 1, 'version 1.x', `received ${major}.${struct.minor}`);
  expect(sameList(shape, recipe.shape), `shape [${recipe.shape}]`, `received [${shape}]`);
  expect(strides !== null || shape.length === 0, 'strides', 'received NULL');
  const { code, bits, lanes } = recipe.dtype;
  expect(
    dtype.code === code && dtype.bits === bits && dtype.lanes === lanes,
    `dtype { code: ${code}, bits: ${bits}, lanes: ${lanes} }`,
    `received { code: ${dtype.code}, bits: ${dtype.bits}, lanes: ${dtype.lanes} }`,
  );
  expect(
    ((flags & IS_PADDED) !== 0) === recipe.isPadded || bits >= 8,
    `padding ${recipe.isPadded}`,
    `flags are ${flags}`,
  );
  const found = readStruct(peer, struct);
  expect(holds(recipe, found), `the bytes ${recipe.bytes}`, `received ${found}`);
}

/** Makes a tensor, hands it and its struct to `body` and releases both. */
function withTensor(
  context: NativeContext,
  request: object,
  body: (struct: Struct, tensor: Producer) => void,
  recipe: Recipe = matrix,
): void {
  const tensor = makeTensor(context, recipe);
  try {
    withStruct(context, tensor, request, (struct) => body(struct, tensor));
  } finally {
    context.producer.dispose?.(tensor);
  }
}

const refuses = (id: string, section: string, title: string, request: object): Row<NativeContext> =>
  must(id, section, title, (context) => {
    const tensor = makeTensor(context);
    thrown('an error', () => tensor[dlpack]({ native: 'only', ...request }));
  });

const rows: readonly Row<NativeContext>[] = [
  must('np.external', '7.1', 'answers native: "only" with an external that holds a tensor', (context) =>
    withTensor(context, {}, () => {}),
  ),
  must('np.true', '2.5.4', 'answers native: true with an external, a managed tensor or an address', (context) => {
    const tensor = makeTensor(context);
    const answer = passes('an export', () => tensor[dlpack]({ native: true })) as object;
    const struct = takeStruct(context.peer, answer);
    if (struct !== null) return context.peer.release(struct.token);
    const managed = checkManaged(answer, { isNative: true });
    managed.deleter?.();
  }),
  ...recipes.map((recipe) =>
    must<NativeContext>(`np.values.${recipe.name}`, '7.1', `exports the elements of ${recipe.name}`, (context) =>
      withTensor(context, {}, (struct) => checkStruct(context, struct, recipe), recipe),
    ),
  ),
  must('np.strides', '7.4', 'sends strides', (context) =>
    withTensor(context, {}, ({ strides }) => expect(strides !== null, 'strides', 'received NULL')),
  ),
  must('np.fresh', '7.1', 'answers each request with an external of its own', (context) =>
    withTensor(context, {}, (_, tensor) => {
      const second = taken(context, tensor);
      checkStruct(context, second);
      context.peer.release(second.token);
    }),
  ),
  must('np.copy.true', '2.1', 'copies with copy: true', (context) =>
    withTensor(context, { copy: true }, (struct, tensor) => {
      checkStruct(context, struct);
      expect((struct.flags & IS_COPIED) !== 0, 'IS_COPIED', `flags are ${struct.flags}`);
      context.peer.write(struct.token, 0, 0x3f);
      const own = taken(context, tensor);
      const [first] = readStruct(context.peer, own);
      context.peer.release(own.token);
      expect(first === matrix.bytes[0], 'a copy that writes do not leave', `the tensor changed to ${first}`);
    }),
  ),
  must('np.copy.false', '2.1', 'shares with copy: false, or refuses', (context) => {
    const tensor = makeTensor(context);
    try {
      tensor[dlpack]({ native: 'only', copy: false });
    } catch {
      return;
    }
    const struct = taken(context, tensor, { copy: false });
    const again = taken(context, tensor, { copy: false });
    context.peer.write(struct.token, 0, 0x3f);
    const [first] = readStruct(context.peer, again);
    const { flags } = struct;
    for (const { token } of [struct, again]) context.peer.release(token);
    expect((flags & IS_COPIED) === 0, 'no IS_COPIED', `flags are ${flags}`);
    expect(first === 0x3f, 'a write to one export in the next', `the first byte is ${first}`);
  }),
  must('np.readonly', '3.3', 'marks memory that must not be written', (context) => {
    const tensor = (context.producer.makeReadOnly?.(matrix) ??
      skip('the library has no read-only tensors')) as Producer;
    const { flags, token } = taken(context, tensor);
    context.peer.release(token);
    expect((flags & (READ_ONLY | IS_COPIED)) !== 0, 'READ_ONLY, or a copy', `flags are ${flags}`);
  }),
  must('np.flags.known', '3.3', 'sets only flags that dlpack.h defines', (context) =>
    withTensor(context, {}, ({ flags }) => expect(flags >= 0 && flags < 8, 'flags below 8', `received ${flags}`)),
  ),
  must('np.device', '2.4.1', 'exports host memory with the id 0', (context) =>
    withTensor(context, {}, ({ device }) => {
      if (![1, 3, 11, 13, 20].includes(device.type)) skip('its tensors are not in host memory');
      expect(device.id === 0, 'id 0', `received ${device.id}`);
    }),
  ),
  refuses('np.version', '2', 'refuses a consumer that knows no DLPack 1.x', { maxVersion: [0, 8] }),
  refuses('np.stream', '2.2', 'refuses a stream for host memory', { stream: 1n }),
  refuses('np.device.share', '2.1', 'refuses another device with copy: false', {
    device: { type: 99, id: 0 },
    copy: false,
  }),
  should('np.buffer', '7.8', 'answers a request without native with a buffer', (context) => {
    const managed = checkManaged(passes('a managed tensor', () => makeTensor(context)[dlpack]()));
    managed.deleter?.();
  }),
  must('np.deleter.thread', '7.5', 'tolerates its deleter on a thread without an environment', (context) => {
    const { token } = taken(context, makeTensor(context));
    context.peer.releaseOnThreads(BigUint64Array.of(token), 1);
  }),
  must('np.deleter.threads', '7.5', 'tolerates its deleters on several threads at once', (context) => {
    const tensor = makeTensor(context);
    const tokens = Array.from({ length: 400 }, () => taken(context, tensor).token);
    context.peer.releaseOnThreads(BigUint64Array.from(tokens), 4);
    withTensor(context, {}, (struct) => checkStruct(context, struct));
  }),
  must('np.lifetime.dispose', '5.4', 'keeps the memory of an export after its tensor was disposed', (context) => {
    const tensor = makeTensor(context);
    const struct = taken(context, tensor);
    if (context.producer.dispose === undefined) skip('its tensors cannot be disposed');
    context.producer.dispose(tensor);
    checkStruct(context, struct);
    context.peer.release(struct.token);
  }),
  must('np.lifetime.collected', '5.4', 'keeps the memory after tensor and external were collected', async (context) => {
    const { struct, external } = (() => {
      const made = exportNative(context, makeTensor(context));
      return { struct: takeStruct(context.peer, made) as Struct, external: new WeakRef(made) };
    })();
    await collectUntil(context.environment, () => external.deref() === undefined);
    checkStruct(context, struct);
    context.peer.release(struct.token);
  }),
  must('np.finalizer', '7.1', 'releases an external that nobody takes', async (context) => {
    const external = (() => new WeakRef(exportNative(context, makeTensor(context))))();
    await collectUntil(context.environment, () => external.deref() === undefined);
    withTensor(context, {}, (struct) => checkStruct(context, struct));
  }),
  must('np.worker.ended', '7.5', 'stays loaded: its deleter works after its only worker has ended', async (context) => {
    const { afterWorker } = context.environment;
    if (afterWorker === undefined) skip('needs workers that load the library alone (npx dlpack conformance)');
    const happened = await afterWorker();
    expect(happened === 'released', 'a deleter that returns', happened);
  }),
];

export function nativeProducerCases({ producer }: Subject, environment: Environment): Case[] {
  if (producer === undefined || !hasForm(producer, 'external') || environment.peer === undefined) return [];
  return casesFrom([...rows, ...wrappedNativeRows], { producer, environment, peer: environment.peer });
}
