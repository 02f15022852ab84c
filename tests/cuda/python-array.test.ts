/** The CUDA Array Interface with Python objects, on the fake driver. */

import { fromDLPack, isDLPackError, Tensor } from 'dlpack';
import { asCudaArray, asMaskedCudaArray, fromCudaArrayInterface, loadDriver, Stream, synchronize } from 'dlpack/cuda';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { type PyObject, PythonError } from 'dlpack/python';
import { equal, ok, throws } from '../assert.js';
import { runChild } from '../child.js';
import { collectUntil, testWith } from '../harness.js';
import { py, pythonMissing } from '../interop/python/available.js';
import { fake, fakeDriverPath, fakeMissing } from './fake.js';

const missing = fakeMissing || pythonMissing;
if (missing === false) {
  fake.setDevices(2);
  loadDriver({ path: fakeDriverPath });
  py.exec(`
import gc, weakref
class Array:
    def __init__(self, entries): self.entries = entries; self.reads = 0
    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return self.entries
class Mine(dict): pass
class Raises:
    @property
    def __cuda_array_interface__(self): raise RuntimeError("requires grad")
class Index:
    def __init__(self, value): self.value = value
    def __index__(self): return self.value
class BadKey:
    def __hash__(self): return hash("shape")
    def __eq__(self, other): raise KeyError("boom")
def entries(address, **changes):
    result = dict(shape=(4, 6), typestr="<f4", data=(address, False), version=3)
    result.update(changes)
    return {k: v for k, v in result.items() if v is not Ellipsis}
`);
}

const main = missing === false ? py.import('__main__') : (null as never);
/** Read in Python, because here the result would be a new reference. */
const isGone = missing === false ? py.eval('lambda reference: reference() is None') : (null as never);
const kw = (values: Record<string, unknown>): unknown => py.kwargs(values);

function pyTest(name: string, body: () => void | Promise<void>): void {
  testWith(missing, name, async () => {
    fake.reset();
    await body();
    equal(fake.errors(), []);
  });
}

function floats(): { x: Tensor; address: bigint } {
  const x = Tensor.from(new Float32Array(24).map((_, i) => i)).to('cuda:0');
  synchronize();
  return { x, address: addressOf(x) };
}

const make = (address: bigint, changes: Record<string, unknown> = {}): PyObject =>
  main.Array(main.entries(address, kw(changes)));
/** Entries written in Python: tuples, None, whatever. */
const written = (address: bigint, changes: string): PyObject =>
  py.eval(`Array(entries(${address}${changes === '' ? '' : `, ${changes}`}))`);
const values = (t: Tensor): unknown => t.to('cpu').toArray();

pyTest('the same memory, read once, held until it is disposed', () => {
  const { x, address } = floats();
  const before = liveCounts().imports;
  const array = written(address, '');
  const alive = main.weakref.ref(array);
  const y = asCudaArray(array);
  equal([y.shape, y.strides, y.dtype, y.device, y.isReadOnly], [[4, 6], [6, 1], 'float32', 'cuda:0', false]);
  equal([addressOf(y), array.reads, liveCounts().imports], [address, 1, before + 1]);
  array[Symbol.dispose]();
  equal(isGone(alive), false);
  y.dispose();
  equal([isGone(alive), liveCounts().imports], [true, before]);
  const z = asCudaArray(written(address, ''));
  x.fill(3);
  equal((values(z) as number[][])[0], [3, 3, 3, 3, 3, 3]);
});

pyTest('entries of an interface that Python writes', () => {
  const { address } = floats();
  const take = (changes: string): unknown => {
    const y = asCudaArray(written(address, changes));
    return [y.shape, y.strides, y.dtype, y.isReadOnly];
  };
  equal(take('strides=None, descr=None, mask=None, stream=None'), [[4, 6], [6, 1], 'float32', false]);
  equal(take('strides=(24, 4), descr=[("", "<f4")], stream=1'), [[4, 6], [6, 1], 'float32', false]);
  equal(take('shape=(2, 3), strides=(48, 8)'), [[2, 3], [12, 2], 'float32', false]);
  equal(take(`shape=(24,), strides=(-4,), data=(${address + 92n}, True)`), [[24], [-1], 'float32', true]);
  equal(take('shape=[4, 6], strides=[24, 4]'), [[4, 6], [6, 1], 'float32', false]);
  equal(take('shape=(Index(4), 6)'), [[4, 6], [6, 1], 'float32', false]);
  equal(take('shape=(0, 3), data=(0, False)'), [[0, 3], [3, 1], 'float32', false]);
  equal(take('shape=(), typestr="<c16"'), [[], [], 'complex128', false]);
  for (const version of [0, 1, 2, 3, 4]) equal(take(`version=${version}, stream=${version < 3 ? 0 : 2}`), take(''));
  const subclass = main.Array(main.Mine(main.entries(address)));
  equal(asCudaArray(subclass).shape, [4, 6]);
  equal(fromCudaArrayInterface(main.entries(address)).shape, [4, 6]);
  equal(fromCudaArrayInterface(main.entries(address, kw({ typestr: '<V4' })), null, { dtype: 'int32' }).dtype, 'int32');
});

