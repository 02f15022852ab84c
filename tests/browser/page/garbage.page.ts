/** Release by the collector of a browser. */

import { DLPACK, fromDLPack } from 'dlpack';
import { ok } from '../../assert.js';
import { collectUntil, test } from '../../harness.js';

test('tensors that are never disposed are released by the collector', async () => {
  let deleted = 0;
  const make = () => {
    fromDLPack({
      [DLPACK]: () => ({
        version: [1, 3],
        flags: 0,
        data: new ArrayBuffer(8),
        byteOffset: 0,
        shape: [2],
        strides: [1],
        dtype: { code: 2, bits: 32, lanes: 1 },
        device: { type: 1, id: 0 },
        deleter: () => deleted++,
      }),
    });
  };
  make();
  ok(await collectUntil(() => deleted === 1));
});
