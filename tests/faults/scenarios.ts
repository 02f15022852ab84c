/**
 * The package's operations in small steps, for tests in which an allocation fails. A step disposes everything that it makes, and may fail only
 * with a typed error.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DLPACK, fromDLPack, Tensor } from 'dlpack';
import { emptyCache, liveCounts, setDebug } from 'dlpack/debug';
import { exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import { describeTensor, openTensor, shareTensor } from 'dlpack/shared';
import { fromNDAlloc } from 'dlpack/tvm-ffi';

export type Steps = Record<string, () => unknown>;

const folder = mkdtempSync(join(tmpdir(), 'dlpack-faults-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const file = (): string => join(mkdtempSync(join(folder, 'step-')), 'file');

const core: Steps = {
  allocate() {
    using x = Tensor.from([[1, 2, 3], [4, 5, 6]]); // biome-ignore format: a table
    using y = Tensor.zeros([1 << 19], 'float32'); // pages of the system
    return [x.get(0, 0), y.get(5), x.data.length];
  },
  manyTensors() {
    const all: Tensor[] = [];
    try {
      for (let i = 0; i < 40; i++) all.push(Tensor.from([i]));
    } finally {
      for (const x of all) x.dispose();
    }
  },
  exchange() {
    using x = Tensor.from([1, 2, 3]);
    using y = importManaged(exportManaged(x));
    using z = fromDLPack({ [DLPACK]: () => x[DLPACK]({ native: true } as never) });
    releaseManaged(exportManaged(x.slice([0, 2])));
    return [y.get(0), z.get(0)];
  },
  manyAxes() {
    using x = Tensor.zeros(new Array(30).fill(1), 'int8');
    importManaged(exportManaged(x)).dispose();
  },
  javaScriptMemory() {
    using shared = Tensor.wrap(new Int32Array(new SharedArrayBuffer(16)));
    importManaged(exportManaged(shared, { copy: false })).dispose();
    using adopted = Tensor.adopt(new Float32Array([1, 2]));
    importManaged(exportManaged(adopted)).dispose();
    using wrapped = Tensor.wrap(new Float32Array([1, 2]));
    importManaged(exportManaged(wrapped)).dispose();
  },
  freeData() {
    using memory = Tensor.zeros([16], 'uint8');
    const data = memory.data.buffer as ArrayBuffer;
    using x = fromNDAlloc({ allocData: () => data, freeData() {} } as never, [4], 'float32');
    importManaged(exportManaged(x)).dispose();
  },
  copies() {
    using x = Tensor.zeros([1 << 18], 'float32');
    using half = x.astype('float16');
    using back = half.astype('float32');
    using turned = x.reshape([512, 512]).transpose().contiguous();
    return [back.get(1), turned.get(1, 1)];
  },
  async copiesOnThreads() {
    using x = Tensor.zeros([1 << 16], 'float32');
    using half = await x.astypeAsync('float16');
    return half.get(1);
  },
  token() {
    using x = Tensor.from([1, 2]);
    const token = shareTensor(x);
    try {
      openTensor(structuredClone(token)).dispose();
    } finally {
      token.revoke();
    }
  },
  sharedMemory() {
    using x = Tensor.empty([4], 'float32', { shareable: true });
    openTensor(describeTensor(x)).dispose();
  },
  traces() {
    setDebug(true);
    try {
      using x = Tensor.from([1, 2]);
      const address = exportManaged(x);
      try {
        liveCounts();
      } finally {
        releaseManaged(address);
      }
    } finally {
      setDebug(false);
    }
  },
};

/** Writes a tensor of so many elements, opens it and reads one. */
async function readBack(length: number): Promise<number> {
  const { openNpySync, writeNpy } = await import('dlpack/files');
  const path = file();
  using x = Tensor.zeros([length], 'float64');
  await writeNpy(path, x);
  using y = openNpySync(path);
  return y.get(0) as number;
}

const files: Steps = {
  small: () => readBack(3),
  mapped: () => readBack(100_000),
  async refused() {
    const { openNpySync } = await import('dlpack/files');
    const path = file();
    writeFileSync(path, 'no array');
    try {
      openNpySync(path).dispose();
    } catch (error) {
      if ((error as { tag?: string }).tag === undefined) throw error;
    }
  },
};

