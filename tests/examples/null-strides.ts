/** The example addon takes a vector without strides, as producers before DLPack 1.2 send it. */

import { createRequire } from 'node:module';
import { fromDLPack, type NativeExternal } from 'dlpack';
import { peer } from '../native/peer.js';

const { scale } = createRequire(import.meta.url)('../../native/scale.node') as {
  scale(external: NativeExternal): NativeExternal;
};
const external = () => peer.makeExternal({ shape: [3n], minor: 1 });
const [before, after] = [fromDLPack(external()), fromDLPack(scale(external()))];
console.log(`RESULT ${JSON.stringify([before.toArray(), after.toArray()])}`);