/** Python entries that are refused: the tag of the error and a part of its message. */
const malformed = [
  ['shape=...', 'TypeError', 'for shape'],
  ['shape=None', 'TypeError', 'for shape'],
  ['shape=24', 'TypeError', 'for shape'],
  ['shape=(4, "6")', 'TypeError', 'shape[1]'],
  ['shape=(4, 1.5)', 'ValueError', 'shape[1]'],
  ['shape=(4, None)', 'TypeError', 'shape[1]'],
  ['shape=(4, -6)', 'ValueError', 'zero or more'],
  ['shape=(2**70,)', 'ValueError', 'shape[0]'],
  ['shape=(1,) * 65', 'LayoutError', '64 axes'],
  ['shape=(500, 600)', 'LayoutError', 'inside the allocation'],
  ['typestr=...', 'TypeError', 'for typestr'],
  ['typestr=b"<f4"', 'TypeError', 'for typestr'],
  ['typestr="<f4\\0"', 'ValueError', 'typestr'],
  ['typestr="\\ud800"', 'ValueError', 'typestr'],
  ['typestr="ä4"', 'ValueError', 'typestr'],
  ['typestr=">f4"', 'UnsupportedDTypeError', 'little-endian'],
  ['typestr="|O8"', 'UnsupportedDTypeError', 'Python objects'],
  ['typestr="<M8[ns]"', 'UnsupportedDTypeError', 'dates'],
  ['data=...', 'TypeError', 'for data'],
  ['data=None', 'TypeError', 'for data'],
  ['data=4096', 'TypeError', 'for data'],
  ['data=(4096,)', 'ValueError', 'for data'],
  ['data=(None, False)', 'TypeError', 'data[0]'],
  ['data=("4096", False)', 'TypeError', 'data[0]'],
  ['data=(-4096, False)', 'ValueError', 'data[0]'],
  ['data=(2**64, False)', 'ValueError', 'data[0]'],
  ['data=(2**64 - 4096, False)', 'BufferError', 'does not know'],
  ['data=(0, False)', 'LayoutError', 'data is NULL'],
  ['data=(0x70000000, False)', 'BufferError', 'does not know'],
  ['data=(4096, 1)', 'TypeError', 'data[1]'],
  ['version=...', 'TypeError', 'for version'],
  ['version=None', 'TypeError', 'for version'],
  ['version="3"', 'TypeError', 'for version'],
  ['version=-1', 'ValueError', 'for version'],
  ['version=2**70', 'ValueError', 'for version'],
  ['strides=4', 'TypeError', 'for strides'],
  ['strides=(4,)', 'LayoutError', '2 strides'],
  ['strides=(24, 4, 1)', 'LayoutError', '2 strides'],
  ['strides=(26, 4)', 'LayoutError', 'multiples of 4'],
  ['strides=(-24, 4)', 'LayoutError', 'inside the allocation'],
  ['descr="a"', 'TypeError', 'for descr'],
  ['descr=[("", "<i4")]', 'ValueError', "a description of '<f4'"],
  ['descr=[("a", "<f4")]', 'ValueError', "a description of '<f4'"],
  ['descr=[("", "<f4"), ("", "<f4")]', 'ValueError', "a description of '<f4'"],
  ['descr=[5]', 'ValueError', "a description of '<f4'"],
  ['stream=0', 'ValueError', 'ambiguous'],
  ['stream=-1', 'ValueError', 'for stream'],
  ['stream="1"', 'TypeError', 'for stream'],
  ['stream=object()', 'TypeError', 'for stream'],
  ['mask=Array(1)', 'BufferError', 'asMaskedCudaArray'],
] as const;

for (const [changes, tag, text] of malformed) {
  pyTest(`malformed: ${changes}`, () => {
    const { address } = floats();
    const before = liveCounts().imports;
    const array = written(address, changes);
    const alive = main.weakref.ref(array);
    throws(tag, text, () => asCudaArray(array));
    array[Symbol.dispose]();
    equal([liveCounts().imports, isGone(alive)], [before, true]);
  });
}

