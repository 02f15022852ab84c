/** The CUDA Array Interface of our tensors, version 0 to 3. It keeps nothing alive. */

import { checkOptions, type OptionNames } from '../../base/options.js';
import type { DeviceInfo } from '../../device.js';
import {
  ArgumentTypeError,
  ArgumentValueError,
  isA,
  UnsupportedDeviceError,
  UnsupportedDTypeError,
} from '../../errors.js';
import type { NativeStorage } from '../../native/memory/storage.js';
import type { Descriptor } from '../../storage/descriptor.js';
import { descriptorOf, TensorView } from '../../view.js';
import { broadcastExtent } from '../../view-layout.js';
import { handOver } from '../memory/memory.js';
import { currentHandle } from '../streams/current.js';
import { onStream } from '../streams/requests.js';
import { formatTypeString } from './typestr.js';

/** How a tensor is exported. */
export interface CudaArrayExportOptions {
  /** The version of the interface, 0 to 3; 3 when absent. Before 3 it names no stream, so the call waits for work on the tensor. */
  version?: 0 | 1 | 2 | 3;
  /** false: neither waits nor names a stream, so the program must order the work itself. The default is true. */
  sync?: boolean;
  /**
   * Marks which elements are valid: a tensor on a device that broadcasts to the shape. Since version 1. All are
   * valid when absent.
   */
  mask?: TensorView;
}

const optionNames: OptionNames<CudaArrayExportOptions> = { version: true, sync: 'boolean', mask: true };

/** The interface of a tensor. */
export interface TensorCudaArrayInterface {
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** The element type as NumPy writes it, such as `<f4`. */
  readonly typestr: string;
  /** The address, and whether it is read-only. */
  readonly data: readonly [pointer: bigint, readonly: boolean];
  /** The version of the interface. */
  readonly version: number;
  /** The strides in bytes; null for row-major. */
  readonly strides: readonly number[] | null;
  /** The type string once more, as NumPy's description of a record without fields. */
  readonly descr: readonly (readonly [name: '', typestr: string])[];
  /** An object with its own interface; null when all elements are valid. Since version 1. */
  readonly mask?: TensorView | null;
  /** The stream to wait for; null for none. */
  readonly stream?: bigint | null;
}

/**
 * Describes a tensor on a device or in managed memory by the CUDA Array Interface. It keeps nothing alive, so keep the
 * tensor while the interface is in use. The data is ready for work that `stream` gets from now on.
 *
 * @param tensor - A tensor on a CUDA device or in managed memory.
 * @param options - The version of the interface (3 when absent), whether the consumer has to wait, and a mask.
 * @returns A plain object for Numba, CuPy and others.
 * @throws ArgumentTypeError if it is no tensor, and ArgumentValueError for another version than 0 to 3.
 * @throws UnsupportedDeviceError for other memory, and UnsupportedDTypeError for a dtype that the interface cannot
 *   name.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { toCudaArrayInterface } from 'dlpack/cuda';
 * const x = Tensor.zeros([2, 3], 'float32', { device: 'cuda:0' });
 * console.log(toCudaArrayInterface(x).typestr); // <f4
 * ```
 */
export function toCudaArrayInterface(
  tensor: TensorView,
  options: CudaArrayExportOptions = {},
): TensorCudaArrayInterface {
  if (!isA(tensor, TensorView)) throw new ArgumentTypeError('tensor', 'a Tensor', tensor);
  checkOptions(options, optionNames, '{ version: 2 }');
  const { version = 3, sync = true, mask = null } = options;
  if (![0, 1, 2, 3].includes(version)) throw new ArgumentValueError('version', 'a version from 0 to 3', version);
  if (mask !== null) checkMask(mask, tensor, version);
  return describeArray(descriptorOf(tensor), version, sync, mask);
}

/** Checks the mask, which has its own interface. */
function checkMask(mask: TensorView, tensor: TensorView, version: number): void {
  if (!isA(mask, TensorView)) throw new ArgumentTypeError('mask', 'a Tensor', mask);
  if (version === 0) throw new ArgumentValueError('version', 'version 1 or later for a mask', version);
  const descriptor = descriptorOf(mask);
  checkDevice(descriptor.device);
  broadcastExtent(descriptor.extent, tensor.shape);
}

/** The interface of a tensor as a property; undefined for memory that is not CUDA memory. */
export function arrayInterfaceOf(descriptor: Descriptor): TensorCudaArrayInterface | undefined {
  return isShown(descriptor.device) ? describeArray(descriptor, 3, true, null) : undefined;
}

function isShown({ kind }: DeviceInfo): boolean {
  return kind === 'cuda' || kind === 'cuda_managed';
}

function checkDevice(device: DeviceInfo): void {
  if (isShown(device)) return;
  throw new UnsupportedDeviceError(
    device.name,
    `Expected a tensor on 'cuda' or 'cuda_managed' but it is on '${device.name}'; copy it first with to('cuda:0')`,
  );
}

function describeArray(
  descriptor: Descriptor,
  version: number,
  sync: boolean,
  mask: TensorView | null,
): TensorCudaArrayInterface {
  const { device, dtype, shape, strides, isPadded, storage } = descriptor;
  checkDevice(device);
  const typestr = formatTypeString(dtype, isPadded);
  const isEmpty = shape.includes(0);
  if (dtype.isSubByte && !isPadded && !isEmpty && (!descriptor.isContiguous || descriptor.bitOffset % 8 !== 0)) {
    throw new UnsupportedDTypeError(
      dtype.name,
      `Expected packed ${dtype.name} elements in row-major order that start on a byte, because strides of the interface count bytes; call contiguous() first`,
    );
  }
  let stream: bigint | null = null;
  if (sync && !isEmpty) {
    stream = currentHandle(device.id);
    handOver(descriptor, stream);
    // Versions without a stream promise that the data is ready.
    if (version < 3) onStream('synchronizeStream', device, stream);
  }
  const step = descriptor.strideBits / 8;
  const pointer = isEmpty ? 0n : (storage as NativeStorage).address + BigInt(Math.floor(descriptor.bitOffset / 8));
  return {
    shape: [...shape],
    typestr,
    data: [pointer, descriptor.isReadOnly],
    version,
    strides: descriptor.isContiguous ? null : strides.map((stride) => stride * step + 0),
    descr: [['', typestr]],
    ...(version === 0 ? {} : { mask }),
    ...(version === 3 ? { stream } : {}),
  };
}
