/** Work on several streams: which stream waits for which. Streams are kept busy, so that a missing wait shows. */

import { fromDLPack, Tensor } from 'dlpack';
import { asCudaArray, Stream, synchronize } from 'dlpack/cuda';
import type { PyObject } from 'dlpack/python';
import { equal, notEqual } from '../assert.js';
import { test } from '../harness.js';
import { main, py, sleep, values } from './peers.js';

const sixes = [6, 6, 6, 6];

/** An array of a library, written on its own stream after a delay. */
function busyTorch(): PyObject {
  py.exec(`
busy_stream = torch.cuda.Stream()
busy = torch.zeros(4, device='cuda')
torch.cuda.synchronize()
with torch.cuda.stream(busy_stream):
    torch.cuda._sleep(int(0.3 * 1.7e9))
    busy.fill_(6)
`);
  return main.busy;
}

function busyCupy(): PyObject {
  // CuPy compiles a kernel at its first use, and its interface names the current stream.
  py.exec(`
busy_stream = cp.cuda.Stream(non_blocking=True)
busy = cp.zeros(4, dtype=cp.float32)
busy.fill(5)
cp.cuda.runtime.deviceSynchronize()
sleep(busy_stream.ptr)
busy_stream.use()
busy.fill(6)
`);
  return main.busy;
}

test('the test itself: without waiting, the data is old', () => {
  const tensor = asCudaArray(busyCupy(), { sync: false });
  py.exec('cp.cuda.Stream.null.use()');
  notEqual(tensor.to('cpu').toArray(), sixes);
  synchronize();
  equal(tensor.to('cpu').toArray(), sixes);
});

test("DLPack: through the exchange API our stream waits for PyTorch's current stream", () => {
  const object = busyTorch();
  main.torch.cuda.set_stream(main.busy_stream);
  const tensor = fromDLPack(object);
  main.torch.cuda.set_stream(main.torch.cuda.default_stream());
  equal(tensor.to('cpu').toArray(), sixes);
});

test('DLPack: a producer that gets our stream makes it wait', () => {
  busyTorch();
  const own = new Stream();
  own.use(() => {
    py.exec('torch.cuda.set_stream(busy_stream)');
    const tensor = fromDLPack(main.Versioned(main.busy));
    py.exec('torch.cuda.set_stream(torch.cuda.default_stream())');
    equal(tensor.to('cpu').toArray(), sixes);
  });
});

test('DLPack: consumers find our tensor ready, whatever stream wrote it', () => {
  for (const take of [
    (tensor: Tensor) => main.torch.from_dlpack(tensor),
    (tensor: Tensor) => main.cp.from_dlpack(tensor),
    (tensor: Tensor) => py.tensor(tensor, main.cp.ndarray),
    (tensor: Tensor) => main.cp.asarray(main.Interface(tensor)),
  ]) {
    const own = new Stream();
    const tensor = Tensor.zeros([4], 'float32', { device: 'cuda:0' });
    synchronize();
    sleep(own.handle);
    own.use(() => tensor.fill(6));
    const object = take(tensor);
    // On the consumer's stream, without a wait for the device.
    main.__dict__.__setitem__('copied', object);
    py.exec('copied = copied + 0');
    equal(values(main.copied), sixes);
    own.dispose();
    tensor.dispose();
  }
});

test("by its class: CuPy's current stream waits, whichever stream it is", () => {
  py.exec(`
theirs = cp.cuda.Stream(non_blocking=True)
with theirs: cp.zeros(4, dtype=cp.float32) + 0
`);
  const own = new Stream();
  const tensor = Tensor.zeros([4], 'float32', { device: 'cuda:0' });
  synchronize();
  sleep(own.handle);
  own.use(() => tensor.fill(6));
  py.exec('theirs.use()');
  main.__dict__.__setitem__('copied', py.tensor(tensor, main.cp.ndarray));
  py.exec('copied = copied + 0; cp.cuda.Stream.null.use()');
  equal(values(main.copied), sixes);
  tensor.dispose();
  own.dispose();
});

test("CUDA Array Interface: the consumer waits for the producer's stream", () => {
  const tensor = asCudaArray(busyCupy());
  py.exec('cp.cuda.Stream.null.use()');
  equal(tensor.to('cpu').toArray(), sixes);
});

test('memory is not reused while a stream uses it', () => {
  const own = new Stream();
  const source = Tensor.from(Float32Array.from({ length: 1 << 20 }, (_, i) => i)).to('cuda:0');
  const target = Tensor.zeros([1 << 20], 'float32', { device: 'cuda:0' });
  synchronize();
  sleep(own.handle);
  own.use(() => target.copyFrom(source));
  source.dispose();
  for (let i = 0; i < 20; i++) {
    const other = Tensor.zeros([1 << 20], 'float32', { device: 'cuda:0' });
    other.dispose();
  }
  synchronize();
  equal(target.slice([100, 103]).to('cpu').toArray(), [100, 101, 102]);
});

test('a producer whose stream is captured into a graph', () => {
  py.exec(`
graph_stream = torch.cuda.Stream()
graph_in = torch.ones(4, device='cuda')
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
torch.cuda.set_stream(graph_stream)
graph.capture_begin()
graph_out = graph_in * 2
`);
  const tensor = fromDLPack(main.graph_out);
  const versioned = fromDLPack(main.Versioned(main.graph_out), { stream: -1n });
  const beside = new Stream();
  beside.use(() => {
    const other = Tensor.zeros([16], 'float32', { device: 'cuda:0' });
    other.fill(1);
    other.dispose();
  });
  py.exec(`
graph.capture_end()
torch.cuda.set_stream(torch.cuda.default_stream())
graph.replay()
`);
  synchronize();
  equal(tensor.to('cpu').toArray(), [2, 2, 2, 2]);
  py.exec('graph_in.fill_(5); graph.replay()');
  synchronize();
  equal(versioned.to('cpu').toArray(), [10, 10, 10, 10]);
});

test('waiting does not block the event loop', async () => {
  const own = new Stream();
  sleep(own.handle, 0.5);
  let ticks = 0;
  const timer = setInterval(() => ticks++, 5);
  await own.done();
  clearInterval(timer);
  notEqual(ticks < 10, true, `${ticks} ticks in half a second`);
});