const python = async (): Promise<Steps> => {
  const { python: start, callAsync, callTensorAsync, kwargs } = await import('dlpack/python');
  const py = start();
  return {
    values() {
      const echo = py.eval('lambda *a, **k: [a, k]');
      const long = 'ü'.repeat(3000);
      using all = echo(
        1,
        2n ** 80n,
        1.5,
        long,
        new Uint8Array(3000),
        null,
        [1, ['x'], { a: [2] }],
        kwargs({ [long]: long }),
      );
      const text = py.import('builtins').str(all) as unknown as string;
      const bytes = py.eval('bytes(5000)') as unknown as Uint8Array;
      return [text.length, bytes.length, py.eval('2 ** 5000')];
    },
    manyArguments() {
      using sum = py.eval('lambda *a: list(a)');
      using list = sum(...Array.from({ length: 60 }, (_, i) => i));
      return list.length;
    },
    errors() {
      try {
        py.eval('1 / 0');
      } catch (error) {
        return String(error);
      }
    },
    tensors() {
      const np = py.import('numpy');
      using x = Tensor.from([[1, 2, 3], [4, 5, 6]]); // biome-ignore format: a table
      using there = np.from_dlpack(x);
      using back = fromDLPack(there);
      using asArray = np.asarray(x);
      using converted = py.tensor(x, np.ndarray);
      using transposed = py.tensor(x.transpose(), np.ndarray);
      using wide = np.asarray(Tensor.zeros(new Array(12).fill(1), 'float32'));
      return [back.get(0, 0), asArray, converted, transposed, wide];
    },
    buffers() {
      using x = fromDLPack(py.import('builtins').memoryview(py.eval('bytearray(16)')));
      return x.size;
    },
    callbacks() {
      using apply = py.eval('lambda f, x: f(x, key=x)');
      return apply((x: number) => x + 1, 2);
    },
    throwingCallback() {
      using apply = py.eval('lambda f: f()');
      try {
        apply(() => {
          throw new RangeError('mine');
        });
      } catch (error) {
        if ((error as { tag?: string }).tag === undefined) throw error;
      }
    },
    async async() {
      using x = Tensor.from([1, 2, 3]);
      const long = 'x'.repeat(3000);
      using echo = py.eval('lambda *a: list(a)');
      const list = (await callAsync(echo, x, long, [1, [long]], new Uint8Array(3000))) as { [Symbol.dispose](): void };
      list[Symbol.dispose]();
      using apply = py.eval('lambda f: f(1)');
      await callAsync(apply, (n: number) => n + 1);
      await callAsync(py.eval('lambda: "y" * 3000'));
      using zeros = await callTensorAsync(py.import('numpy').zeros, 3);
      return zeros.size;
    },
  };
};

const kernels = fileURLToPath(new URL('../../kernels/', import.meta.url));

const tvmFfi = async (): Promise<Steps> => {
  const ffi = await import('dlpack/tvm-ffi');
  const probe = ffi.loadModule(join(kernels, 'probe.so')) as Record<string, (...args: unknown[]) => unknown>;
  const module = ffi.loadModule(join(kernels, 'kernels.so')) as Record<string, (...args: unknown[]) => unknown>;
  const { add_one, iota, fail } = module as Record<'add_one' | 'iota' | 'fail', (...args: unknown[]) => unknown>;
  const call = (name: string, ...args: unknown[]): unknown => (probe[name] as (...args: unknown[]) => unknown)(...args);
  class Item {}
  ffi.registerObject('dlpack.faults.Item', Item);
  return {
    kernel() {
      using x = Tensor.from([1, 2, 3], { dtype: 'float32' });
      using y = Tensor.zeros([3], 'float32');
      add_one(x, y);
      return y.get(0);
    },
    results() {
      (iota(5) as Tensor).dispose();
      (call('make_tensor', 5) as Tensor).dispose();
    },
    values() {
      const long = 'z'.repeat(3000);
      try {
        call('keep', [1, long, new Map([[long, [2n ** 60n]]]), new ffi.Shape([1, 2]), new Uint8Array(3000)]);
        return call('kept');
      } finally {
        call('forget');
      }
    },
    errors() {
      try {
        fail('y'.repeat(3000));
      } catch (error) {
        if ((error as { tag?: string }).tag === undefined) throw error;
      }
    },
    callbacks() {
      using x = Tensor.from([1, 2, 3], { dtype: 'float32' });
      const back = call('call_then_return', () => 1, x) as Tensor;
      if (back !== x) back.dispose();
      const view = call('with_view', (y: Tensor) => y.shape[0], x);
      return [view, call('call_with_many', (...args: number[]) => args.length, 40)];
    },
    throwingCallback() {
      try {
        call('call_then_return', () => {
          throw new RangeError('mine');
        });
      } catch (error) {
        if ((error as { tag?: string }).tag === undefined && !(error instanceof RangeError)) throw error;
      }
    },
    containers() {
      const list = new ffi.List<unknown>([1, 'a text that is an object', [2]]);
      list.push('z'.repeat(300), new Map([[1, 2]]));
      list.splice(1, 1, 'another text that is an object');
      const dict = new ffi.Dict([['a key that is an object', list]]);
      const copies = [list.toArray(), dict.toMap(), [...dict.keys()], String(list), new ffi.ArrayView([list])];
      list.clear();
      dict.clear();
      return copies;
    },
    opaque() {
      call('keep', new ffi.Opaque({}));
      try {
        return call('kept');
      } finally {
        call('forget');
      }
    },
    allocator() {
      (call('allocate', new ffi.Shape([2, 3]), 'float32') as Tensor).dispose();
    },
    objects() {
      const item = new Item();
      const list = new ffi.List([item, item, [item]]);
      try {
        call('keep', item);
        return [list.at(0) === item, call('kept') === item];
      } finally {
        call('forget');
        list.clear();
      }
    },
    functions() {
      ffi.registerGlobalFunc('dlpack.faults', (x: number) => x + 1, { override: true });
      try {
        return ffi.getGlobalFunc('dlpack.faults')(1);
      } finally {
        try {
          ffi.removeGlobalFunc('dlpack.faults');
        } catch {
          ffi.removeGlobalFunc('dlpack.faults'); // the first attempt failed
        }
      }
    },
  };
};

