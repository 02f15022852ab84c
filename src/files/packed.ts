/** The bytes of a tensor for a file: packed, in host memory, in pieces. */

import { cpu } from '../device.js';
import { allocateLike } from '../storage/allocate.js';
import { type Descriptor, Flag } from '../storage/descriptor.js';
import { convertElementsAsync } from '../values/convert.js';
import { transposeExtent } from '../view-layout.js';
import { byteRange, uint8 } from './entry.js';

/**
 * Bytes of one piece: small enough for the CPU cache when the system copies it, and large enough to make the cost of a
 * system call negligible.
 */
const PIECE = 2 << 20;
/** The largest ArrayBuffer that every supported runtime allows. Larger tensors are copied piece by piece. */
const LARGEST_BUFFER = 2 ** 32 - 1;

/** True when the elements are column-major but not row-major. */
export function isColumnMajor(descriptor: Descriptor): boolean {
  return !descriptor.isContiguous && descriptor.derive(transposeExtent(descriptor.extent)).isContiguous;
}

/** The packed bytes in pieces, by rows, or by columns if `isFortran`. Each piece is valid until the next is taken. */
export async function* packedBytes(
  descriptor: Descriptor,
  padded: boolean,
  isFortran = false,
): AsyncGenerator<Uint8Array> {
  const ordered = isFortran ? descriptor.derive(transposeExtent(descriptor.extent)) : descriptor;
  if (ordered.size === 0) return;
  const packed = await packInHost(ordered, padded);
  try {
    yield* pieces(packed);
  } finally {
    packed.storage.release();
  }
}

/** The tensor itself if it is packed in host memory, otherwise a copy. The caller releases it. */
async function packInHost(source: Descriptor, padded: boolean): Promise<Descriptor> {
  const { device, dtype, shape } = source;
  const isPacked =
    source.isContiguous && source.bitOffset % 8 === 0 && (!dtype.isSubByte || source.isPadded === padded);
  if (device.isHostAccessible && isPacked) {
    source.storage.refs++;
    return source;
  }
  // A device copies bits as they are, and the host pads them.
  const flags = device.isHostAccessible ? (padded ? Flag.subBytePadded : 0) : source.flags & Flag.subBytePadded;
  const copy = allocateLike(shape, dtype, flags, cpu);
  try {
    await convertElementsAsync(source, copy, true);
    if (dtype.isSubByte && copy.isPadded !== padded) return await packInHost(copy, padded);
    copy.storage.refs++;
    return copy;
  } finally {
    copy.storage.release();
  }
}

async function* pieces({ storage, bitOffset, nbytes }: Descriptor): AsyncGenerator<Uint8Array> {
  const first = bitOffset / 8;
  if (storage.nbytes <= LARGEST_BUFFER) {
    for (let at = 0; at < nbytes; at += PIECE) {
      yield new Uint8Array(storage.buffer(), storage.start + first + at, Math.min(PIECE, nbytes - at));
    }
    return;
  }
  const piece = allocateLike([PIECE], uint8, 0);
  try {
    for (let at = 0; at < nbytes; at += PIECE) {
      const length = Math.min(PIECE, nbytes - at);
      await convertElementsAsync(byteRange(storage, first + at, length), byteRange(piece.storage, 0, length));
      yield new Uint8Array(piece.storage.buffer(), piece.storage.start, length);
    }
  } finally {
    piece.storage.release();
  }
}
