/** Cases for tensors in GPUBuffers, on two GPUDevices: section 4.3 of docs/spec.md. */

import type { ManagedTensor } from '../protocol/managed.js';
import { type Case, casesFrom, expect, must, passes, type Row, skip, thrown } from './case.js';
import type { Environment } from './environment.js';
import { flagsOf, type Producer, type ProducerContext, release } from './exports.js';
import { type Buffer, bufferOf, type Device, devicesOf, readBuffer, Usage } from './gpu.js';
import { absent, type Changes, type Probe, type ProbeOptions, probe } from './probe.js';
import { matrix, type Recipe, recipes, widthOf } from './recipes.js';
import { checkManaged, dlpack, gather, holds, IS_COPIED, placesOf, READ_ONLY } from './reference.js';
import { hasForm, type Subject, type Taken } from './subject.js';
import { type ConsumerContext, checkDeleted, checkRefused, checkTaken, consume } from './takes.js';

interface GpuData {
  readonly gpuBuffer: Buffer;
  readonly gpuDevice: object;
}
const gpuOf = ({ data }: ManagedTensor): GpuData => data as unknown as GpuData;

function makeOn({ producer }: ProducerContext, device: Device, recipe: Recipe = matrix): Producer {
  const tensor = passes(`a tensor of ${recipe.name}`, () => producer.make(recipe, device));
  return (tensor ?? skip(`the library has no ${recipe.name} tensors on WebGPU`)) as Producer;
}

const exported = (tensor: Producer, request?: object): ManagedTensor =>
  checkManaged(passes('an export', () => tensor[dlpack](request)));

async function checkElements(device: Device, managed: ManagedTensor, recipe: Recipe = matrix): Promise<void> {
  const { shape, strides, dtype, byteOffset } = managed;
  const bytes = await readBuffer(device, gpuOf(managed).gpuBuffer);
  const places = placesOf(shape, strides as readonly number[]);
  const found = gather(bytes, byteOffset, widthOf(dtype, recipe.isPadded), places);
  expect(holds(recipe, found), `the bytes ${recipe.bytes}`, `received ${found}`);
}

/** Exports a matrix on the first GPUDevice, and releases it after `body`. */
async function withExport(
  context: ProducerContext,
  request: object | undefined,
  body: (managed: ManagedTensor, device: Device, tensor: Producer) => void | Promise<void>,
): Promise<void> {
  const [device] = devicesOf(context.environment);
  const tensor = makeOn(context, device);
  const managed = exported(tensor, request);
  try {
    await body(managed, device, tensor);
  } finally {
    release(managed);
    context.producer.dispose?.(tensor);
  }
}

/** The export of a tensor that was disposed after it. */
function disposed(context: ProducerContext, device: Device): ManagedTensor {
  const tensor = makeOn(context, device);
  const managed = exported(tensor);
  if (context.producer.dispose === undefined) skip('its tensors cannot be disposed');
  context.producer.dispose(tensor);
  return managed;
}

const refuses = (id: string, section: string, title: string, request: object): Row<ProducerContext> =>
  must(id, section, title, (context) => {
    const tensor = makeOn(context, devicesOf(context.environment)[0]);
    thrown('an error', () => tensor[dlpack](request));
  });

const gpuRecipes = recipes.filter(({ name }) => ['f32', 'scalar', 'i32', 'u32', 'f16', 'u8'].includes(name));
const needed = Usage.storage | Usage.copySource;

