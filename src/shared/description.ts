/** A description of a tensor for another process: its memory, from the backend of its device, and its layout. */

import type { StreamArgument } from '../base/stream.js';
import { type DeviceKind, parseDevice } from '../device.js';
import { type DType, type DTypeInfo, parseDType, strideBits } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError, LayoutError } from '../errors.js';
import { checkShape, checkStrides, spanOf } from '../layout.js';
import { isSealed, isShareable } from '../native/memory/host-sharing.js';
import { allocateShareable, cannotShare, sharingOf } from '../storage/allocate.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { loadDeviceBackend, type SharedMemory, type SharingBackend } from '../storage/device-backend.js';
import { findLayout } from '../storage/layouts.js';
import { convertElements } from '../values/convert.js';

/**
 * A tensor for another process, in plain values that JSON, `postMessage`, `process.send` and sockets can carry. It
 * keeps nothing alive: the described tensor must live in its own process while another process has it open.
 */
export interface TensorDescription extends SharedMemory {
  /** The version of this format. */
  readonly version: 1;
  /** The kind of device of the memory. */
  readonly kind: DeviceKind;
  /** The element type. */
  readonly dtype: DType;
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  /** true: whoever opens it must not write. */
  readonly readonly: boolean;
  /** Elements of a sub-byte type occupy one byte each. */
  readonly padded: boolean;
}

/** How a tensor is shared. */
interface Sharing {
  readonly sync: boolean;
  /** Copies host memory that other processes cannot open. The copy lives as long as the tensor's memory. */
  readonly copy: boolean;
  readonly readonly: boolean;
}

export function describe(descriptor: Descriptor, { sync, copy, readonly }: Sharing): TensorDescription {
  const { device, dtype } = descriptor;
  const sharing = sharingOf(device);
  const isCopied = copy && device.kind === 'cpu' && !isShareable(descriptor.storage);
  const shared = isCopied ? copyForOthers(descriptor) : descriptor;
  const isReadOnly = readonly || descriptor.isReadOnly || isSealed(shared.storage);
  return {
    version: 1,
    kind: device.kind,
    ...sharing.share(shared, sync, isReadOnly),
    dtype: dtype.name,
    shape: shared.layout.publicShape,
    strides: shared.layout.publicStrides,
    readonly: isReadOnly,
    padded: shared.isPadded,
  };
}

function copyForOthers(source: Descriptor): Descriptor {
  const copy = allocateShareable(source.shape, source.dtype, source.flags & Flag.subBytePadded, source.device);
  try {
    convertElements(source, copy);
  } catch (error) {
    copy.storage.release();
    throw error;
  }
  const { storage } = source;
  storage.attached ??= new Set();
  storage.attached.add({ free: () => copy.storage.release() });
  return copy;
}

/** Opens the tensor of a description. Getters of the object run only here, once each. */
export function openDescription(description: object, stream: StreamArgument, file: number | null): Descriptor {
  const fields: Record<string, unknown> = { ...description };
  if (fields.version !== 1) {
    throw new ArgumentValueError('description.version', 'version 1 of the description', fields.version);
  }
  const sharing = sharingOfKind(fields.kind);
  const layout = readLayout(fields);
  const { dtype, shape, strides, flags, bitOffset } = layout;
  const size = count(fields.size, 'size');
  const range = rangeOf(layout, size);
  if (fields.memory === null && range !== null) {
    throw new ArgumentValueError('description.memory', 'a handle for a shape with elements', null);
  }
  const memory = { ...(fields as unknown as SharedMemory), memory: range === null ? null : (fields.memory as string) };
  const { start, end } = range ?? { start: 0, end: 0 };
  const { storage, device } = sharing.open(memory, start, end, stream, (flags & Flag.readonly) !== 0, file);
  return new Descriptor(
    storage,
    findLayout(dtype, device, shape, strides, flags),
    range === null ? 0 : bitOffset - start * 8,
  );
}

function sharingOfKind(kind: unknown): SharingBackend {
  if (typeof kind !== 'string')
    throw new ArgumentTypeError('description.kind', 'a kind of device such as "cuda"', kind);
  const device = parseDevice(kind as DeviceKind);
  if (device.kind !== 'cpu' && loadDeviceBackend(device) === null) throw cannotShare(device);
  return sharingOf(device);
}

/** A layout whose types were checked. */
export interface DescribedLayout {
  readonly dtype: DTypeInfo;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly bitOffset: number;
  readonly flags: number;
}

export function readLayout({
  dtype: name,
  shape,
  strides,
  bitOffset,
  readonly,
  padded,
}: Record<string, unknown>): DescribedLayout {
  if (typeof name !== 'string') throw new ArgumentTypeError('description.dtype', 'the name of a dtype', name);
  const dtype = parseDType(name as never);
  const lengths = checkShape(shape as never, 'description.shape');
  const isReadOnly = flag(readonly, 'readonly');
  const isPadded = flag(padded, 'padded') && dtype.isSubByte;
  return {
    dtype,
    shape: lengths,
    strides: checkStrides(strides as never, lengths),
    bitOffset: count(bitOffset, 'bitOffset'),
    flags: (isReadOnly ? Flag.readonly : 0) | (isPadded ? Flag.subBytePadded : 0),
  };
}

/** The bytes of an allocation that the elements occupy; null without elements. */
export function rangeOf(
  { dtype, shape, strides, bitOffset, flags }: DescribedLayout,
  size: number,
): { start: number; end: number } | null {
  const span = spanOf(shape, strides);
  if (span === null) return null;
  const isPacked = dtype.isSubByte && (flags & Flag.subBytePadded) === 0;
  // Packed elements start a whole number of elements after some byte, all others at aligned addresses.
  const unit = isPacked ? dtype.itemBits & -dtype.itemBits : dtype.alignment * 8;
  if (bitOffset % unit !== 0) {
    throw new LayoutError(
      `Expected an offset that is a multiple of ${unit} bits for ${dtype.name} but received ${bitOffset}`,
      shape,
      strides,
    );
  }
  const step = strideBits(dtype, !isPacked);
  const start = Math.floor((bitOffset + span.low * step) / 8);
  const end = Math.ceil((bitOffset + span.high * step + dtype.itemBits) / 8);
  if (start < 0 || end > size || !Number.isSafeInteger(end)) {
    throw new LayoutError(
      `Expected elements inside the shared allocation of ${size} bytes but shape [${shape.join(', ')}] with ` +
        `strides [${strides.join(', ')}] reaches from byte ${start} to ${end}`,
      shape,
      strides,
    );
  }
  return { start, end };
}

export function count(value: unknown, name: string, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number') throw new ArgumentTypeError(`description.${name}`, 'an integer', value);
  if (Number.isInteger(value) && value >= 0 && value <= most) return value;
  const limit = most === Number.MAX_SAFE_INTEGER ? '2^53 - 1' : most;
  throw new ArgumentValueError(`description.${name}`, `an integer from 0 to ${limit}`, value);
}

function flag(value: unknown, name: string): boolean {
  if (typeof value !== 'boolean') throw new ArgumentTypeError(`description.${name}`, 'a boolean', value);
  return value;
}
