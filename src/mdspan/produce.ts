/** Describes spans as strided tensors, and makes managed tensors from them. */

import { cpu, type DeviceInfo, DeviceType, type DLDevice, deviceFromType } from '../device.js';
import { ArgumentTypeError, BufferError, LayoutError } from '../errors.js';
import type { ManagedTensor } from '../protocol/managed.js';
import { produce } from '../protocol/produce.js';
import type { Wanted } from '../protocol/request.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { findLayout } from '../storage/layouts.js';
import { releaseAfter } from '../storage/storage.js';
import { deviceOrdinal } from './driver.js';
import type { BigShape, Extents } from './extents.js';
import { type Integer, numbersOf } from './integers.js';
import { RelaxedMapping, reachOf } from './layouts.js';
import { type LayoutMapping, offsetAt, stridesOf } from './mapping.js';
import { memoryOf, Pointer } from './pointer.js';

/** The part of a span that this module uses. */
interface Exportable {
  readonly kind: 'host' | 'device' | 'managed';
  readonly dataHandle: unknown;
  readonly mapping: LayoutMapping<BigShape>;
}

/** A span in the terms of DLPack. `pointer` is at the element whose indices are all zero. */
export interface StridedSpan {
  readonly pointer: Pointer;
  readonly shape: readonly Integer[];
  readonly strides: readonly Integer[];
  readonly size: Integer;
}

function pointerOf({ dataHandle }: Exportable): Pointer {
  if (dataHandle instanceof Pointer) return dataHandle;
  throw new ArgumentTypeError('dataHandle', 'a Pointer (data_handle_type must be a pointer)', dataHandle);
}

/** Throws unless a pointer, a shape and strides describe the span completely. */
export function describeSpan(span: Exportable): StridedSpan {
  const { mapping } = span;
  const origin = pointerOf(span);
  const { lengths, size } = mapping.extents;
  const strides = stridesOf(mapping);
  // The relaxed layout reports that it is not strided when it has an offset, but its strides are still correct.
  if (!mapping.isStrided && !(mapping instanceof RelaxedMapping)) {
    throw new LayoutError(
      'Expected a strided layout but this mapping is not strided',
      numbersOf(lengths),
      numbersOf(strides),
    );
  }
  if (size === 0) return { pointer: origin, shape: lengths, strides, size };
  const zeros = lengths.map(() => 0);
  const pointer = origin.plus(offsetAt(mapping, zeros));
  checkReach(pointer, mapping.extents, strides);
  return { pointer, shape: lengths, strides, size };
}

/** Checks the strides, because a user-written layout or accessor could make them lead outside of the memory. */
function checkReach(pointer: Pointer, extents: Extents<BigShape>, strides: readonly Integer[]): void {
  const { byteOffset, element } = pointer;
  const memory = memoryOf(pointer);
  // A bigint is far outside of any memory, also when it is rounded to a number.
  const { low, high } = reachOf(extents, strides) ?? { low: 0, high: -1 };
  const start = byteOffset + Number(low) * element.storageBytes;
  const end = byteOffset + (Number(high) + 1) * element.storageBytes;
  if (start < 0 || end > memory.nbytes) {
    throw new LayoutError(
      `Expected strides that stay inside a memory of ${memory.nbytes} bytes but extents [${extents.lengths.join(', ')}] with strides ` +
        `[${strides.join(', ')}] reach from byte ${start} to ${end}`,
      numbersOf(extents.lengths),
      numbersOf(strides),
    );
  }
}

/** The device of a span. The driver finds the number of a device pointer that was given without a device. */
export function spanDevice(span: Exportable): DLDevice {
  const { type, id } = deviceOf(span);
  return { type, id };
}

function deviceOf(span: Exportable): DeviceInfo {
  if (span.kind === 'host') return cpu;
  if (span.kind === 'managed') return deviceFromType(DeviceType.cuda_managed, 0);
  const pointer = pointerOf(span);
  return memoryOf(pointer).device ?? deviceFromType(DeviceType.cuda, deviceOrdinal(pointer.address ?? 0n));
}

/** Answers a protocol request with the memory of a span. */
export function produceSpan(span: Exportable, wanted: Wanted): ManagedTensor | object {
  const { pointer, shape, strides } = describeSpan(span);
  const { element } = pointer;
  const memory = memoryOf(pointer);
  if (!element.isDescribable) {
    throw new BufferError(
      `Expected an element type that DLPack can describe in memory but ${element.name} has each lane in a byte; ` +
        `make the span of '${element.dtype.base}' with one more axis of ${element.dtype.lanes}`,
    );
  }
  const [lengths, steps] = [numbersOf(shape), numbersOf(strides)];
  if (lengths === undefined || steps === undefined) {
    throw new LayoutError(
      `Expected lengths and strides of at most 2^53 - 1 for a tensor but extents are [${shape.join(', ')}] with strides ` +
        `[${strides.join(', ')}]; toDLPackTensor(span) can describe them`,
    );
  }
  const flags = (element.isPadded ? Flag.subBytePadded : 0) | (pointer.isReadOnly ? Flag.readonly : 0);
  const bitOffset = pointer.byteOffset * 8;
  const storage = memory.storage();
  const descriptor = new Descriptor(
    storage,
    findLayout(element.dtype, deviceOf(span), lengths, steps, flags),
    bitOffset,
  );
  descriptor.checkBounds();
  storage.refs++; // code of the request may dispose the tensor that owns the memory
  return releaseAfter(storage, () => produce(descriptor, wanted));
}
