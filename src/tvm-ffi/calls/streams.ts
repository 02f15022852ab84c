/** Streams: the queues for kernels of a device. They are set per thread, for the duration of a call. */

import { type StreamLike, streamHandle } from '../../base/stream.js';
import { type Device, type DeviceInfo, parseDevice } from '../../device.js';
import { ArgumentTypeError } from '../../errors.js';
import { ffi } from '../library.js';
import { library } from '../native-values.js';
import { orRaised } from '../objects/errors.js';
import { checkHandle, explicit, keeperOf, keptStream, setStreamProvider } from './call-stream.js';

/** The part of Python's module `torch` that {@link followTorchStream} uses. */
export interface TorchStreams {
  /** `torch.cuda`. */
  readonly cuda: {
    /** Returns PyTorch's current stream of a device. */
    current_stream(device: number): {
      /** Its `cudaStream_t`. */
      readonly cuda_stream: number | bigint;
    };
  };
}

/**
 * Makes calls with tensors on a CUDA device run on PyTorch's current stream of that device, like `use_torch_stream` of
 * Python's tvm_ffi: `followTorchStream(py.import('torch'))`. It is a stream provider; `setStreamProvider(null)` ends
 * it.
 *
 * @param torch - The Python module: `py.import('torch')`.
 * @throws ArgumentTypeError for anything but an object.
 * @example
 * ```ts fragment: needs a GPU with PyTorch
 * import { followTorchStream } from 'dlpack/tvm-ffi';
 * followTorchStream(py.import('torch'));
 * kernels.add_one(x, y); // on PyTorch's current stream
 * ```
 */
export function followTorchStream(torch: TorchStreams): void {
  if ((typeof torch !== 'object' && typeof torch !== 'function') || torch === null) {
    throw new ArgumentTypeError('torch', "the Python module, py.import('torch')", torch);
  }
  setStreamProvider((device) => {
    const { kind, id } = parseDevice(device);
    return kind === 'cuda' ? BigInt(torch.cuda.current_stream(id).cuda_stream) : null;
  });
}

/** Sets the stream of a device and returns the previous stream. */
function exchangeStream({ type, id }: DeviceInfo, handle: bigint): bigint {
  return orRaised(ffi.setStream(type, id, handle));
}

/**
 * Returns the current stream of a device on this thread. Kernels run on it unless a provider names another stream.
 *
 * @param device - Such as `'cuda:0'`.
 * @returns The handle; 0n is the default stream.
 * @throws UnsupportedDeviceError for an unknown device, and LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { currentStream } from 'dlpack/tvm-ffi';
 * console.log(currentStream('cuda:0')); // 0n
 * ```
 */
export function currentStream(device: Device): bigint {
  const info = parseDevice(device);
  library();
  const keeper = keeperOf(info);
  const kept = keeper === null ? 0n : keptStream(keeper, info);
  // Another host on this thread, such as Python, may have set a stream while ours is the default stream.
  return kept === 0n ? hostStream(info) : kept;
}

/** The stream that TVM-FFI has for a device on this thread; 0n when none was set. */
export function hostStream({ type, id }: DeviceInfo): bigint {
  return ffi.getStream(type, id);
}

/**
 * Runs `action` with a stream as the current stream of a device, and restores the previous stream when it returns or
 * throws. On a device of `dlpack/cuda` this is `stream.use(action)`, which kernels without tensors use, too. The caller
 * owns the stream; it is neither kept alive nor synchronised. In an async function this holds until the first `await`.
 * Code after that runs interleaved with other tasks and must set its stream itself.
 *
 * @param device - Such as `'cuda:0'`.
 * @param stream - A `Stream` of `dlpack/cuda`, the handle of a stream, or null for the current one.
 * @param action - The function.
 * @returns What the function returns.
 * @throws ArgumentTypeError or ArgumentValueError for anything but a stream. What the action throws passes unchanged.
 * @throws UnsupportedDeviceError for an unknown device, and LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { currentStream, withStream } from 'dlpack/tvm-ffi';
 * console.log(withStream('rocm:0', 5n, () => currentStream('rocm:0'))); // 5n
 * ```
 */
export function withStream<T>(device: Device, stream: StreamLike | bigint | null, action: () => T): T {
  const info = parseDevice(device);
  library();
  const keeper = keeperOf(info);
  if (keeper !== null) return keeper.use(info, stream, () => withHostStream(info, keptStream(keeper, info), action));
  const handle = stream === null ? currentStream(device) : checkHandle(streamHandle(stream));
  const handles = explicit.get(info.name) ?? [];
  explicit.set(info.name, handles);
  handles.push(handle);
  try {
    return withHostStream(info, handle, action);
  } finally {
    handles.pop();
  }
}

function withHostStream<T>(device: DeviceInfo, handle: bigint, action: () => T): T {
  const before = exchangeStream(device, handle);
  try {
    return action();
  } finally {
    exchangeStream(device, before);
  }
}
