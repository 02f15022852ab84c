/** Turns the status of a native call into a typed error. */

import {
  ArgumentValueError,
  BufferError,
  ConsumedError,
  type DLPackError,
  LayoutError,
  MisalignedError,
  OutOfMemoryError,
  UnsupportedDTypeError,
  VersionError,
} from '../../errors.js';
import { MAX_NDIM } from '../../layout.js';
import { DLPACK_VERSION } from '../../protocol/managed.js';
import { Status } from './constants.js';
import { keptLayout } from './layouts.js';
import { WireTensor } from './wire-layout.js';

/** The error of a request without a tensor. `nbytes` is the size that it requested. */
export function errorOf(status: number, nbytes = 0): DLPackError {
  switch (status) {
    case Status.nullData:
      return new LayoutError(`Expected memory of ${nbytes} bytes but its address is NULL`);
    case Status.outOfMemory:
      return new OutOfMemoryError(`could not allocate ${nbytes} bytes`, nbytes);
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

/** The error of a request about the tensor at the word `at`, and the managed tensor at `address`, if any. */
export function errorOfTensor(status: number, at: number, address = 0n): DLPackError {
  const kept = keptLayout(WireTensor.layout(at));
  const ndim = kept?.shape.length ?? WireTensor.ndim(at);
  const shape: number[] = [];
  for (let i = 0; i < ndim && ndim <= MAX_NDIM; i++) {
    shape[i] = kept?.shape[i] ?? WireTensor.shape(at, i);
  }
  const packed = kept?.dtype.packed ?? WireTensor.dtype(at);
  const [code, bits, lanes] = [packed & 0xff, (packed >> 8) & 0xff, packed >>> 16];
  switch (status) {
    case Status.nullManaged:
      return new ArgumentValueError('address', 'the address of a managed tensor', address);
    case Status.version:
      return new VersionError([WireTensor.versionMajor(at), WireTensor.versionMinor(at)], DLPACK_VERSION);
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
      return new MisalignedError(
        `Expected data aligned to its ${bits}-bit elements but its address is not; ask the producer for a copy`,
      );
    case Status.dtype: {
      const numbers = `(code ${code}, bits ${bits}, lanes ${lanes})`;
      return new UnsupportedDTypeError(numbers, `Expected at least one bit and one lane but received ${numbers}`);
    }
    default:
      return errorOf(status, WireTensor.nbytes(at));
  }
}
