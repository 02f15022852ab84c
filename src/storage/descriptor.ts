/**
 * Descriptor: memory and how to read it. It is the immutable content of every TensorView and Tensor, shared between
 * those that describe the same elements.
 */

import type { DeviceInfo } from '../device.js';
import { type DTypeInfo, dtypeFromCode, sizeBytes, strideBits, TypeCode, type TypedArray } from '../dtype.js';
import { LayoutError, UnsupportedDeviceError } from '../errors.js';
import { isContiguous, type Layout, sizeOf, spanOf } from '../layout.js';
import type { Storage } from './storage.js';

/** `DLPACK_FLAG_BITMASK_*` of dlpack.h. */
export const Flag = {
  readonly: 1, // READ_ONLY
  isCopied: 2, // IS_COPIED
  subBytePadded: 4, // IS_SUBBYTE_TYPE_PADDED
} as const;

/** The flags that this package understands. Others are accepted and not passed on. */
export const KNOWN_FLAGS = Flag.readonly | Flag.isCopied | Flag.subBytePadded;

/** Written by hand, because a patched Array.prototype.slice would receive the original. */
function frozenCopy(values: readonly number[]): readonly number[] {
  const copy: number[] = [];
  for (let i = 0; i < values.length; i++) copy[i] = values[i] as number;
  return Object.freeze(copy);
}

/** Values that a descriptor computes on demand, because most tensors need none of them. */
interface Made {
  /** The buffer of `data` and `view`. */
  buffer: ArrayBufferLike | null;
  data: TypedArray | null;
  view: DataView | null;
  shape: readonly number[] | null;
  strides: readonly number[] | null;
}

/** Identifies everything about a tensor except its memory, for native code. */
export interface SentLayout {
  /** See native/instance.h. */
  number: number;
}

/** The number of a layout that was not sent to native code. */
export const UNSENT = -1;

export class Descriptor {
  /** The TVM-FFI object of this tensor, once a call has needed it. It is released with the storage. */
  tvmObject: object | null = null;
  /** Null for a tensor whose layout native code need not keep. Descriptors with equal layouts may share it. */
  sentLayout: SentLayout | null = null;
  /** True once a TVM-FFI call has used this tensor without an object. The next call makes the object. */
  wasViewed = false;
  private made: Made | null = null;

  constructor(
    readonly storage: Storage,
    readonly dtype: DTypeInfo,
    readonly device: DeviceInfo,
    readonly shape: readonly number[],
    readonly strides: readonly number[],
    /** Bits from byte 0 of the storage to the first element. A multiple of eight except inside packed sub-byte types. */
    readonly bitOffset: number,
    /** Only {@link shared} changes them. */
    public flags: number,
  ) {}

  private cache(): Made {
    this.made ??= { buffer: null, data: null, view: null, shape: null, strides: null };
    return this.made;
  }

  /** The shape for user code: a copy, so that user code cannot change what the native core relies on. */
  get publicShape(): readonly number[] {
    const made = this.cache();
    made.shape ??= frozenCopy(this.shape);
    return made.shape;
  }

  /** The strides for user code. */
  get publicStrides(): readonly number[] {
    const made = this.cache();
    made.strides ??= frozenCopy(this.strides);
    return made.strides;
  }

  get size(): number {
    return sizeOf(this.shape);
  }

  get isPadded(): boolean {
    return (this.flags & Flag.subBytePadded) !== 0;
  }

  get isReadOnly(): boolean {
    return (this.flags & Flag.readonly) !== 0;
  }

  /** Bits from one element to the next in memory order. */
  get strideBits(): number {
    return strideBits(this.dtype, this.isPadded);
  }

  get nbytes(): number {
    return sizeBytes(this.dtype, this.size, this.isPadded);
  }

  get isContiguous(): boolean {
    return isContiguous(this.shape, this.strides);
  }

  get layout(): Layout {
    return { shape: this.shape, strides: this.strides, offset: 0 };
  }

  /** A descriptor with another layout over the same elements. Views do not keep the flag of a solely owned copy. */
  derive(layout: Layout): Descriptor {
    return new Descriptor(
      this.storage,
      this.dtype,
      this.device,
      layout.shape,
      layout.strides,
      this.bitOffset + layout.offset * this.strideBits,
      this.flags & ~Flag.isCopied,
    );
  }

  /** The same descriptor over another storage that holds the same bytes. */
  withStorage(storage: Storage): Descriptor {
    return new Descriptor(storage, this.dtype, this.device, this.shape, this.strides, this.bitOffset, this.flags);
  }

