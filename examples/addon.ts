/** A tensor into a native addon (examples/addon/scale.cc) and back, without a copy. */

import { createRequire } from 'node:module';
import { DLPACK, fromDLPack, Tensor } from 'dlpack';

const { scale } = createRequire(import.meta.url)('../native/scale.node') as { scale(external: object): object };

const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
const y = fromDLPack(scale(x[DLPACK]({ native: 'only' })));
console.log([...x], [...y]); // [ 2, 4, 6 ] [ 2, 4, 6 ]
