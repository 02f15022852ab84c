/** `__dlpack__` and its streams between our tensors and Python, on the fake driver. */

import { DLPACK, DLPACK_DEVICE, fromDLPack, Tensor } from 'dlpack';
import {
  asCudaArray,
  fromCudaArrayInterface,
  loadDriver,
  Stream,
  synchronize,
  toCudaArrayInterface,
} from 'dlpack/cuda';
import { emptyCache } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { callTensorAsync, type PyObject, PythonError } from 'dlpack/python';
import { equal, ok, throws } from '../assert.js';
import { testWith } from '../harness.js';
import { probe, py, pythonMissing } from '../interop/python/available.js';
import { fake, fakeDriver, fakeDriverPath, fakeMissing, made } from './fake.js';

const missing = fakeMissing || pythonMissing;
if (missing === false) {
  fake.setDevices(2);
  loadDriver({ path: fakeDriverPath });
  py.exec(`
class Wrapper:
    """A producer without an exchange table: __dlpack__ only."""
    def __init__(self, tensor): self.tensor = tensor; self.calls = []
    def __dlpack_device__(self):
        self.calls.append("device")
        return self.tensor.__dlpack_device__()
    def __dlpack__(self, **keywords):
        self.calls.append(repr(sorted(keywords.items())))
        return self.tensor.__dlpack__(**keywords)
class Old(Wrapper):
    """As before version 1: stream, and nothing else."""
    def __dlpack__(self, *, stream=None):
        self.calls.append(f"stream {stream}")
        return self.tensor.__dlpack__(stream=stream)
class Silent(Wrapper):
    def __dlpack_device__(self): raise RuntimeError("not telling")
class Odd(Wrapper):
    def __dlpack_device__(self): return "somewhere"
`);
}
const main = missing === false ? py.import('__main__') : (null as never);
const numpy = probe('numpy');

function pyTest(name: string, body: () => void | Promise<void>, without: string | false = false): void {
  testWith(missing || without, name, async () => {
    fake.reset();
    await body();
    equal(fake.errors(), []);
  });
}

function floats(count = 24): { x: Tensor; late: Tensor } {
  const x = Tensor.from(new Float32Array(count).map((_, i) => i)).to('cuda:0');
  const late = Tensor.from(new Float32Array(count).fill(8)).to('cuda:0');
  synchronize();
  return { x, late };
}

function raises(type: string, text: string, action: () => unknown): void {
  try {
    action();
  } catch (error) {
    ok(error instanceof PythonError && error.type === type && error.message.includes(text), String(error));
    return;
  }
  throw new Error(`expected ${type}`);
}

const calls = (wrapper: PyObject): string[] => [...wrapper.calls];
const values = (t: Tensor): unknown => t.to('cpu').toArray();
const dlpack = missing === false ? py.eval('lambda t, **k: t.__dlpack__(**k)') : (null as never);

pyTest('stream numbers of the array API', () => {
  const { x } = floats();
  const stream = new Stream();
  for (const number of [null, -1, 1, 2, stream.handle]) dlpack(x, py.kwargs({ stream: number }));
  for (const number of [0, -2, 2n ** 70n])
    raises('ValueError', 'stream', () => dlpack(x, py.kwargs({ stream: number })));
  raises('TypeError', '', () => dlpack(x, py.kwargs({ stream: '1' })));
  raises('ValueError', 'host memory', () => dlpack(Tensor.from([1]), py.kwargs({ stream: 1 })));
  raises('TypeError', 'keyword', () => dlpack(x, py.kwargs({ streams: 1 })));
});

pyTest("the producer makes the consumer's stream wait, and -1 means no wait", () => {
  const { x, late } = floats();
  const [work, consumer] = [new Stream(), new Stream()];
  const waits = (stream: bigint | number | null): string[] => {
    fake.reset();
    fake.delay(work.handle);
    work.use(() => x.copyFrom(late));
    dlpack(x, py.kwargs({ stream }));
    const on = stream === null ? 1n : BigInt(stream);
    const pending = on < 0n ? [] : fake.pending(on);
    fake.release(work.handle);
    synchronize();
    return pending;
  };
  equal(waits(consumer.handle).includes('wait'), true);
  equal(waits(null).includes('wait'), true);
  equal(waits(1).includes('wait'), true);
  const before = fake.calls('cuStreamWaitEvent');
  dlpack(x, py.kwargs({ stream: -1 }));
  equal(fake.calls('cuStreamWaitEvent'), before);
});

