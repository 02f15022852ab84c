/** Opens a description, prints the elements, and writes if it may. */

import { isDLPackError } from 'dlpack';
import { openTensor } from 'dlpack/shared';

try {
  const x = openTensor(JSON.parse(process.argv[2] as string));
  const values = [...x].map(Number);
  let wrote = 'wrote';
  try {
    x.fill((x.dtype === 'int64' ? 9n : 9) as never);
  } catch (error) {
    wrote = isDLPackError(error) ? error.tag : String(error);
  }
  console.log(JSON.stringify([x.dtype, x.shape, values, wrote]));
} catch (error) {
  console.log(isDLPackError(error) ? `${error.tag}: ${error.message}` : String(error));
}