pyTest('objects without an interface, or with an interface of another kind', () => {
  const before = liveCounts().imports;
  const raised = (source: PyObject): unknown => {
    try {
      asCudaArray(source);
    } catch (error) {
      return error instanceof PythonError ? error.type : isDLPackError(error) && error.tag;
    }
    return 'nothing';
  };
  equal(raised(py.eval('object()')), 'AttributeError');
  equal(raised(main.Raises()), 'RuntimeError');
  for (const value of ['None', '7', '"x"', '[]', 'object()', '{}'])
    equal(raised(py.eval(`Array(${value})`)), 'TypeError');
  equal(raised(py.eval('Array({BadKey(): 1})')), 'KeyError');
  equal(liveCounts().imports, before);
});

pyTest('a mask as its own tensor', () => {
  const { address } = floats();
  const valid = Tensor.from([true, false, true, true, false, true]).to('cuda:0');
  synchronize();
  const array = py.eval(
    `Array(entries(${address}, mask=Array(dict(shape=(6,), typestr="|b1", data=(${addressOf(valid)}, True), version=3))))`,
  );
  throws('BufferError', 'asMaskedCudaArray', () => asCudaArray(array));
  const { data, mask } = asMaskedCudaArray(array);
  equal(
    [data.shape, values(mask as Tensor)],
    [
      [4, 6],
      [true, false, true, true, false, true],
    ],
  );
});

pyTest('the stream of a Python object is waited for', () => {
  const { x, address } = floats();
  const producer = new Stream();
  const late = Tensor.from(new Float32Array(24).fill(8)).to('cuda:0');
  synchronize();
  fake.delay(producer.handle);
  producer.use(() => x.copyFrom(late));
  const copy = asCudaArray(written(address, `stream=${producer.handle}`)).copy();
  fake.release(producer.handle);
  equal((values(copy) as number[][])[0], [8, 8, 8, 8, 8, 8]);
});

pyTest('references are collected without the GIL and dropped with it', async () => {
  const { address } = floats();
  const before = liveCounts().imports;
  const alive = main.weakref.ref;
  const watched = (() => {
    const array = written(address, '');
    asCudaArray(array);
    const reference = alive(array);
    array[Symbol.dispose]();
    return reference;
  })();
  ok(await collectUntil(() => liveCounts().imports <= before));
  ok(await collectUntil(() => isGone(watched) === true));
});

pyTest('many reads leave nothing behind', () => {
  const { address } = floats();
  const array = make(address);
  const strange = written(address, 'shape=[4, 6]');
  const bad = written(address, 'shape=(500, 600)');
  const before = liveCounts().imports;
  const count = py.eval('lambda a: __import__("sys").getrefcount(a)');
  const counts = [count(array), count(strange), count(bad)];
  for (let i = 0; i < 300; i++) {
    asCudaArray(array).dispose();
    asCudaArray(strange).dispose();
    try {
      asCudaArray(bad);
    } catch {}
  }
  equal([count(array), count(strange), count(bad)], counts);
  equal([liveCounts().imports, array.reads], [before, 300]);
});

pyTest('our tensors have the interface in Python, only on devices', () => {
  const { x, address } = floats();
  const identity = py.eval('lambda t: t.__cuda_array_interface__');
  const entries = identity(x.reshape([4, 6]));
  equal([...entries.keys()].sort(), ['data', 'shape', 'stream', 'strides', 'typestr', 'version']);
  const read = py.eval(
    'lambda d: repr((d["shape"], d["typestr"], d["data"], d["version"], d["strides"], d["stream"]))',
  );
  equal(read(entries), `((4, 6), '<f4', (${address}, False), 3, None, 1)`);
  equal(read(identity(x.reshape([4, 6]).transpose())), `((6, 4), '<f4', (${address}, False), 3, (4, 24), 1)`);
  equal(read(identity(Tensor.empty([0, 3], 'bool', { device: 'cuda:0' }))), "((0, 3), '|b1', (0, False), 3, None, 1)");
  const stream = new Stream();
  equal(stream.use(() => read(identity(x))).endsWith(`None, ${stream.handle})`), true);
  const has = py.eval('lambda t: hasattr(t, "__cuda_array_interface__")');
  equal([has(x), has(Tensor.from([1])), has(Tensor.empty([2], 'int4', { device: 'cuda:0' }))], [true, false, false]);
  equal(has(Tensor.empty([2], 'int8', { device: 'cuda_managed' })), true);
  equal(has(Tensor.empty([2], 'int8', { device: 'cuda_host' })), false);
  const second = Tensor.empty([2], 'bfloat16', { device: 'cuda:1' });
  equal(read(identity(second)), `((2,), '<V2', (${addressOf(second)}, False), 3, None, 1)`);
  const readOnly = fromCudaArrayInterface({ shape: [2], typestr: '<f4', data: [address, true], version: 3 });
  equal(read(identity(readOnly)), `((2,), '<f4', (${address}, True), 3, None, 1)`);
  for (const [dtype, typestr] of [
    ['uint1', '|t1'],
    ['float8_e4m3fn', '|V1'],
    ['complex64', '<c8'],
    ['float32x4', '<V16'],
    ['handle', '<V8'],
  ] as const) {
    equal(
      py.eval('lambda t: t.__cuda_array_interface__["typestr"]')(Tensor.empty([8], dtype, { device: 'cuda:0' })),
      typestr,
    );
  }
  // Back to JavaScript, through Python.
  const back = asCudaArray(py.eval('lambda t: t')(x));
  equal([addressOf(back), back.shape], [address, [24]]);
});