  /**
   * This descriptor, before it is handed to someone else. A copy that a producer made for one consumer then has more
   * than one owner, so its flag is cleared. Otherwise the next consumer would take shared memory for its own copy.
   */
  shared(): this {
    if ((this.flags & Flag.isCopied) !== 0) {
      this.flags &= ~Flag.isCopied;
      this.sentLayout = null;
    }
    return this;
  }

  /** Drops a reference to the storage. */
  release(): void {
    this.storage.release();
  }

  /** True when the elements are aligned for the dtype, relative to the start of the storage. */
  get isAligned(): boolean {
    const { dtype } = this;
    return this.bitOffset % (dtype.isSubByte && !this.isPadded ? 8 : dtype.alignment * 8) === 0;
  }

  /** Throws unless every element lies inside the storage and is aligned for the dtype. */
  checkBounds(): this {
    const { dtype } = this;
    if (!this.isAligned) {
      throw this.wrong(
        `Expected a byte offset that is a multiple of ${dtype.alignment} for ${dtype.name} but received ${this.bitOffset / 8}`,
      );
    }
    return this.checkReach();
  }

  /** Throws unless every element lies inside the storage. */
  checkReach(): this {
    const { shape, strides, storage, dtype } = this;
    const span = spanOf(shape, strides);
    const first = this.bitOffset + (span?.low ?? 0) * this.strideBits;
    const end = span === null ? this.bitOffset : this.bitOffset + span.high * this.strideBits + dtype.itemBits;
    if (first < 0 || end > storage.nbytes * 8) {
      throw this.wrong(
        `Expected memory of ${Math.ceil(end / 8)} bytes for ${dtype.name} of shape [${shape.join(', ')}] with strides ` +
          `[${strides.join(', ')}] at byte ${this.bitOffset / 8} but there are ${storage.nbytes}` +
          (first < 0 ? `; negative strides reach ${-Math.floor(first / 8)} bytes before its start` : ''),
      );
    }
    return this;
  }

  /** The host memory of the storage, for element access. */
  view(): DataView {
    const made = this.open();
    const { start, nbytes } = this.storage;
    made.view ??= new DataView(made.buffer as ArrayBufferLike, start, nbytes);
    return made.view;
  }

  /** Opens the host memory. A program may have detached the buffer of earlier arrays and views. */
  private open(): Made {
    this.checkHost();
    const buffer = this.storage.buffer();
    const made = this.cache();
    // Not `made.view.buffer`, because some engines call a function for it, which takes longer than reading an element.
    if (made.buffer !== buffer) {
      made.buffer = buffer;
      made.data = null;
      made.view = null;
    }
    return made;
  }

  private wrong(message: string): LayoutError {
    return new LayoutError(message, this.shape, this.strides);
  }

  checkHost(): void {
    if (!this.device.isHostAccessible) {
      const { name, kind } = this.device;
      const advice =
        kind === 'webgpu'
          ? "copy it first with await x.toAsync('cpu') of dlpack/webgpu"
          : "copy it first with to('cpu')";
      throw new UnsupportedDeviceError(name, `Expected host memory but this tensor is on '${name}'; ${advice}`);
    }
  }

  /** The elements as one typed array without a copy. */
  data(): TypedArray {
    const made = this.open();
    if (made.data !== null) return made.data;
    const { storage, dtype } = this;
    if (!this.isContiguous) {
      throw this.wrong(
        `Expected a contiguous tensor for data but shape [${this.shape.join(', ')}] has strides ` +
          `[${this.strides.join(', ')}]; call contiguous() for a packed copy, or read with get() and toArray()`,
      );
    }
    if ((this.bitOffset & 7) !== 0) {
      throw this.wrong(
        `Expected ${dtype.name} elements that start on a byte for data; call contiguous() for a packed copy`,
      );
    }
    const start = storage.start + this.bitOffset / 8;
    made.data = new dtype.array(made.buffer as ArrayBufferLike, start, this.nbytes / dtype.array.BYTES_PER_ELEMENT);
    storage.shownBy(made.data);
    return made.data;
  }
}

/** True for packed elements that share bytes but do not fill whole bytes in order. */
export function isBitwise({ dtype, isPadded, isContiguous, bitOffset }: Descriptor): boolean {
  return dtype.isSubByte && !isPadded && !(isContiguous && bitOffset % 8 === 0);
}

/** Padded elements as vectors of bytes. No other element uses their bytes. */
export function paddedBytes({ storage, device, shape, strides, bitOffset, strideBits }: Descriptor): Descriptor {
  const bytes = dtypeFromCode(TypeCode.uint, 8, strideBits / 8);
  return new Descriptor(storage, bytes, device, shape, strides, bitOffset, 0);
}