for (const kind of ['of its thread', 'that blocks', 'that does not block'] as const) {
  pyTest(`work that a consumer queues on a stream ${kind} ends before the memory is used again`, () => {
    const own = new Stream();
    const flags = kind === 'that blocks' ? 0 : 1;
    const theirs = kind === 'of its thread' ? 2n : made(fakeDriver, 'cuStreamCreateWithPriority', flags, 0);
    const target = made(fakeDriver, 'cuMemAlloc_v2', 64);
    const x = own.use(() => Tensor.zeros([16], 'float32', { device: 'cuda:0' }));
    synchronize();
    const capsule = dlpack(x, py.kwargs({ stream: theirs }));
    // After the hand-over, on a stream that only an event orders with ours.
    fake.delay(theirs);
    fakeDriver.must('cuMemcpyAsync', target, addressOf(x), 64, theirs);
    const address = addressOf(x);
    capsule[Symbol.dispose]();
    py.exec('pass');
    x.dispose();
    const next = own.use(() => Tensor.zeros([16], 'float32', { device: 'cuda:0' }).fill(9));
    equal(addressOf(next), address, 'the same block');
    fake.runAll();
    fake.release(theirs);
    synchronize();
    equal([...fake.peek(target, 4)], [0, 0, 0, 0]);
    for (const owned of [next, own]) owned.dispose();
    fakeDriver.must('cuMemFree_v2', target);
    if (theirs !== 2n) fakeDriver.must('cuStreamDestroy_v2', theirs);
  });
}

pyTest('a driver that refuses the wait is a BufferError', () => {
  const { x, late } = floats();
  const [work, consumer] = [new Stream(), new Stream()];
  work.use(() => x.copyFrom(late));
  fake.failNext('cuStreamWaitEvent', 2);
  raises('BufferError', 'CUDA_ERROR_OUT_OF_MEMORY', () => dlpack(x, py.kwargs({ stream: consumer.handle })));
});

pyTest('a copy on the device, handed over to the consumer', () => {
  const { x, late } = floats();
  const [work, consumer] = [new Stream(), new Stream()];
  fake.delay(work.handle);
  work.use(() => x.copyFrom(late));
  const wrapper = main.Wrapper(x.reshape([4, 6]).transpose());
  const copy = consumer.use(() => fromDLPack(wrapper, { copy: true }));
  fake.release(work.handle);
  equal([copy.device, copy.shape, copy.strides, copy.isCopied], ['cuda:0', [6, 4], [4, 1], true]);
  ok(addressOf(copy) !== addressOf(x));
  const again = consumer.use(() => copy.copy());
  equal((values(again) as number[][])[5], [8, 8, 8, 8]);
});

pyTest('copies keep every element, whatever the strides and the size', () => {
  const source = Tensor.from(
    new Int16Array(120).map((_, i) => i),
    { shape: [2, 3, 4, 5] },
  );
  const x = source.to('cuda:0');
  const lanes = Tensor.empty([3, 2], 'float32x3', { device: 'cuda:0' });
  const views = [
    x,
    x.transpose(),
    x.flip(),
    x.slice([0, 1], null, [1, 4, 2]),
    x.transpose([0, 2, 1, 3]),
    x.slice(1, 2, 3, 4),
  ];
  for (const view of views) {
    for (const device of [undefined, 'cpu'] as const) {
      const copy = fromDLPack(main.Wrapper(view), { copy: true, ...(device === undefined ? {} : { device }) });
      equal([copy.shape, copy.device, copy.isCopied], [view.shape, device ?? 'cuda:0', true]);
      equal(values(copy), values(view));
    }
  }
  const turned = fromDLPack(main.Wrapper(lanes.transpose()), { copy: true });
  equal([turned.shape, turned.dtype], [[2, 3], 'float32x3']);
  const managed = Tensor.empty([4], 'int32', { device: 'cuda_managed' });
  managed.fill(6);
  const copied = fromDLPack(main.Wrapper(managed), { copy: true });
  synchronize();
  equal([copied.device, copied.toArray()], ['cuda_managed', [6, 6, 6, 6]]);
  const packed = Tensor.from([1, 0, 1, 1, 0, 1, 0, 1, 1, 1], { dtype: 'uint1' }).to('cuda:0');
  equal(values(fromDLPack(main.Wrapper(packed), { copy: true })), [1, 0, 1, 1, 0, 1, 0, 1, 1, 1]);
  throws('UnsupportedDTypeError', "to('cpu')", () =>
    fromDLPack(main.Wrapper(packed.slice([0, 10, 2])), { copy: true }),
  );
  const empty = fromDLPack(main.Wrapper(Tensor.empty([0, 3], 'int8', { device: 'cuda:0' })), { device: 'cpu' });
  equal([empty.shape, empty.device], [[0, 3], 'cpu']);
});

