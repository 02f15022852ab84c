/**
 * Spans to DLTensor: a wrapper that owns shape and strides, and a view of the span's memory.
 *
 * @module
 */

import type { DLDevice } from '../device.js';
import type { DLDataType } from '../dtype.js';
import { ArgumentTypeError, DisposedError } from '../errors.js';
import { type DLTensor, origins } from './dl-tensor.js';
import type { ElementType } from './element-type.js';
import type { StridedMapping } from './mapping.js';
import { memoryOf, type Pointer } from './pointer.js';
import { describeSpan, type StridedSpan, spanDevice } from './produce.js';
import { Mdspan, type SpanKind } from './span.js';

/** A span that a DLTensor can describe: its handle is a pointer, its layout has strides. */
export interface DescribableSpan {
  readonly kind: SpanKind;
  readonly dtype: ElementType;
  readonly dataHandle: Pointer;
  readonly mapping: StridedMapping;
}

/** A DLTensor whose arrays belong to a {@link DLPackTensor}. */
export interface OwnedDLTensor extends DLTensor {
  readonly shape: BigInt64Array | null;
  readonly strides: BigInt64Array | null;
  readonly byteOffset: 0;
}

/** Runtimes without explicit resource management have no such symbol; `dispose()` works everywhere. */
const disposeSymbol: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for('Symbol.dispose') as never);

/** What a wrapper owns. Taken away as a whole when it is moved or disposed. */
class Owned {
  readonly span: StridedSpan;
  readonly device: DLDevice;
  readonly dtype: DLDataType;
  readonly shape: BigInt64Array;
  readonly strides: BigInt64Array;
  isReleased = false;

  constructor(span: StridedSpan, device: DLDevice) {
    const { code, bits, lanes } = span.pointer.element.dtype;
    this.span = span;
    this.device = Object.freeze(device);
    this.dtype = Object.freeze({ code, bits, lanes });
    this.shape = BigInt64Array.from(span.shape, BigInt);
    this.strides = BigInt64Array.from(span.strides, BigInt);
  }

  /** Arrays that a program kept become empty instead of describing memory that may be gone. */
  release(): void {
    this.isReleased = true;
    for (const { buffer } of [this.shape, this.strides]) structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
  }

  check(): this {
    if (this.isReleased) throw released();
    return this;
  }

  /** Asked for at each use: the memory's owner may have released it since. */
  data(): bigint | Uint8Array | null {
    const { pointer, size } = this.check().span;
    if (size === 0) return null;
    if (pointer.address !== null) return pointer.address;
    const storage = memoryOf(pointer).storage();
    const { byteOffset } = pointer;
    return new Uint8Array(storage.buffer(), storage.start + byteOffset, memoryOf(pointer).nbytes - byteOffset);
  }
}

/** Without axes both pointers are NULL. */
function orNull(values: BigInt64Array): BigInt64Array | null {
  return values.length === 0 ? null : values;
}

function released(): DisposedError {
  return new DisposedError(
    'Expected a live DLPackTensor but it was disposed or moved; a DLTensor must not outlive the wrapper that owns its shape and strides',
  );
}

/**
 * Owns the shape and stride storage of one DLTensor; does not own the elements. A DLTensor keeps its wrapper's storage
 * reachable, so one taken from a temporary is sound; after `dispose()` or `move()` its fields throw.
 */
export class DLPackTensor {
  #owned: Owned | null;

  /** Wrappers are made by {@link toDLPackTensor}. */
  constructor(owned: Owned) {
    if (!(owned instanceof Owned)) throw new ArgumentTypeError('span', 'a wrapper made by toDLPackTensor', owned);
    this.#owned = owned;
  }

  /** The DLTensor. Its fields are read from this wrapper and throw once it is disposed or moved. */
  get(): OwnedDLTensor {
    const owned = this.#take();
    const tensor: OwnedDLTensor = Object.freeze({
      get data() {
        return owned.data();
      },
      get device() {
        return owned.check().device;
      },
      get ndim() {
        return owned.check().span.shape.length;
      },
      get dtype() {
        return owned.check().dtype;
      },
      get shape() {
        return orNull(owned.check().shape);
      },
      get strides() {
        return orNull(owned.check().strides);
      },
      get byteOffset(): 0 {
        owned.check();
        return 0;
      },
    });
    origins.set(tensor, owned.span.pointer);
    return tensor;
  }

  /** A second wrapper of the same elements with storage of its own. */
  copy(): DLPackTensor {
    const { span, device } = this.#take();
    return new DLPackTensor(new Owned(span, { ...device }));
  }

  /** A new wrapper with this one's storage; this one can no longer be used. DLTensors taken before stay valid. */
  move(): DLPackTensor {
    const owned = this.#take();
    this.#owned = null;
    return new DLPackTensor(owned);
  }

  /** True once it was disposed or moved. */
  get isDisposed(): boolean {
    return this.#owned === null;
  }

  /** Releases shape and strides. Disposing twice is fine. */
  dispose(): void {
    this.#owned?.release();
    this.#owned = null;
  }

  [disposeSymbol](): void {
    this.dispose();
  }

  #take(): Owned {
    if (this.#owned === null) throw released();
    return this.#owned;
  }
}

/**
 * A DLTensor view of a span, and the owner of its shape and strides. `byteOffset` is always 0: `data` is the address of
 * the element whose indices are all zero.
 */
export function toDLPackTensor(span: DescribableSpan): DLPackTensor {
  if (!(span instanceof Mdspan)) throw new ArgumentTypeError('span', 'an mdspan', span);
  const described = describeSpan(span);
  return new DLPackTensor(new Owned(described, spanDevice(span)));
}
