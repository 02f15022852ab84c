/** A checkpoint: written, inspected without reading its data, one tensor changed, and written again. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tensor } from 'dlpack';
import { openSafetensors, writeSafetensors } from 'dlpack/files';

const folder = mkdtempSync(join(tmpdir(), 'dlpack-'));
const path = join(folder, 'model.safetensors');

await writeSafetensors(
  path,
  {
    'layer.weight': Tensor.from(
      [
        [1, 2],
        [3, 4],
      ],
      { dtype: 'bfloat16' },
    ),
    'layer.bias': Tensor.from([0.5, -0.5], { dtype: 'float32' }),
  },
  { metadata: { step: '1000' } },
);

{
  using checkpoint = await openSafetensors(path); // mapped: nothing of the data is read
  console.log(checkpoint.metadata.step); // 1000
  for (const name of checkpoint.names) {
    const { dtype, shape, nbytes, offset } = checkpoint.info(name);
    console.log(name, dtype, shape, `${nbytes} bytes at ${offset}`);
  }
}

// 'c': tensors can be written, and the file stays as it is until it is replaced as a whole.
using checkpoint = await openSafetensors(path, { mode: 'c' });
checkpoint.get('layer.bias').fill(0);
console.log((await openSafetensors(path)).get('layer.bias').toArray()); // [ 0.5, -0.5 ]

await writeSafetensors(path, checkpoint, { metadata: { step: '1001' } });
const changed = await openSafetensors(path);
console.log(changed.get('layer.bias').toArray(), changed.metadata.step); // [ 0, 0 ] 1001

rmSync(folder, { recursive: true });
