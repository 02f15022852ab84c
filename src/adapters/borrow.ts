/** Tensors over memory that an object of a library holds, in the heap of a WebAssembly module. */

import { cpu } from '../device.js';
import { type DType, dtypeFromName } from '../dtype.js';
import { BufferError } from '../errors.js';
import { copyOf } from '../from-dlpack.js';
import { checkShape, checkStrides } from '../layout.js';
import { Descriptor } from '../storage/descriptor.js';
import { findLayout } from '../storage/layouts.js';
import { afterError, BufferStorage, bufferLength } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import { type Adapter, callLibrary } from './adapter.js';
import { readCount } from './fields.js';
import type { AdaptOptions } from './options.js';

/** Memory of a library's object. */
interface Borrowed {
  readonly adapter: Adapter;
  /** An array over the memory. It is read at each use, because the buffer of a heap is replaced when the heap grows. */
  readonly view: () => ArrayBufferView;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  /** Bytes from the start of the view to the first element. */
  readonly byteOffset: number;
  /** Bytes from the start of the view to the last byte that the tensor may use. */
  readonly nbytes: number;
  /** Called once, after the last owner of the tensor, also if this throws. */
  readonly release: () => void;
  readonly options: AdaptOptions | undefined;
}

class BorrowedStorage extends BufferStorage {
  constructor(
    private readonly library: string,
    private readonly view: () => ArrayBufferView,
    nbytes: number,
    release: () => void,
  ) {
    const { buffer, byteOffset } = view();
    super(buffer, readCount(byteOffset, 'byteOffset'), nbytes, release);
  }

  override buffer(): ArrayBufferLike {
    const { buffer } = callLibrary(this.library, this.view);
    const length = bufferLength(buffer) ?? 0;
    if (length < this.start + this.nbytes) {
      throw new BufferError(
        `Expected ${this.start + this.nbytes} bytes in the memory of ${this.library} but it has ${length}`,
      );
    }
    return buffer;
  }
}

/** A tensor over the memory of a library's object, or a copy where the options ask for one. */
export function borrow({
  adapter,
  view,
  dtype,
  shape,
  strides,
  byteOffset,
  nbytes,
  release,
  options,
}: Borrowed): Tensor {
  let tensor: Tensor;
  try {
    if (options?.adopt) {
      throw new BufferError(`Expected memory that can be moved but ${adapter.name} keeps its heap; use { copy: true }`);
    }
    const lengths = checkShape(shape);
    const layout = findLayout(dtypeFromName(dtype), cpu, lengths, checkStrides(strides, lengths), 0);
    const storage = new BorrowedStorage(adapter.name, view, nbytes, release);
    storage.buffer(); // checks what the object says about its memory
    tensor = new Tensor(new Descriptor(storage, layout, byteOffset * 8).checkBounds());
  } catch (error) {
    throw afterError(error, release);
  }
  return options?.copy ? copyOf(tensor) : tensor;
}