const cuda = async (): Promise<Steps> => {
  const { CudaEvent, loadDriver, Stream } = await import('dlpack/cuda');
  const { fake, fakeDriverPath } = await import('../cuda/fake.js');
  loadDriver({ path: fakeDriverPath });
  fake.configure({ queriesRun: true });
  return {
    memory() {
      using x = Tensor.from([1, 2, 3]);
      using there = x.to('cuda:0');
      using turned = there.reshape([1, 3]).transpose().contiguous();
      using back = turned.to('cpu');
      using pinned = Tensor.empty([4], 'int8', { device: 'cuda_host' });
      using managed = Tensor.empty([4], 'int8', { device: 'cuda_managed' });
      emptyCache('cuda:0');
      return [back.get(0, 0), pinned.size, managed.size];
    },
    streams() {
      using stream = new Stream();
      using event = new CudaEvent();
      using x = stream.use(() => Tensor.zeros([16], 'float32', { device: 'cuda:0' }));
      event.record(stream);
      using other = new Stream();
      other.wait(event);
      importManaged(exportManaged(x)).dispose();
      stream.synchronize();
    },
    async async() {
      using x = Tensor.from([1, 2, 3]);
      using there = await x.toAsync('cuda:0');
      using back = await there.toAsync('cpu');
      using stream = new Stream();
      await stream.done();
      return back.get(0);
    },
    exchange() {
      using x = Tensor.zeros([16], 'float32', { device: 'cuda:0' });
      using y = openTensor(describeTensor(x));
      return y.shape;
    },
  };
};

const onnxruntime = async (): Promise<Steps> => {
  await import('../onnxruntime/library.js');
  const { loadSession } = await import('dlpack/onnxruntime');
  const { makeGraph, makeModel } = await import('../interop/libraries/model.js');
  const relu = makeModel('Relu', 1, 'float32');
  const values = makeGraph({
    nodes: [
      { op: 'Identity', inputs: ['text'], outputs: ['copy'] },
      { op: 'SequenceConstruct', inputs: ['x', 'x'], outputs: ['list'] },
      {
        op: 'ZipMap',
        inputs: ['x'],
        outputs: ['maps'],
        domain: 'ai.onnx.ml',
        attributes: { classlabels_strings: ['cat', 'dog'] },
      },
    ],
    inputs: { text: { tensor: 8, shape: ['n'] }, x: { tensor: 1, shape: ['m', 2] } },
    outputs: {
      copy: { tensor: 8, shape: ['n'] },
      list: { sequence: { tensor: 1 } },
      maps: { sequence: { map: [8, { tensor: 1, shape: [] }] } },
    },
    mlOpset: 1,
    metadata: { author: 'me' },
  });
  return {
    async load() {
      using session = await loadSession(relu, { threads: 1, config: { 'session.disable_prepacking': '1' } });
      return session.inputs;
    },
    async run() {
      using session = await loadSession(relu, { threads: 1 });
      using x = Tensor.zeros([2, 2], 'float32');
      using y = (await session.run({ x })).y as Tensor;
      using turned = session.runSync({ x: x.transpose() }).y as Tensor;
      using given = Tensor.zeros([2, 2], 'float32');
      await session.run({ x }, { outputs: { y: given }, config: { 'memory.enable_memory_arena_shrinkage': '' } });
      return [y.get(0, 0), turned.get(0, 0)];
    },
    async largeOutput() {
      using session = await loadSession(relu, { threads: 1 });
      using x = Tensor.zeros([512, 512], 'float32');
      using y = (await session.run({ x })).y as Tensor; // pages of the system
      return y.get(0, 0);
    },
    async otherValues() {
      using session = await loadSession(values, { threads: 1 });
      using x = Tensor.zeros([2, 2], 'float32');
      const { list } = await session.run({ text: ['a', 'a text that is longer than others'], x });
      for (const each of list as Tensor[]) each.dispose();
    },
    async stopped() {
      using session = await loadSession(relu, { threads: 1, concurrency: 1 });
      using x = Tensor.zeros([64, 64], 'float32');
      const controller = new AbortController();
      const runs = Array.from({ length: 4 }, () => session.run({ x }, { signal: controller.signal }));
      controller.abort();
      for (const outcome of await Promise.allSettled(runs)) {
        if (outcome.status === 'fulfilled') (outcome.value.y as Tensor).dispose();
      }
    },
  };
};

export const scenarios = {
  core: () => Promise.resolve(core),
  files: () => Promise.resolve(files),
  python,
  'tvm-ffi': tvmFfi,
  cuda,
  onnxruntime,
} as const;

export type Scenario = keyof typeof scenarios;
