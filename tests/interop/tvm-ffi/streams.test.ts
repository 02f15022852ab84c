/** The stream of a call, chosen by its first tensor that is not on the host. Another addon makes the tensors, so no device is needed. */

import { type Device, parseDevice, Tensor } from 'dlpack';
import { importManaged } from 'dlpack/native';
import {
  callAsync,
  currentStream,
  type FFIFunction,
  followTorchStream,
  getGlobalFunc,
  loadModule,
  setStreamProvider,
  withStream,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { testWith } from '../../harness.js';
import { peer, peerMissing } from '../../native/peer.js';
import { caught, kernelsMissing, probe, probePath, raises, testing } from './peer.js';

const missing = kernelsMissing || peerMissing;

/** A tensor that claims to be on a device; its memory is never accessed. */
function deviceTensor(device: Device): Tensor {
  const { type, id } = parseDevice(device);
  return importManaged(peer.makeVersioned({ shape: [1n], code: 2, bits: 32, device: type, deviceId: id }));
}

/** Runs the action with a provider; returns the devices that the provider was called with. */
function provided<T>(provider: (device: Device) => bigint | null, action: () => T): { asked: Device[]; result: T } {
  const asked: Device[] = [];
  setStreamProvider((device) => {
    asked.push(device);
    return provider(device);
  });
  try {
    return { asked, result: action() };
  } finally {
    setStreamProvider(null);
  }
}

const kinds: Device[] = [
  'cuda:0',
  'cuda:7',
  'cuda_host',
  'cuda_managed',
  'opencl:0',
  'vulkan:1',
  'metal:0',
  'vpi:0',
  'rocm:3',
  'rocm_host',
  'ext_dev:5',
  'oneapi:0',
  'webgpu:0',
  'hexagon:0',
  'maia:0',
  'trn:2',
];

for (const device of kinds) {
  testWith(missing, `the stream of a call with a tensor on ${device}`, () => {
    const x = deviceTensor(device);
    const { asked } = provided(
      () => 0x1234n,
      () => {
        equal([probe('stream_of')(x), currentStream(device)], [0x1234, 0n]);
        equal([probe('stream_of')(x.view()), currentStream(device)], [0x1234, 0n]);
        raises('RuntimeError', `on stream ${0x1234}`, () => probe('stream_then_fail')(x));
        equal(currentStream(device), 0n);
      },
    );
    equal(asked, [device, device, device]);
    // The provider was not called, so no stream was set.
    equal(probe('stream_of')(x), 0);
    withStream(device, 5n, () => equal(probe('stream_of')(x), 5));
  });
}

testWith(missing, 'the current stream of PyTorch', () => {
  const asked: number[] = [];
  const torch = {
    cuda: {
      current_stream: (id: number) => {
        asked.push(id);
        return { cuda_stream: id === 0 ? 0 : 0x7f00_0000_1000 };
      },
    },
  };
  followTorchStream(torch);
  try {
    equal(probe('stream_of')(deviceTensor('cuda:1')), 0x7f00_0000_1000);
    withStream('cuda:0', 5n, () => equal(probe('stream_of')(deviceTensor('cuda:0')), 0));
    withStream('rocm:0', 6n, () => equal(probe('stream_of')(deviceTensor('rocm:0')), 6));
    equal(asked, [1, 0]);
  } finally {
    setStreamProvider(null);
  }
  equal(probe('stream_of')(deviceTensor('cuda:1')), 0);
  throws('TypeError', 'torch', () => followTorchStream(5 as never));
});

testWith(missing, 'the first device tensor decides, wherever it is in the arguments', () => {
  const host = Tensor.zeros([1], 'float32');
  const first = deviceTensor('rocm:1');
  const second = deviceTensor('cuda:0');
  const streamAt = (): number[] => [probe('stream_at')(10, 1), probe('stream_at')(2, 0)] as number[];
  let inside: number[] = [];
  const look = () => {
    inside = streamAt();
  };
  const calls: [string, () => unknown][] = [
    ['after the host', () => testing('apply')(look, host, first, second)],
    ['in an array', () => testing('apply')(look, [host, [first]], second)],
    ['in a map', () => testing('apply')(look, new Map([['x', first]]), second)],
  ];
  for (const [name, call] of calls) {
    const { asked } = provided((device) => (device === 'rocm:1' ? 0x10n : 0x20n), call);
    equal([asked, inside, streamAt()], [['rocm:1'], [0x10, 0], [0, 0]], name);
  }
  const { asked } = provided(
    () => 1n,
    () => testing('apply')(look, host, 3, 'text'),
  );
  equal([asked, inside], [[], [0, 0]]);
});

testWith(missing, "calls inside callbacks set their stream and restore the outer call's stream", () => {
  const outer = deviceTensor('cuda:1');
  const inner = deviceTensor('cuda:1');
  const streams: unknown[] = [];
  let next = 0x10n;
  provided(
    () => next,
    () => {
      testing('apply')(() => {
        streams.push(Number(currentStream('cuda:1')));
        // A call without a device tensor uses the stream of the outer call.
        streams.push(probe('stream_at')(2, 1));
        next = 0x20n;
        streams.push(probe('stream_of')(inner));
        raises('RuntimeError', `on stream ${0x20}`, () => probe('stream_then_fail')(inner));
        streams.push(Number(currentStream('cuda:1')));
        const deeper = caught(() =>
          testing('apply')(() => {
            streams.push(Number(currentStream('cuda:1')));
            throw new RangeError('deeper');
          }, inner),
        );
        ok(deeper instanceof RangeError);
        streams.push(Number(currentStream('cuda:1')));
      }, outer);
    },
  );
  equal([streams, currentStream('cuda:1')], [[0x10, 0x10, 0x20, 0x10, 0x20, 0x10], 0n]);
});

testWith(missing, 'the stream that withStream set is restored', () => {
  const x = deviceTensor('cuda:1');
  withStream('cuda:1', 3n, () => {
    provided(
      () => 4n,
      () => equal([probe('stream_of')(x), currentStream('cuda:1')], [4, 3n]),
    );
    // A provider that returns null leaves the stream unchanged.
    provided(
      () => null,
      () => equal([probe('stream_of')(x), currentStream('cuda:1')], [3, 3n]),
    );
  });
  equal(currentStream('cuda:1'), 0n);
});

testWith(missing, 'a provider that throws, lies or calls kernels itself', () => {
  const x = deviceTensor('cuda:0');
  let message = '';
  try {
    provided(
      () => {
        throw new RangeError('no stream today');
      },
      () => probe('stream_of')(x),
    );
  } catch (error) {
    message = (error as Error).message;
  }
  equal([message, currentStream('cuda:0')], ['no stream today', 0n]);
  for (const lie of [5, 'x', undefined as never]) {
    const call = () =>
      provided(
        () => lie as never,
        () => probe('stream_of')(x),
      ).result;
    if (lie === undefined) equal(call(), 0);
    else throws('TypeError', 'a bigint', call);
  }
  throws('ValueError', '64-bit', () =>
    provided(
      () => -1n,
      () => probe('stream_of')(x),
    ),
  );
  const y = deviceTensor('rocm:0');
  const { asked, result } = provided(
    (device) => (device === 'rocm:0' ? 8n : BigInt(probe('stream_of')(y) as number) + 1n),
    () => probe('stream_of')(x),
  );
  equal([asked, result, currentStream('cuda:0'), currentStream('rocm:0')], [['cuda:0', 'rocm:0'], 9, 0n, 0n]);
});

async function rejects(promise: Promise<unknown>, text: string): Promise<void> {
  let message = '';
  try {
    await promise;
  } catch (error) {
    message = (error as Error).message;
  }
  ok(message.includes(text), message);
}

testWith(missing, 'calls on other threads have the stream and leave no stream on either thread', async () => {
  const x = deviceTensor('ext_dev:1');
  const streamOf = probe('stream_of');
  const { asked, result } = provided(
    () => 0x77n,
    () => [callAsync(streamOf, x), callAsync(probe('stream_then_fail') as FFIFunction, x), callAsync(streamOf, x)],
  );
  // At once, because it may finish before the others.
  const rejection = rejects(result[1] as Promise<unknown>, `on stream ${0x77}`);
  equal([asked.length, currentStream('ext_dev:1')], [3, 0n]);
  equal(await result[0], 0x77);
  await rejection;
  equal(await result[2], 0x77);
  // More calls than the pool has threads, so the stream was restored on each thread.
  const after = Array.from({ length: 16 }, () => callAsync(probe('stream_at'), 12, 1));
  equal(new Set(await Promise.all(after)), new Set([0]));
  await rejects(
    provided(
      () => 5 as never,
      () => callAsync(streamOf, x),
    ).result,
    'a bigint',
  );
  equal(await callAsync(streamOf, x), 0);
});

testWith(missing, 'device tensors come back on their device and are released once', () => {
  const before = peer.deletions();
  const x = deviceTensor('cuda:3');
  const y = testing('echo')(x) as Tensor;
  equal([y.device, y.shape], ['cuda:3', [1]]);
  x.dispose();
  const z = testing('echo')(y) as Tensor;
  equal([z.device, peer.deletions()], ['cuda:3', before]);
  for (const tensor of [y, z]) tensor.dispose();
  equal(peer.deletions(), before + 1);
});

testWith(missing, 'the provider disposes a tensor of the call, and another takes its handle', () => {
  const device = deviceTensor('ext_dev:2');
  const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
  const taken: Tensor[] = [];
  const provider = () => {
    if (taken.length > 0) return 0n;
    x.dispose();
    taken.push(Tensor.from([7, 8, 9], { dtype: 'float32' }));
    return 0n;
  };
  const { result } = provided(provider, () => getGlobalFunc('ffi.Array')(x, device));
  const [first] = result as [Tensor];
  equal([x.isDisposed, first.toArray(), taken[0]?.toArray()], [true, [1, 2, 3], [7, 8, 9]]);
});

testWith(missing, 'the provider disposes the function of an asynchronous call', async () => {
  const device = deviceTensor('ext_dev:3');
  const fn = loadModule(probePath).stream_of as FFIFunction;
  const provider = () => {
    fn.dispose();
    return 0n;
  };
  const { result } = provided(provider, () => callAsync(fn, device));
  await rejects(result, 'a live object or function');
});