const producerRows: readonly Row<ProducerContext>[] = [
  must('gp.data', '4.3', 'exports a GPUBuffer with its GPUDevice, on a device of type 15', (context) =>
    withExport(context, undefined, (managed, device) => {
      expect(managed.device.type === 15, 'device type 15', `received ${managed.device.type}`);
      expect(gpuOf(managed).gpuDevice === device, 'the GPUDevice of the tensor', 'received another');
    }),
  ),
  must(
    'gp.buffer',
    '4.3.2',
    'exports a buffer with STORAGE and COPY_SRC, a size that 4 divides, and not mapped',
    (context) =>
      withExport(context, undefined, (managed) => {
        const { usage, size, mapState } = gpuOf(managed).gpuBuffer;
        expect(managed.byteOffset % 4 === 0, 'a byteOffset that 4 divides', `it is ${managed.byteOffset}`);
        expect((usage & needed) === needed, 'STORAGE | COPY_SRC', `usage is ${usage}`);
        expect(size % 4 === 0, 'a size that 4 divides', `it is ${size}`);
        expect(mapState === 'unmapped', 'a buffer that is not mapped', `it is ${mapState}`);
      }),
  ),
  ...gpuRecipes.map((recipe) =>
    must<ProducerContext>(
      `gp.values.${recipe.name}`,
      '4.3.3',
      `has submitted the elements of ${recipe.name}`,
      async (context) => {
        const [device] = devicesOf(context.environment);
        const managed = exported(makeOn(context, device, recipe));
        await checkElements(device, managed, recipe);
        release(managed);
      },
    ),
  ),
  must('gp.copy.true', '2.1', 'copies on the GPUDevice with copy: true', (context) =>
    withExport(context, { copy: true }, async (managed, device, tensor) => {
      const own = exported(tensor);
      const isSame = gpuOf(own).gpuBuffer === gpuOf(managed).gpuBuffer;
      release(own);
      expect(!isSame, 'another buffer', 'received the same');
      expect((flagsOf(managed) & IS_COPIED) !== 0, 'IS_COPIED', `flags are ${flagsOf(managed)}`);
      await checkElements(device, managed);
    }),
  ),
  must('gp.copy.false', '2.1', 'shares its buffer with copy: false', (context) =>
    withExport(context, { copy: false }, (managed, _, tensor) => {
      const again = exported(tensor, { copy: false });
      const isSame = gpuOf(again).gpuBuffer === gpuOf(managed).gpuBuffer;
      release(again);
      expect(isSame, 'the same buffer', 'received another');
    }),
  ),
  must('gp.id', '2.4.3', 'ignores the id of a request for WebGPU', (context) =>
    withExport(context, { device: { type: 15, id: 77 } }, (managed, device) =>
      expect(gpuOf(managed).gpuDevice === device, 'the GPUDevice of the tensor', 'received another'),
    ),
  ),
  must('gp.device', '2.4.4', 'shares with a consumer on the same GPUDevice', (context) => {
    const [gpuDevice] = devicesOf(context.environment);
    return withExport(context, { device: { type: 15, id: 0 }, gpuDevice, copy: false }, () => {});
  }),
  must('gp.device.other', '2.4.4', 'copies to another GPUDevice, or refuses', (context) => {
    const [first, second] = devicesOf(context.environment);
    const tensor = makeOn(context, first);
    let answer: ManagedTensor;
    try {
      answer = tensor[dlpack]({ device: { type: 15, id: 0 }, gpuDevice: second }) as ManagedTensor;
    } catch {
      return;
    }
    const { gpuDevice } = gpuOf(checkManaged(answer));
    release(answer);
    expect(gpuDevice === second, 'the GPUDevice of the request', 'received another');
  }),
  refuses('gp.host', '2.1', 'refuses to share with host memory', { device: { type: 1, id: 0 }, copy: false }),
  refuses('gp.stream', '2.2', 'refuses a stream', { stream: 1n }),
  refuses('gp.stream.-1', '2.2', 'refuses the stream -1n, too', { stream: -1n }),
  refuses('gp.only', '2', 'refuses native: "only"', { native: 'only' }),
  must('gp.lifetime', '4.3.4', 'does not destroy the buffer before the deleter', async (context) => {
    const [device] = devicesOf(context.environment);
    const managed = disposed(context, device);
    await checkElements(device, managed);
    release(managed);
  }),
  must(
    'gp.lifetime.recycle',
    '4.3.4',
    'does not give the buffer to another tensor before the deleter',
    async (context) => {
      const [device] = devicesOf(context.environment);
      const { dispose } = context.producer;
      if (dispose === undefined) skip('its tensors cannot be disposed');
      const managed = disposed(context, device);
      const other = { ...matrix, bytes: matrix.bytes.map((byte) => byte ^ 0x3f) };
      const made = Array.from({ length: 4 }, () => makeOn(context, device, other));
      await checkElements(device, managed);
      release(managed);
      for (const tensor of made) dispose(tensor);
    },
  ),
  must('gp.deleter.twice', '5.3', 'tolerates a second call of its deleter', async (context) => {
    const [device] = devicesOf(context.environment);
    const tensor = makeOn(context, device);
    const [first, second] = [exported(tensor), exported(tensor)];
    if (first.deleter == null) skip('its exports have no deleter');
    release(first);
    passes('a second call that does nothing', () => release(first));
    context.producer.dispose?.(tensor);
    await checkElements(device, second);
    release(second);
  }),
  must('gp.lost', '4.3.5', 'refuses when its GPUDevice was lost', async (context) => {
    const { makeGPUDevice } = context.environment;
    if (makeGPUDevice === undefined) skip('needs a GPUDevice that it may destroy');
    const device = (await makeGPUDevice()) as Device;
    const tensor = makeOn(context, device);
    device.destroy();
    await device.lost;
    thrown('an error', () => tensor[dlpack]());
  }),
];

