/**
 * Descriptor: memory, a layout and where the first element is. It is the content of every TensorView and Tensor, shared
 * between those that describe the same elements. What it describes never changes. It also keeps what was made for the
 * tensor: views of the memory, and what a layer above attaches.
 */

import type { DeviceInfo } from '../device.js';
import { type DTypeInfo, dtypeFromCode, TypeCode, type TypedArray } from '../dtype.js';
import { DisposedError, LayoutError, UnsupportedDeviceError } from '../errors.js';
import type { Extent } from '../layout.js';
import { Flag, findLayout, type Layout } from './layouts.js';
import type { Storage } from './storage.js';

export { Flag, KNOWN_FLAGS } from './layouts.js';

/** Views of the memory, made on demand, because most tensors need none of them. */
interface Opened {
  /** The buffer of `data` and `view`. */
  buffer: ArrayBufferLike | null;
  data: TypedArray | null;
  view: DataView | null;
}

export class Descriptor {
  /** What a layer above keeps for this tensor: dlpack/tvm-ffi its native object. */
  attached: object | null = null;
  private opened: Opened | null = null;

  constructor(
    readonly storage: Storage,
    readonly layout: Layout,
    /** Bits from byte 0 of the storage to the first element. A multiple of eight except inside packed sub-byte types. */
    readonly bitOffset: number,
  ) {}

  get dtype(): DTypeInfo {
    return this.layout.dtype;
  }

  get device(): DeviceInfo {
    return this.layout.device;
  }

  get shape(): readonly number[] {
    return this.layout.shape;
  }

  get strides(): readonly number[] {
    return this.layout.strides;
  }

  get flags(): number {
    return this.layout.flags;
  }

  get size(): number {
    return this.layout.size;
  }

  get isPadded(): boolean {
    return this.layout.isPadded;
  }

  get isReadOnly(): boolean {
    return (this.layout.flags & Flag.readonly) !== 0;
  }

  /** Bits from one element to the next in memory order. */
  get strideBits(): number {
    return this.layout.strideBits;
  }

  get nbytes(): number {
    return this.layout.nbytes;
  }

  get isContiguous(): boolean {
    return this.layout.isContiguous;
  }

  /** Shape and strides, from the first element. */
  get extent(): Extent {
    const { shape, strides } = this.layout;
    return { shape, strides, offset: 0 };
  }

  /** A descriptor of other elements of the same memory. Views do not keep the flag of a solely owned copy. */
  derive({ shape, strides, offset }: Extent): Descriptor {
    const { dtype, device, flags, strideBits } = this.layout;
    const layout = findLayout(dtype, device, shape, strides, flags & ~Flag.isCopied);
    return new Descriptor(this.storage, layout, this.bitOffset + offset * strideBits);
  }

  /** The same descriptor over another storage that holds the same bytes. */
  withStorage(storage: Storage): Descriptor {
    return new Descriptor(storage, this.layout, this.bitOffset);
  }

  /**
   * This descriptor for memory that has more than one owner. A copy that a producer made for one consumer loses its flag,
   * because otherwise the next consumer would take shared memory for its own copy.
   */
  asShared(): Descriptor {
    const { layout } = this;
    if ((layout.flags & Flag.isCopied) === 0) return this;
    const shared = new Descriptor(this.storage, layout.withFlags(layout.flags & ~Flag.isCopied), this.bitOffset);
    shared.opened = this.opened; // so that `data` stays the same array
    return shared;
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
    const { low, high } = this.layout.reach;
    const first = this.bitOffset + low;
    const end = this.bitOffset + high;
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
    const opened = this.open();
    const { start, nbytes } = this.storage;
    opened.view ??= new DataView(opened.buffer as ArrayBufferLike, start, nbytes);
    return opened.view;
  }

  /** Opens the host memory. A program may have detached the buffer of earlier arrays and views. */
  private open(): Opened {
    this.checkHost();
    const buffer = this.storage.buffer();
    this.opened ??= { buffer: null, data: null, view: null };
    const { opened } = this;
    // Not `opened.view.buffer`, because some engines call a function for it, which takes longer than reading an element.
    if (opened.buffer !== buffer) {
      opened.buffer = buffer;
      opened.data = null;
      opened.view = null;
    }
    return opened;
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
    const opened = this.open();
    if (opened.data !== null) return opened.data;
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
    opened.data = new dtype.array(opened.buffer as ArrayBufferLike, start, this.nbytes / dtype.array.BYTES_PER_ELEMENT);
    storage.shownBy(opened.data);
    return opened.data;
  }
}

/** True for packed elements that share bytes but do not fill whole bytes in order. */
export function isBitwise({ dtype, isPadded, isContiguous, bitOffset }: Descriptor): boolean {
  return dtype.isSubByte && !isPadded && !(isContiguous && bitOffset % 8 === 0);
}

/** Padded elements as vectors of bytes. No other element uses their bytes. */
export function paddedBytes({ storage, device, shape, strides, bitOffset, strideBits }: Descriptor): Descriptor {
  const bytes = dtypeFromCode(TypeCode.uint, 8, strideBits / 8);
  return new Descriptor(storage, findLayout(bytes, device, shape, strides, 0), bitOffset);
}

/** The error for a tensor without memory. */
export function disposed(): DisposedError {
  return new DisposedError(
    'Expected a live tensor but its memory was released by dispose(), using or scope(); ' +
      'keep a second owner with x.share(), or a copy()',
  );
}
