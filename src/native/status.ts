/**
 * Outcomes of native calls as typed errors. native/frame.h has the same numbers.
 *
 * @module
 */

import {
  ArgumentValueError,
  BufferError,
  ConsumedError,
  type DLPackError,
  LayoutError,
  UnsupportedDTypeError,
  VersionError,
} from '../errors.js';
import { MAX_NDIM } from '../layout.js';
import { DLPACK_VERSION } from '../protocol/managed.js';
import { Field, frame } from './frame.js';

const { f64, i32, u32, u64 } = frame;
const { ADDRESS, DTYPE, NBYTES, NDIM, SHAPE, STATUS, VERSION } = Field;

export const Status = {
  ok: 0,
  nullManaged: 1,
  version: 2,
  ndim: 3,
  nullShape: 4,
  negativeShape: 5,
  tooLarge: 6,
  nullData: 7,
  misaligned: 8,
  dtype: 9,
  outOfMemory: 10,
  consumed: 11,
  notExternal: 12,
  noExternalBuffers: 13,
  unknownTicket: 14,
  napi: 15,
} as const;

/** Throws the error of the last native call unless it succeeded. */
export function checkStatus(): void {
  if (i32[STATUS] !== 0) throw errorOfStatus();
}

function errorOfStatus(): DLPackError {
  const status = i32[STATUS] as number;
  const ndim = i32[NDIM] as number;
  const shape: number[] = [];
  for (let i = 0; i < Math.min(ndim, MAX_NDIM); i++) shape[i] = f64[SHAPE + i] as number;
  const packed = u32[DTYPE] as number;
  const [code, bits, lanes] = [packed & 0xff, (packed >> 8) & 0xff, packed >>> 16];
  switch (status) {
    case Status.nullManaged:
      return new ArgumentValueError('address', 'the address of a managed tensor', u64[ADDRESS]);
    case Status.version:
      return new VersionError([u32[VERSION] as number, u32[VERSION + 1] as number], DLPACK_VERSION);
    case Status.ndim:
      return new LayoutError(`Expected 0 to ${MAX_NDIM} axes but received ndim ${ndim}`);
    case Status.nullShape:
      return new LayoutError(`Expected a shape for ${ndim} axes but received NULL`);
    case Status.negativeShape:
      return new LayoutError(`Expected lengths of zero or more but shape holds ${shape.find((n) => n < 0)}`, shape);
    case Status.tooLarge:
      return new LayoutError(
        `Expected shape, strides and offset within 2^53 - 1 bytes but shape [${shape.join(', ')}] reaches beyond`,
        shape,
      );
    case Status.nullData:
      return new LayoutError(`Expected memory for shape [${shape.join(', ')}] but data is NULL`, shape);
    case Status.misaligned:
      return new BufferError(
        `Expected data aligned to its ${bits}-bit elements but its address is not; ask the producer for a copy`,
      );
    case Status.dtype: {
      const numbers = `(code ${code}, bits ${bits}, lanes ${lanes})`;
      return new UnsupportedDTypeError(numbers, `Expected at least one bit and one lane but received ${numbers}`);
    }
    case Status.outOfMemory:
      return new BufferError(`Expected free memory for a tensor of ${f64[NBYTES]} bytes but there is none`);
    case Status.consumed:
      return new ConsumedError('Expected a fresh native tensor but this one was consumed or released before');
    case Status.unknownTicket:
      return new ConsumedError(
        'Expected a token that was just posted but this one is unknown here: it was used before, revoked, made in another process, or never issued',
      );
    default:
      return new BufferError(`Expected a buffer that native code can reach (native status ${status})`);
  }
}
