/** Reports in debug mode where native code gets a copy, into which it writes without an effect on the program's array. */

import { origin } from '../../storage/debug.js';
import type { Descriptor } from '../../storage/descriptor.js';

const reported = new Set<string>();

/** Warns once for each place in the program. */
export function reportCopy({ dtype, shape }: Descriptor): void {
  const place = origin();
  if (reported.has(place)) return;
  reported.add(place);
  const text =
    `Native code gets a copy of a ${dtype.name} tensor of shape [${shape.join(', ')}], because its JavaScript buffer can ` +
    'move. What native code writes does not reach the array. Tensor.from and Tensor.adopt make tensors that it shares.';
  process.emitWarning(`${text}\n${place}`, { type: 'DLPackWarning', code: 'DLPACK_COPY' });
}