pyTest('a copy ignores the stride of an axis of length 1, whose bytes fit no integer', () => {
  const base = Tensor.from(new Float64Array(5 * 256).map((_, i) => i)).to('cuda:0');
  const x = fromDLPack({
    [DLPACK]: () => ({
      version: [1, 3],
      flags: 0,
      data: addressOf(base),
      byteOffset: 0,
      shape: [1, 3],
      strides: [Number.MAX_SAFE_INTEGER, 2],
      dtype: { code: 2, bits: 64, lanes: 256 },
      device: { type: 2, id: 0 },
      deleter: null,
    }),
    [DLPACK_DEVICE]: () => ({ type: 2, id: 0 }),
  });
  const copy = fromDLPack(main.Wrapper(x), { copy: true, device: 'cpu' });
  const rows = copy.toArray() as number[][][];
  equal(
    rows[0]?.map((row) => row[0]),
    [0, 512, 1024],
  );
  x.dispose();
});

pyTest(
  'a copy on the host, synchronised, for NumPy',
  () => {
    const { x, late } = floats();
    const work = new Stream();
    work.use(() => x.copyFrom(late));
    const array = numpy.module.from_dlpack(x.reshape([4, 6]), py.kwargs({ device: 'cpu' }));
    equal(array.tolist().__len__(), 4);
    equal(array.sum().item(), 192);
    const host = dlpack(x, py.kwargs({ dl_device: py.tuple(1, 0), max_version: py.tuple(1, 0) }));
    equal(String(host).includes('dltensor_versioned'), true);
    raises('BufferError', 'copy', () => dlpack(x, py.kwargs({ dl_device: py.tuple(1, 0), copy: false })));
    raises('BufferError', 'own device', () => dlpack(x, py.kwargs({ dl_device: py.tuple(2, 1) })));
    raises('BufferError', 'own device', () => dlpack(Tensor.from([1]), py.kwargs({ dl_device: py.tuple(2, 0) })));
  },
  numpy.missing,
);

pyTest('copies that fail release everything', () => {
  const { x } = floats();
  for (const [symbol, tag] of [
    ['cuMemAllocFromPoolAsync', 'BufferError'],
    ['cuMemcpyAsync', 'BufferError'],
  ] as const) {
    emptyCache();
    const { pool } = fake.live();
    fake.failNext(symbol, 201);
    raises(tag, 'CUDA_ERROR_INVALID_CONTEXT', () => dlpack(x, py.kwargs({ copy: true })));
    emptyCache();
    equal([symbol, fake.live().pool], [symbol, pool]);
  }
  fake.failNext('cuStreamSynchronize', 700);
  raises('BufferError', 'CUDA', () => dlpack(x, py.kwargs({ dl_device: py.tuple(1, 0) })));
});

pyTest('a copy larger than any memory is refused, not wrapped around', () => {
  // A little over 2^64 bits, which a 64-bit product would turn into half a megabyte.
  const length = Number((2n ** 58n - 1024n) / 65535n + 1n);
  for (const device of ['cuda:0', 'cpu'] as const) {
    const x = Tensor.zeros([1], 'float64x65535', { device });
    const repeated = x.broadcastTo([length]);
    raises('BufferError', '2^63 bits', () => dlpack(repeated, py.kwargs({ copy: true })));
  }
});

pyTest('as a consumer we pass our current stream', () => {
  const { x } = floats();
  const stream = new Stream();
  const wrapper = main.Wrapper(x);
  fromDLPack(wrapper);
  stream.use(() => fromDLPack(wrapper));
  equal(calls(wrapper), [
    'device',
    "[('max_version', (1, 3)), ('stream', 1)]",
    'device',
    `[('max_version', (1, 3)), ('stream', ${stream.handle})]`,
  ]);
  const old = main.Old(x);
  const y = stream.use(() => fromDLPack(old));
  equal(calls(old), ['device', `stream ${stream.handle}`]);
  equal(addressOf(y), addressOf(x));
  const second = main.Wrapper(Tensor.empty([2], 'int8', { device: 'cuda:1' }));
  stream.use(() => fromDLPack(second));
  equal(calls(second)[1], "[('max_version', (1, 3)), ('stream', 1)]");
});

