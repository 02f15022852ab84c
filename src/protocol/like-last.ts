/**
 * Tensors of JavaScript producers that have the layout of the tensor before. Most of them do: they differ in their buffers.
 * Such a tensor needs no second check of its layout, and shares it.
 */

import { cpu, type DLDevice } from '../device.js';
import type { DLDataType, DTypeInfo } from '../dtype.js';
import { Descriptor, type SentLayout, UNSENT } from '../storage/descriptor.js';
import { BufferStorage, bufferLength } from '../storage/storage.js';

/** A layout at the start of a host buffer, without flags. */
interface Taken extends SentLayout {
  readonly dtype: DTypeInfo;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  /** The producer sent no strides. */
  readonly isPacked: boolean;
  /** The size of the buffer that it was checked with. */
  readonly nbytes: number;
}

let last: Taken | null = null;

/** Remembers the layout of a tensor that passed all checks. */
export function rememberTaken({ storage, dtype, device, shape, strides }: Descriptor, isPacked: boolean): void {
  if (device === cpu) last = { dtype, shape, strides, isPacked, nbytes: storage.nbytes, number: UNSENT };
}

/** The tensor that a producer offers without flags and offset, if it has the last layout and a buffer as large; else null. */
export function takeLike(
  data: unknown,
  { code, bits, lanes }: DLDataType,
  { type, id }: DLDevice,
  shape: unknown,
  strides: unknown,
  release: (() => void) | undefined,
): Descriptor | null {
  const known = last; // user code may run below, for proxies and getters
  if (known === null || type !== 1 || id !== 0) return null;
  const { dtype } = known;
  if (code !== dtype.code || bits !== dtype.bits || lanes !== dtype.lanes || !isSame(shape, known.shape)) return null;
  if (known.isPacked ? strides != null : !isSame(strides, known.strides)) return null;
  const nbytes = bufferLength(data);
  if (nbytes === null || nbytes < known.nbytes) return null;
  const storage = new BufferStorage(data as ArrayBufferLike, 0, nbytes, release);
  const descriptor = new Descriptor(storage, dtype, cpu, known.shape, known.strides, 0, 0);
  descriptor.sentLayout = known;
  return descriptor;
}

function isSame(offered: unknown, known: readonly number[]): boolean {
  if (!Array.isArray(offered) || offered.length !== known.length) return false;
  for (let i = 0; i < known.length; i++) if (offered[i] !== known[i]) return false;
  return true;
}