/** A probe with the elements of the matrix in a GPUBuffer. */
function gpuProbe(
  device: Device,
  changes: (data: GpuData) => Changes = () => ({}),
  options: Pick<ProbeOptions, 'wrap' | 'onDelete'> = {},
): Probe {
  const data = { gpuBuffer: bufferOf(device, matrix.bytes), gpuDevice: device };
  return probe({ ...options, changes: { data, device: { type: 15, id: 0 }, ...changes(data) }, copies: false });
}

const accepts = (
  id: string,
  section: string,
  title: string,
  changes: (data: GpuData) => Changes,
  places: readonly number[] = [0, 1, 2, 3, 4, 5],
): Row<ConsumerContext> =>
  must(id, section, title, async (context) => {
    const tested = gpuProbe(devicesOf(context.environment)[0], changes);
    const taken = passes('a tensor', () => consume(context, tested.producer));
    const shape = tested.answer.shape as number[];
    await checkTaken(taken, { ...matrix, shape, bytes: gather(matrix.bytes, 0, 32, places) });
    taken.release();
    await checkDeleted(tested);
  });

const refusesData = (id: string, section: string, title: string, changes: (data: GpuData) => Changes) =>
  must<ConsumerContext>(id, section, title, async (context) => {
    const [device] = devicesOf(context.environment);
    await withoutErrors(device, async () => void (await checkRefused(context, gpuProbe(device, changes))));
  });

/** Runs `body`, which must not make the GPUDevice report an error. */
async function withoutErrors(device: Device, body: () => Promise<void>): Promise<void> {
  device.pushErrorScope('validation');
  let reported: { readonly message: string } | null = null;
  try {
    await body();
  } finally {
    reported = await device.popErrorScope();
  }
  expect(reported === null, 'no validation error', `the GPUDevice reports ${reported?.message}`);
}