pyTest('host tensors get no stream, nor do tensors without __dlpack_device__', () => {
  const host = main.Wrapper(Tensor.from([1, 2]));
  equal(fromDLPack(host).toArray(), [1, 2]);
  equal(calls(host), ['device', "[('max_version', (1, 3))]"]);
  const { x } = floats();
  for (const kind of [main.Silent, main.Odd]) {
    const wrapper = kind(x);
    fromDLPack(wrapper);
    equal(calls(wrapper), ["[('max_version', (1, 3))]"]);
  }
});

pyTest('a delayed producer shows no race, by capsule and by exchange table', () => {
  const { x, late } = floats();
  const [work, consumer, third] = [new Stream(), new Stream(), new Stream()];
  const identity = py.eval('lambda t: t');
  for (const source of [main.Wrapper(x), main.Old(x), identity(x)]) {
    x.fill(0);
    synchronize();
    fake.delay(work.handle);
    work.use(() => x.copyFrom(late));
    const y = consumer.use(() => fromDLPack(source));
    // Used on yet another stream.
    const copy = third.use(() => y.copy());
    fake.release(work.handle);
    equal((values(copy) as number[])[0], 8);
    equal(fake.errors(), []);
  }
});

pyTest(
  '__dlpack_device__ of NumPy arrays is not called',
  () => {
    py.exec(
      'import numpy\nclass Counted(numpy.ndarray):\n  asked = 0\n  def __dlpack_device__(self):\n    Counted.asked += 1\n    return (1, 0)',
    );
    const np = numpy.module;
    equal(fromDLPack(np.arange(3)).size, 3);
    const counted = np.arange(3).view(main.Counted);
    fromDLPack(counted);
    equal(main.Counted.asked, 1);
  },
  numpy.missing,
);

pyTest('the table names our current stream', () => {
  // tvm-ffi and PyTorch call it; ctypes stands in for them.
  py.exec(`
import ctypes
def current_stream(address, device_type, device_id):
    table = ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))(table[6])
    out = ctypes.c_void_p(77)
    return out.value if call(device_type, device_id, ctypes.byref(out)) == 0 else "failed", out.value
`);
  const address = py.eval('lambda t: type(t).__c_dlpack_exchange_api__')(floats().x);
  const current = (type: number, id: number): unknown => [...main.current_stream(address, type, id)][1];
  const stream = new Stream();
  equal([current(2, 0), current(1, 0), current(13, 0)], [null, null, null]);
  stream.use(() => equal([current(2, 0), current(1, 0), current(2, 1)], [Number(stream.handle), null, null]));
});

function readonlyOf(x: Tensor): Tensor {
  const description = toCudaArrayInterface(x);
  return fromCudaArrayInterface({ ...description, data: [description.data[0], true] }, x);
}

