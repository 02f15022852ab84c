/** Cases for native producers whose memory is not plain host memory: streams, and memory that the host can reach. */

import type { DLDevice } from '../../device.js';
import { type Case, casesFrom, expect, must, nameOf, passes, type Row, skip, thrown } from '../case.js';
import type { Environment } from '../environment.js';
import type { Producer } from '../exports.js';
import { matrix } from '../recipes.js';
import { dlpack, holds, IS_COPIED } from '../reference.js';
import { hasForm, type StreamSubject, type Subject } from '../subject.js';
import { type NativeContext, taken, withStruct } from './exports.js';
import { readStruct, type Struct } from './peer.js';

function makeOn({ producer }: NativeContext, device: DLDevice): Producer {
  const tensor = passes('a tensor', () => producer.makeOn?.(matrix, device) ?? null);
  return (tensor ?? skip(`the library has no tensors on devices of type ${device.type}`)) as Producer;
}

/** Makes a tensor on a device, hands it to `body` and disposes it. */
function withTensor(context: NativeContext, type: number, body: (tensor: Producer) => void): void {
  const tensor = makeOn(context, { type, id: 0 });
  try {
    body(tensor);
  } finally {
    context.producer.dispose?.(tensor);
  }
}

/** Memory that the host reaches beside that of a device (2.4.1). */
const reachable = [
  ['cudaHost', 3],
  ['rocmHost', 11],
  ['cudaManaged', 13],
  ['tpuHost', 20],
] as const;

/** The streams of a device (2.2). */
const streams = [
  ['cuda', 2, [null, -1n, 1n, 2n], [0n, -2n]],
  ['rocm', 10, [null, -1n, 0n], [1n, 2n, -2n]],
  ['cudaManaged', 13, [null, -1n, 1n, 2n], [0n, -2n]],
] as const;

/** Devices that have no numbers for streams (2.2), beside type 1 and WebGPU, which have cases of their own. */
const withoutStreams = [
  ['cudaHost', 3],
  ['openCL', 4],
  ['vulkan', 7],
  ['metal', 8],
  ['vpi', 9],
  ['rocmHost', 11],
  ['extDev', 12],
  ['oneAPI', 14],
  ['hexagon', 16],
  ['maia', 17],
  ['trn', 18],
  ['tpu', 19],
  ['tpuHost', 20],
  ['ascend', 21],
] as const;

function refusesStream(tensor: Producer, stream: bigint): void {
  const found = nameOf(thrown(`an error for the stream ${stream}`, () => tensor[dlpack]({ native: 'only', stream })));
  expect(found === 'BufferError', `an error named BufferError for the stream ${stream}`, `received ${found}`);
}

/** The elements of a struct on a device of this type. The host cannot read memory of another that a library may send. */
function readOnHost({ peer }: NativeContext, struct: Struct, type: number): Uint8Array {
  if (struct.device.type !== type) peer.release(struct.token);
  expect(struct.device.type === type, `device type ${type}`, `received ${struct.device.type}`);
  return readStruct(peer, struct);
}

/** The elements that a library still writes when it exports. */
const late = { ...matrix, bytes: matrix.bytes.slice().reverse() };

/** Makes a tensor whose elements are still to be written, and hands it to `body`. */
async function withLateElements(
  context: NativeContext,
  type: number,
  body: (tensor: Producer, streams: StreamSubject) => Promise<void>,
): Promise<void> {
  const device = { type, id: 0 };
  const streams =
    context.producer.streams?.(device) ?? skip(`the library names no streams of devices of type ${device.type}`);
  const tensor = makeOn(context, device);
  try {
    streams.write(tensor, late.bytes);
    await body(tensor, streams);
  } finally {
    context.producer.dispose?.(tensor);
  }
}

/** What a consumer reads on its stream after the export are the elements that the library was still writing. */
async function checkOrder(context: NativeContext, type: number, named: bigint | null | 'handle'): Promise<void> {
  let end = () => {};
  await withLateElements(context, type, async (tensor, streams) => {
    const stream = named === 'handle' ? streams.make() : named;
    if (named === 'handle') end = () => streams.destroy(stream as bigint);
    const struct = taken(context, tensor, { stream });
    const [address, length] = [struct.data + BigInt(struct.byteOffset), late.bytes.length];
    // Without a stream managed memory is for the host, which reads it at once.
    const found =
      stream === null && type === 13
        ? readOnHost(context, struct, 13)
        : await streams.read(stream ?? (type === 10 ? 0n : 1n), address, length);
    context.peer.release(struct.token);
    expect(holds(late, found), `the bytes ${late.bytes}`, `received ${found}`);
  }).finally(() => end());
}

