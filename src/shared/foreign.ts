/**
 * Memory that another program shares: `multiprocessing.shared_memory` and `torch.multiprocessing` of Python, or any
 * program with named memory or a memory file.
 */

import { checkOptions, type OptionNames } from '../base/options.js';
import { cpu } from '../device.js';
import type { DType } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError, isUsable } from '../errors.js';
import { rowMajorStrides } from '../layout.js';
import { readHandle } from '../native/memory/host-sharing.js';
import { checkName, openSharedMemory, type SharedPlace, takePart } from '../native/memory/shared-memory.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { findLayout } from '../storage/layouts.js';
import { Tensor } from '../tensor.js';
import { count, rangeOf, readLayout, type TensorDescription } from './description.js';

/** A tensor in host memory of another program. Has `name`, or `process` and `file`. */
export interface ForeignTensor {
  /** The name of the memory, such as `shm.name` of Python's `SharedMemory`. */
  name?: string;
  /** The number of a process of the same user. Linux. */
  process?: number;
  /** The number of a file descriptor in that process. */
  file?: number;
  /** The element type. */
  dtype: DType;
  /** The lengths of the axes. */
  shape: readonly number[];
  /** In elements. The default is row-major. */
  strides?: readonly number[];
  /** Bytes before the first element. */
  offset?: number;
  /** true: maps the memory so that it cannot be written here. */
  readonly?: boolean;
  /** Elements of a sub-byte type occupy one byte each. */
  padded?: boolean;
}

const example = "{ name: 'psm_21467_46075', dtype: 'float32', shape: [2, 3] }";
const names: OptionNames<ForeignTensor> = {
  name: true,
  process: true,
  file: true,
  dtype: true,
  shape: true,
  strides: true,
  offset: true,
  readonly: 'boolean',
  padded: 'boolean',
};

/**
 * Opens host memory that another program made as a Tensor, without a copy. Nothing proves that the memory is the one
 * meant, so take the name or the numbers from your own program or one that you trust, never from a message that anyone
 * may write. If its program makes the memory smaller, reading it ends the process.
 *
 * @param description - Where the memory is, by `name` or by `process` and `file`, and what lies in it. Row-major and
 *   writable from byte 0 when it says nothing else.
 * @returns A tensor that shares the memory until it is disposed.
 * @throws ArgumentTypeError or ArgumentValueError for a description with a missing or impossible field.
 * @throws BufferError if the system does not open the memory, and LayoutError if elements would lie outside of it.
 * @throws UnsupportedDeviceError without a name where the system has no memory files.
 * @throws UnsupportedDTypeError for an unknown dtype, and LoadError without the native part.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { openForeign } from 'dlpack/shared';
 * using x = Tensor.zeros([3], 'int32', { shareable: `page-${process.pid}` }); // SharedMemory(name=...) in Python
 * using same = openForeign({ name: `page-${process.pid}`, dtype: 'int32', shape: [3] });
 * x.set(2, 7);
 * console.log(same.toArray()); // [0, 0, 7]
 * ```
 */
export function openForeign<D extends DType>(description: ForeignTensor & { readonly dtype: D }): Tensor<D> {
  if (!isUsable(description)) throw new ArgumentTypeError('description', `an object such as ${example}`, description);
  return new Tensor<D>(openPlace(description));
}

function openPlace(description: ForeignTensor): Descriptor {
  const given = { ...description };
  checkOptions(given, names, example);
  const place = sharedPlaceOf(given);
  const { shape, strides, offset = 0, readonly = false, padded = false } = given;
  const bytes = count(offset, 'offset', Number.MAX_SAFE_INTEGER / 8);
  const layout = readLayout({
    dtype: given.dtype,
    shape,
    strides: strides ?? (Array.isArray(shape) ? rowMajorStrides(shape) : shape),
    bitOffset: bytes * 8,
    readonly,
    padded,
  });
  const { dtype, flags, bitOffset } = layout;
  const mapping = openSharedMemory([place], null, (flags & Flag.readonly) !== 0);
  let range: { start: number; end: number } | null;
  try {
    range = rangeOf(layout, mapping.nbytes);
  } catch (error) {
    mapping.release();
    throw error;
  }
  const { start, end } = range ?? { start: 0, end: 0 };
  const storage = takePart(mapping, start, end);
  return new Descriptor(storage, findLayout(dtype, cpu, layout.shape, layout.strides, flags), bitOffset - start * 8);
}

function sharedPlaceOf({ name, process, file }: ForeignTensor): SharedPlace {
  if (name !== undefined) {
    if (typeof name !== 'string') throw new ArgumentTypeError('description.name', 'a string', name);
    return { name: checkName(name, 'description.name'), process: 0, file: 0, must: null };
  }
  const owner = count(process, 'process', 2 ** 32 - 1);
  return { name: '', process: owner, file: count(file, 'file', 2 ** 31 - 1), must: null };
}

/**
 * Returns the path by which other programs, such as Python, open host memory that `describeTensor` described, on Linux.
 * The tensor starts at bit `description.bitOffset` of it.
 *
 * @param description - From `describeTensor`, of a tensor in host memory.
 * @returns The path of a file in `/proc`, or in `/dev/shm` for memory with a name.
 * @throws ArgumentTypeError for anything but the description of host memory.
 * @throws ArgumentValueError for a tensor without elements, and on systems other than Linux.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { describeTensor, sharedPath } from 'dlpack/shared';
 * using x = Tensor.zeros([3], 'int32', { shareable: true });
 * const path = sharedPath(describeTensor(x)); // np.memmap(path, 'int32') in Python
 * ```
 */
export function sharedPath(description: TensorDescription): string {
  if (!isUsable(description) || description.kind !== 'cpu') {
    throw new ArgumentTypeError('description', 'the description of host memory by describeTensor()', description);
  }
  const handle = process.platform === 'linux' ? readHandle(description) : null;
  if (handle === null) {
    throw new ArgumentValueError('description', 'memory with elements, on Linux', description.memory);
  }
  const { process: owner, file, name } = handle;
  return name === '' ? `/proc/${owner}/fd/${file}` : `/dev/shm/${name}`;
}