// CuPy itself needs a GPU (tests/gpu). Here a module with its names records the calls.
pyTest("a CuPy array by its class keeps the tensor, and CuPy's stream waits for our work", () => {
  py.exec(`
import sys, types
class UnownedMemory:
    def __init__(self, ptr, size, owner, device_id): self.args, self.owner = (ptr, size, device_id), owner
class MemoryPointer:
    def __init__(self, mem, offset): self.mem, self.offset, self.ptr = mem, offset, mem.args[0] + offset
class ndarray:
    __module__ = "cupy"
    def __init__(self, shape, dtype, memptr, strides=None):
        self.shape, self.dtype, self.memptr, self.strides = shape, dtype, memptr, strides
        self.data, self._c_contiguous = memptr, strides is None
# A descriptor of the type that CuPy's has. Reading it from an array fails, so only the attributes describe one.
ndarray.__cuda_array_interface__ = UnownedMemory.__dict__["__dict__"]
class CupyStream:
    ptr = 0
class Cupy:
    asked, fails, hook = [], False, None
    def get_current_stream(device=-1):
        Cupy.asked.append(device)
        if Cupy.hook is not None: Cupy.hook()
        if Cupy.fails: raise RuntimeError("no stream")
        return CupyStream
    def from_dlpack(tensor): return "from_dlpack"
package, cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")
package.ndarray, package.cuda, package.from_dlpack = ndarray, cuda, Cupy.from_dlpack
cuda.UnownedMemory, cuda.MemoryPointer, cuda.get_current_stream = UnownedMemory, MemoryPointer, Cupy.get_current_stream
util = types.ModuleType("cupy._util")
util.CUDA_ARRAY_INTERFACE_EXPORT_VERSION = 3
sys.modules["cupy"], sys.modules["cupy.cuda"], sys.modules["cupy._util"] = package, cuda, util
`);
  const { x, late } = floats();
  const type = main.ndarray;
  const stream = new Stream();
  const theirs = stream.handle;
  py.exec(`CupyStream.ptr = ${theirs}`);
  fake.delay(1n);
  x.copyFrom(late); // on the default stream, still to run
  const array = py.tensor(x.reshape([4, 6]), type);
  ok(fake.pending(theirs).includes('wait'), 'their stream waits for ours');
  fake.release(1n);
  equal([[...array.shape], String(array.dtype), array.strides], [[4, 6], 'float32', null]);
  equal([...array.memptr.mem.args].map(Number), [Number(addressOf(x)), 96, 0]);
  equal(array.memptr.offset, 0);
  const view = py.tensor(x.reshape([4, 6]).slice([3, 0, -1], [1, 6, 2]), type);
  equal([[...view.shape], [...view.strides], view.memptr.offset], [[3, 3], [-24, 8], 76]);
  const read = asCudaArray(view);
  equal([read.shape, read.strides, read.dtype], [[3, 3], [-6, 2], 'float32'], 'read from the attributes');
  equal(addressOf(read), addressOf(x) + 76n);
  ok(fake.pending(0n).includes('wait') || fake.pending(1n).includes('wait'), 'our stream waits for theirs');
  read.dispose();
  equal(String(py.tensor(readonlyOf(x), type)), 'from_dlpack');
  equal(String(py.tensor(Tensor.zeros([2], 'bfloat16', { device: 'cuda:0' }), type)), 'from_dlpack');
  py.exec('CupyStream.ptr = 0');
  const second = py.tensor(Tensor.zeros([2], 'int8', { device: 'cuda:1' }), type);
  equal([[...second.memptr.mem.args][2], [...main.Cupy.asked]], [1, [0, 0, -1, 1]], 'the stream of its device');
  for (const handle of ['2 ** 64 - 1', '-5', 'None']) {
    py.exec(`CupyStream.ptr = ${handle}`);
    equal(String(py.tensor(x, type)), 'from_dlpack', `a stream that is ${handle}`);
  }
  py.exec(`CupyStream.ptr = ${theirs}; Cupy.fails = True`);
  equal(String(py.tensor(x, type)), 'from_dlpack', 'a CuPy that is not as we know it');
  py.exec('Cupy.fails = False');
  // CuPy's code may call back here: the array must have the tensor's memory, not that of a tensor that took its handle.
  const gone = floats().x;
  const place = addressOf(gone);
  let next: Tensor | undefined;
  main.Cupy.hook = () => {
    gone.dispose();
    next = floats().x;
  };
  const last = py.tensor(gone, type);
  main.Cupy.hook = null;
  equal(BigInt([...last.memptr.mem.args][0] as number), place);
  ok(next !== undefined && addressOf(next) !== place, 'its memory is kept');
  const address = addressOf(x);
  x.dispose();
  equal([...array.memptr.mem.owner.__dlpack_device__()].map(Number), [2, 0]);
  ok(fake.live().poolBytes > 0, `${address} is kept`);
  for (const object of [array, view, second, last]) object[Symbol.dispose]();
  stream.dispose();
});

pyTest('streams of Python libraries, with their property names', () => {
  py.exec(`
class ByProtocol:
    def __init__(self, handle): self.h = handle
    def __cuda_stream__(self): return (0, self.h)
class LikeTorch:
    def __init__(self, handle): self.cuda_stream = handle
class LikeCuPy:
    def __init__(self, handle): self.ptr = handle
`);
  const stream = new Stream();
  for (const name of ['ByProtocol', 'LikeTorch', 'LikeCuPy']) {
    const foreign = Stream.from(main[name](stream.handle));
    equal(foreign.handle, stream.handle, name);
    foreign.use(() => equal(Stream.current().handle, stream.handle));
  }
  throws('TypeError', 'an object with __cuda_stream__', () => Stream.from(py.import('math')));
  stream.dispose();
});

pyTest('callTensorAsync: device memory is imported on this thread, and the producer gets its stream', async () => {
  const { x } = floats();
  const wrapper = main.Wrapper(x);
  using y = await callTensorAsync(py.eval('lambda w: w'), wrapper);
  equal(y.device, 'cuda:0');
  equal(values(y), values(x));
  ok(
    calls(wrapper).some((call) => call.includes("('stream', 1)")),
    calls(wrapper).join(),
  );
});