pyTest('the stream that Python gets waits for all queued work', () => {
  const { x, address } = floats();
  const [a, b] = [new Stream(), new Stream()];
  const source = Tensor.from(new Float32Array(24).fill(4)).to('cuda:0');
  synchronize();
  fake.delay(a.handle);
  a.use(() => x.copyFrom(source));
  const stream = b.use(() => py.eval('lambda t: t.__cuda_array_interface__["stream"]')(x));
  equal(BigInt(stream), b.handle);
  fake.release(a.handle);
  const y = b.use(() => asCudaArray(written(address, `stream=${b.handle}`)).copy());
  equal((values(y) as number[][])[0], [4, 4, 4, 4, 4, 4]);
});

pyTest('an array outlives its interpreter call and its worker', () => {
  const result = runChild(import.meta.url, './children/array-exit.js', { env: { DLPACK_CUDA_DRIVER: fakeDriverPath } });
  equal([result.code, result.signal, result.output.trim()], [0, null, 'ended']);
});

pyTest('a thread of the pool that the watcher starts has the signal mask of the program', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/pool-signals.js');
  equal([code, signal, output], [0, null, 'true 24\n']);
});

pyTest('a getter that imports and exports other tensors in JavaScript does not mix them up', () => {
  const { x, address } = floats();
  py.exec(`
class Calls:
    def __init__(self, entries, before): self.entries, self.before = entries, before
    @property
    def __cuda_array_interface__(self):
        self.before()
        return self.entries
`);
  // The same array several times, which is remembered, and other arrays before it: with another signature, refused, and exported.
  const others = [
    () => {},
    () => fromDLPack(py.eval('__import__("numpy").arange(6)')).dispose(),
    () => asCudaArray(written(address, 'shape=(2, 3)')).dispose(),
    () => void throws('LayoutError', 'inside the allocation', () => asCudaArray(written(address, 'shape=(4000, 6)'))),
    () => void py.eval('lambda t: t')(Tensor.zeros([7, 8, 9], 'int16')),
  ];
  for (let round = 0; round < 3; round++) {
    for (const before of others) {
      using y = asCudaArray(main.Calls(main.entries(address), before));
      equal([y.shape, y.dtype, y.device, addressOf(y)], [[4, 6], 'float32', 'cuda:0', address]);
      using readonly = asCudaArray(main.Calls(py.eval(`entries(${address}, data=(${address}, True))`), before));
      equal([readonly.shape, readonly.isReadOnly], [[4, 6], true]);
    }
  }
  x.dispose();
});

pyTest(
  'another stream waits for foreign memory that is ready on the default stream, and it is released at once',
  () => {
    const { x, address } = floats();
    using ones = Tensor.zeros([24], 'float32').fill(1).to('cuda:0');
    const stream = new Stream({ device: 'cuda:0' });
    x.copyFrom(ones); // the producer's work, still queued
    const before = liveCounts().imports;
    const y = asCudaArray(written(address, 'stream=1'));
    const z = stream.use(() => y.copy());
    stream.synchronize();
    y.dispose();
    equal(liveCounts().imports, before);
    equal(values(z), new Array(4).fill(new Array(6).fill(1)));
    for (const tensor of [x, z]) tensor.dispose();
    stream.dispose();
  },
);

pyTest('fromDLPack takes an object that has only the CUDA Array Interface, like Numba arrays', async () => {
  const { address } = floats();
  const before = liveCounts().imports;
  const array = written(address, '');
  const alive = main.weakref.ref(array);
  const x = fromDLPack(array);
  const y = fromDLPack(array, { device: 'cuda:0', stream: 1n });
  equal([x.device, addressOf(x), addressOf(y)], ['cuda:0', address, address]);
  throws('BufferError', "on 'cpu'", () => fromDLPack(array, { device: 'cpu' }));
  const copy = fromDLPack(array, { copy: true });
  equal([addressOf(copy) === address, copy.to('cpu').toArray()], [false, x.to('cpu').toArray()]);
  array[Symbol.dispose]();
  equal(isGone(alive), false);
  for (const tensor of [x, y, copy]) tensor.dispose();
  // The watcher releases the memory once the copy is done.
  ok(await collectUntil(() => liveCounts().imports <= before && (isGone(alive) as boolean)));
  throws('PythonError', 'asCudaArray', () => fromDLPack(written(0n, '')));
});
