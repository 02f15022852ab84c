/** Ends the process with objects of every kind alive. */

import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { exportManaged, importManaged } from 'dlpack/native';
import { shareTensor } from 'dlpack/shared';
import { peer, peerMissing } from '../peer.js';

const kept: unknown[] = [];
for (let i = 0; i < 100; i++) {
  const x = Tensor.from([1, 2, 3]);
  const adopted = Tensor.adopt(new Float32Array(8));
  kept.push(x, x.data, adopted, adopted.data, exportManaged(x), exportManaged(adopted));
  kept.push(shareTensor(x).dlpackTicket);
  kept.push(x[Symbol.for('dlpack') as never]);
  if (peerMissing === false) {
    const imported = importManaged(peer.makeVersioned({ shape: [4n] }));
    kept.push(imported, imported.data, peer.makeExternal({ shape: [4n] }));
  }
}
(globalThis as { kept?: unknown }).kept = kept;
console.log('alive', liveCounts().storages > 0);
const [how] = process.argv.slice(2);
if (how === 'exit') process.exit(0);
if (how === 'throw') {
  process.exitCode = 1;
  throw new Error('on purpose');
}
