/** A tensor into a native addon (examples/addon/scale.cc) and back, without a copy. */

import { createRequire } from 'node:module';
import { fromDLPack, type NativeExternal, Tensor } from 'dlpack';
import { toExternal } from 'dlpack/native';

const { scale } = createRequire(import.meta.url)('../native/scale.node') as {
  scale(external: NativeExternal): NativeExternal;
};

const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
const y = fromDLPack(scale(toExternal(x)));
console.log([...x], [...y]); // [ 2, 4, 6 ] [ 2, 4, 6 ]
