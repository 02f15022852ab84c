import { type Device, Tensor } from 'dlpack';
import { addressOf, exchangeApi } from 'dlpack/native';
import {
  currentStream,
  DataType,
  type FFIFunction,
  fromEnvAlloc,
  fromNDAlloc,
  loadModule,
  Shape,
  setAllocator,
  withStream,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { testWith } from '../../harness.js';
import { caught, ffiMissing, kernelsMissing, kernelsPath, probe, raises } from './peer.js';

testWith(ffiMissing, 'withStream sets the stream of a device and restores the previous stream', () => {
  equal(currentStream('cuda:1'), 0n);
  const result = withStream('cuda:1', 0x1234n, () => {
    equal([currentStream('cuda:1'), currentStream('cuda:0')], [0x1234n, 0n]);
    withStream('cuda:1', 2n ** 63n, () => equal(currentStream('cuda:1'), 2n ** 63n));
    equal(currentStream('cuda:1'), 0x1234n);
    return 'done';
  });
  equal([result, currentStream('cuda:1')], ['done', 0n]);
  let message = '';
  try {
    withStream('cuda:1', 5n, () => {
      throw new RangeError('inside');
    });
  } catch (error) {
    message = (error as Error).message;
  }
  equal([message, currentStream('cuda:1')], ['inside', 0n]);
});

testWith(ffiMissing, 'a stream does not leak over an await', async () => {
  let inside = 0n;
  let after = 1n;
  await withStream('cuda:0', 7n, async () => {
    inside = currentStream('cuda:0');
    await Promise.resolve();
    after = currentStream('cuda:0');
  });
  equal([inside, after], [7n, 0n]);
});

testWith(ffiMissing, 'wrong streams and devices throw', () => {
  throws('TypeError', 'a bigint', () => withStream('cuda:0', 1 as never, () => {}));
  throws('ValueError', '64-bit', () => withStream('cuda:0', -1n, () => {}));
  throws('UnsupportedDeviceError', 'gpu', () => currentStream('gpu:0' as Device));
});

testWith(kernelsMissing, 'a kernel sees the stream that the host set', () => {
  const x = Tensor.from([1], { dtype: 'float32' });
  equal(probe('stream_of')(x), 0);
  withStream('cpu', 99n, () => equal(probe('stream_of')(x), 99));
});

testWith(kernelsMissing, "kernels allocate with this package's allocator", () => {
  const iota = loadModule(kernelsPath).iota as FFIFunction;
  const y = iota(4) as Tensor<'float32'>;
  ok(y instanceof Tensor);
  equal([y.toArray(), y.dtype, y.device], [[0, 1, 2, 3], 'float32', 'cpu']);
  equal(addressOf(y) % 256n, 0n);
  equal((iota(0) as Tensor).shape, [0]);
  raises('ValueError', 'zero or more', () => iota(-1));
  raises('ValueError', '2^53', () => probe('allocate')(new Shape([2 ** 40, 2 ** 40]), new DataType('int8')));
});

testWith(kernelsMissing, 'kernels allocate with a JavaScript allocator', () => {
  const made: Tensor[] = [];
  const iota = loadModule(kernelsPath).iota as FFIFunction;
  setAllocator((shape, dtype, device) => {
    equal([dtype, device], ['int16', 'cpu']);
    const tensor = Tensor.zeros(shape, dtype);
    made.push(tensor);
    return tensor;
  });
  try {
    const y = probe('allocate')(new Shape([2, 3]), new DataType('int16')) as Tensor<'int16'>;
    equal([y.shape, y.dtype, made.length], [[2, 3], 'int16', 1]);
    equal(addressOf(y), addressOf(made[0] as Tensor));
    equal(addressOf(fromEnvAlloc([2], 'int16')), addressOf(made[1] as Tensor));
    const refused = new RangeError('no memory today');
    setAllocator(() => {
      throw refused;
    });
    equal(caught(() => probe('allocate')(new Shape([1]), new DataType('int8'))) === refused, true);
    setAllocator((() => 5) as never);
    throws('TypeError', 'a Tensor', () => probe('allocate')(new Shape([1]), new DataType('int8')));
    throws('TypeError', 'a Tensor', () => fromEnvAlloc([2], 'int16'));
    // Kernels write the memory that they requested.
    for (const wrong of [
      () => Tensor.zeros([1], 'float32'),
      () => Tensor.zeros([4], 'int8'),
      () => Tensor.zeros([8], 'float32').slice([null, null, 2]),
      () => Tensor.wrap(new Float32Array(4), { readonly: true }),
    ]) {
      setAllocator(wrong);
      throws('BufferError', 'a writable row-major tensor of float32 [4]', () => iota(4));
    }
    setAllocator(allocatorAddress());
    equal(fromEnvAlloc([2, 3], 'float64').nbytes, 48);
    equal((probe('allocate')(new Shape([1]), new DataType('int8')) as Tensor).nbytes, 1);
  } finally {
    setAllocator(null);
  }
  equal((probe('allocate')(new Shape([5]), new DataType('int8')) as Tensor).nbytes, 5);
  throws('TypeError', 'a function', () => setAllocator('malloc' as never));
});

testWith(kernelsMissing, 'a JavaScript allocator refuses even if the caller passed no error callback', () => {
  setAllocator(() => Tensor.zeros([1], 'float32'));
  try {
    equal(probe('allocate_without_errors')(), -1);
  } finally {
    setAllocator(null);
  }
});

/** The C allocator of the exchange table, read out of it. */
function allocatorAddress(): bigint {
  const table = fromNDAlloc({ allocData: () => exchangeApi(), freeData() {} }, [7], 'uint64', 'cpu');
  return (table as Tensor<'uint64'>).get(2) as bigint;
}

testWith(kernelsMissing, 'another host keeps its allocator', () => {
  equal(
    probe('host_allocator')(() => probe('type_of')(1)),
    1,
  );
});

testWith(kernelsMissing, 'nothing asks the custom allocator of TVM-FFI, so there is none to set', () => {
  const counted = (action: () => void) => probe('count_allocations')(action);
  equal(
    counted(() => probe('ask_allocator')()),
    1,
  );
  const made = counted(() => {
    probe('keep')(Tensor.from([1, 2]));
    probe('keep')(new Map<string, unknown>([['a text of some length', [1, 2, new Shape([3])]]]));
    probe('keep')(() => 2n ** 100n);
    probe('make_tensor')(4);
    probe('forget')();
  });
  equal(made, 0, 'TVM-FFI asks its allocator now: see docs/design/tvm-ffi.md');
});

testWith(kernelsMissing, 'objects of this package leave their memory to their own deleters', () => {
  for (const value of [Tensor.from([1, 2]), () => 1]) {
    for (let call = 0; call < 3; call++) equal(probe('has_empty_header')(value as never), true);
  }
});