const on = (
  id: string,
  section: string,
  title: string,
  type: number,
  check: (context: NativeContext, tensor: Producer) => void,
): Row<NativeContext> =>
  must(id, section, title, (context) => withTensor(context, type, (tensor) => check(context, tensor)));

const rows: readonly Row<NativeContext>[] = [
  ...reachable.flatMap(([name, type]) => [
    on(`dp.${name}.device`, '2.4.1', 'exports memory that the host reaches with its type and the id 0', type, (c, x) =>
      withStruct(c, x, {}, ({ device }) =>
        expect(
          device.type === type && device.id === 0,
          `device { type: ${type}, id: 0 }`,
          `received { type: ${device.type}, id: ${device.id} }`,
        ),
      ),
    ),
    on(`dp.${name}.host`, '2.4.2', 'shares it as host memory, with the requested device', type, (c, x) =>
      withStruct(c, x, {}, (own) =>
        withStruct(c, x, { device: { type: 1, id: 0 }, copy: false }, ({ device, data, flags, byteOffset }) => {
          expect(device.type === 1, 'device type 1', `received ${device.type}`);
          const isSame = data + BigInt(byteOffset) === own.data + BigInt(own.byteOffset);
          expect(isSame && (flags & IS_COPIED) === 0, 'the same memory', 'received a copy');
        }),
      ),
    ),
    on(`dp.${name}.id`, '2.4.1', 'ignores the id of a request for it', type, (c, x) =>
      withStruct(c, x, { device: { type, id: 5 }, copy: false }),
    ),
  ]),
  ...streams.flatMap(([name, type, allowed, refused]) => [
    ...allowed.map((stream) =>
      on(`dp.${name}.stream.${stream}`, '2.2', `takes the stream ${stream}`, type, (c, x) =>
        withStruct(c, x, { stream }, ({ device }) =>
          expect(device.type === type, `device type ${type}`, `received ${device.type}`),
        ),
      ),
    ),
    ...refused.map((stream) =>
      on(`dp.${name}.stream.not${stream}`, '2.2', `refuses the stream ${stream} with a BufferError`, type, (_, x) =>
        refusesStream(x, stream),
      ),
    ),
  ]),
  ...withoutStreams.map(([name, type]) =>
    on(`dp.${name}.stream.none`, '2.2', 'takes null, and refuses every stream with a BufferError', type, (c, x) => {
      withStruct(c, x, { stream: null });
      for (const stream of [-2n, -1n, 0n, 1n, 2n, 4096n]) refusesStream(x, stream);
    }),
  ),
  ...streams.flatMap(([name, type, allowed]) => [
    ...[...allowed.filter((stream) => stream !== -1n), 'handle' as const].map((stream) =>
      must<NativeContext>(
        `dp.${name}.order.${stream}`,
        '2.2',
        `orders its work before that of the stream ${stream}`,
        (context) => checkOrder(context, type, stream),
      ),
    ),
    must<NativeContext>(`dp.${name}.order.host`, '2.2', 'waits for its work before it exports to the host', (context) =>
      withLateElements(context, type, async (tensor) => {
        const request = { device: { type: 1, id: 0 } };
        const struct = taken(context, tensor, request);
        const found = readOnHost(context, struct, 1);
        context.peer.release(struct.token);
        expect(holds(late, found), `the bytes ${late.bytes}`, `received ${found}`);
      }),
    ),
  ]),
  ...(['cuda', 'rocm'] as const).map((name) =>
    on(`dp.${name}.host`, '2.1', 'refuses to share device memory with the host', name === 'cuda' ? 2 : 10, (_, x) => {
      thrown('an error', () => x[dlpack]({ native: 'only', device: { type: 1, id: 0 }, copy: false }));
    }),
  ),
];

export function deviceCases({ producer }: Subject, environment: Environment): Case[] {
  if (producer?.makeOn === undefined || !hasForm(producer, 'external') || environment.peer === undefined) return [];
  return casesFrom(rows, { producer, environment, peer: environment.peer });
}