const consumerRows: readonly Row<ConsumerContext>[] = [
  accepts('gk.values', '4.3', 'takes a tensor in a GPUBuffer', () => ({})),
  accepts('gk.id', '2.4.3', 'does not compare the id', () => ({ device: { type: 15, id: 77 } })),
  accepts(
    'gk.layout.transpose',
    '3.7',
    'reads a transposed tensor',
    () => ({ shape: [3, 2], strides: [1, 3] }),
    [0, 3, 1, 4, 2, 5],
  ),
  accepts(
    'gk.layout.slice',
    '3.7',
    'reads a tensor that begins inside the buffer',
    () => ({ shape: [2, 2], byteOffset: 4 }),
    [1, 2, 4, 5],
  ),
  accepts(
    'gk.layout.flip',
    '3.7',
    'reads a reversed tensor',
    () => ({ shape: [6], strides: [-1], byteOffset: 20 }),
    [5, 4, 3, 2, 1, 0],
  ),
  accepts(
    'gk.layout.broadcast',
    '3.7',
    'reads repeated rows',
    () => ({ strides: [0, 1], byteOffset: 12 }),
    [3, 4, 5, 3, 4, 5],
  ),
  accepts('gk.layout.step', '3.7', 'reads every second element', () => ({ shape: [3], strides: [2] }), [0, 2, 4]),
  accepts('gk.layout.scalar', '3.6', 'reads a scalar', () => ({ shape: [], strides: [], byteOffset: 8 }), [2]),
  accepts('gk.layout.empty', '3.12', 'takes a tensor without elements', () => ({ shape: [0, 3] }), []),
  must('gk.usage', '4.3.2', 'uses a buffer only as its usage allows', async (context) => {
    const [device] = devicesOf(context.environment);
    const gpuBuffer = bufferOf(device, matrix.bytes, needed);
    await withoutErrors(device, async () => {
      const tested = gpuProbe(device, () => ({ data: { gpuBuffer, gpuDevice: device } }));
      const taken = passes('a tensor', () => consume(context, tested.producer));
      await checkTaken(taken);
      taken.release();
      await checkDeleted(tested);
    });
  }),
  must('gk.once', '5.1', 'refuses a managed tensor that it consumed before', async (context) => {
    const [device] = devicesOf(context.environment);
    let first: unknown;
    const tested = gpuProbe(device, undefined, {
      wrap: (managed) => {
        first ??= managed;
        return first;
      },
    });
    const taken = passes('a tensor', () => consume(context, tested.producer));
    thrown('an error', () => consume(context, tested.producer).release());
    taken.release();
    await checkDeleted(tested);
  }),
  must('gk.submitted', '4.3.4', 'has submitted its work when it calls the deleter', async (context) => {
    const [device] = devicesOf(context.environment);
    const destroy = () => (tested.answer.data as GpuData).gpuBuffer.destroy();
    const tested: Probe = gpuProbe(device, undefined, { onDelete: destroy });
    await withoutErrors(device, async () => {
      const taken = passes('a tensor', () => consume(context, tested.producer));
      const reading = taken.bytes();
      taken.release();
      const found = await reading;
      expect(holds(matrix, found), `the bytes ${matrix.bytes}`, `received ${found}`);
      await checkDeleted(tested);
    });
  }),
  must('gk.reexport.order', '5.6', 'keeps the first tensor until its own export was released', async (context) => {
    const tested = gpuProbe(devicesOf(context.environment)[0]);
    const taken = passes('a tensor', () => consume(context, tested.producer));
    const managed = exported((taken.tensor ?? skip('the library is no producer itself')) as Producer);
    taken.release();
    expect(tested.deleted === 0, 'no call of the first deleter', `it had ${tested.deleted}`);
    release(managed);
    if (managed.deleter != null) await checkDeleted(tested);
  }),
  must('gk.device.other', '4.3.1', 'refuses a tensor of another GPUDevice, or stages it', async (context) => {
    const [first, second] = devicesOf(context.environment);
    const tested = gpuProbe(second);
    let taken: Taken;
    try {
      taken = consume(context, tested.producer, { gpuDevice: first });
    } catch {
      return checkDeleted(tested);
    }
    await checkTaken(taken);
    taken.release();
    await checkDeleted(tested);
  }),
  refusesData('gk.bad.device', '3.9', 'refuses a GPUBuffer on the CPU', () => ({ device: { type: 1, id: 0 } })),
  refusesData('gk.bad.noDevice', '4.3', 'refuses a GPUBuffer without its GPUDevice', ({ gpuBuffer }) => ({
    data: { gpuBuffer },
  })),
  refusesData('gk.bad.nullDevice', '4.3', 'refuses a GPUBuffer with GPUDevice null', ({ gpuBuffer }) => ({
    data: { gpuBuffer, gpuDevice: null },
  })),
  refusesData('gk.bad.bare', '3.4', 'refuses a bare GPUBuffer', ({ gpuBuffer }) => ({ data: gpuBuffer })),
  refusesData('gk.bad.outside', '3.11', 'refuses elements behind the buffer', () => ({ byteOffset: 4 })),
  refusesData('gk.bad.unaligned', '4.3.2', 'refuses a byteOffset inside an element', () => ({
    shape: [1],
    strides: [1],
    byteOffset: 2,
  })),
  refusesData('gk.bad.before', '3.11', 'refuses elements before the buffer', () => ({ strides: [-3, 1] })),
  refusesData('gk.bad.version', '3.2', 'refuses another major version', () => ({ version: [2, 0] })),
  refusesData('gk.bad.address', '3.9', 'refuses an address on WebGPU', () => ({ data: 4096n })),
  refusesData('gk.bad.buffer', '3.9', 'refuses a JavaScript buffer on WebGPU', () => ({ data: new ArrayBuffer(24) })),
  must('gk.readonly', '5.6', 'passes READ_ONLY on', (context) => {
    const tested = gpuProbe(devicesOf(context.environment)[0], () => ({ flags: READ_ONLY, deleter: absent }));
    const taken = passes('a tensor', () => consume(context, tested.producer));
    const managed = exported((taken.tensor ?? skip('the library is no producer itself')) as Producer);
    const flags = flagsOf(managed);
    release(managed);
    taken.release();
    expect((flags & READ_ONLY) !== 0, 'READ_ONLY', `flags are ${flags}`);
  }),
];

export function webgpuCases({ producer, consumer }: Subject, environment: Environment): Case[] {
  return [
    ...(producer !== undefined && hasForm(producer, 'gpuBuffer')
      ? casesFrom(producerRows, { producer, environment })
      : []),
    ...(consumer !== undefined && hasForm(consumer, 'gpuBuffer')
      ? casesFrom(consumerRows, { consumer, environment })
      : []),
  ];
}
