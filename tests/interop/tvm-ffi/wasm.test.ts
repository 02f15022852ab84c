import { Tensor } from 'dlpack';
import { type FFIFunction, loadModule } from 'dlpack/tvm-ffi';
import { WasmHeap } from 'dlpack/wasm';
import { equal, throws } from '../../assert.js';
import { testWith } from '../../harness.js';
import { kernelsMissing, kernelsPath, probe } from './peer.js';

/** A memory with an allocator that never frees, and a tensor in it. */
function make(): { memory: WebAssembly.Memory; x: Tensor<'float32'> } {
  const memory = new WebAssembly.Memory({ initial: 1 });
  let next = 64;
  const malloc = (size: number): number => {
    next += 64 * Math.ceil(size / 64);
    return next;
  };
  return { memory, x: new WasmHeap({ memory, malloc, free() {} }).empty([4], 'float32').fill(0) };
}

testWith(
  kernelsMissing,
  'each call uses the current address of a WebAssembly memory, which may move when it grows',
  () => {
    const addOne = loadModule(kernelsPath).add_one as FFIFunction;
    // Bun moves most memories, but not the first ones of a process. Node moves none of them.
    for (const { memory, x } of Array.from({ length: 16 }, make)) {
      for (let i = 0; i < 4; i++) {
        addOne(x, x);
        memory.grow(16);
      }
      equal(x.toArray(), [4, 4, 4, 4]);
    }
  },
);

testWith(kernelsMissing, 'a WebAssembly memory that grows during a call ends the call', () => {
  const { memory, x } = make();
  const read = (view: Tensor<'float32'>): number => view.get(0) + Math.min(memory.grow(1), 0);
  throws('DisposedError', 'grew', () => probe('invoke_times')(read, 2, x, 0, 0));
  (loadModule(kernelsPath).add_one as FFIFunction)(x, x);
  equal(x.get(0), 1, 'the next call finds it');
});

testWith(
  kernelsMissing,
  'a memory with a property buffer of its own: its code does not run while arguments are checked',
  () => {
    const { memory, x } = make();
    const own = new Float32Array([1, 2, 3, 4]);
    const getBuffer = Object.getOwnPropertyDescriptor(WebAssembly.Memory.prototype, 'buffer')?.get;
    let reads = 0;
    Object.defineProperty(memory, 'buffer', {
      get() {
        if (reads++ === 3) structuredClone(own.buffer, { transfer: [own.buffer] });
        return getBuffer?.call(memory);
      },
    });
    (loadModule(kernelsPath).add_one as FFIFunction)(Tensor.wrap(own), x);
    equal(
      [x.toArray(), [...own]],
      [
        [2, 3, 4, 5],
        [1, 2, 3, 4],
      ],
    );
  },
);
