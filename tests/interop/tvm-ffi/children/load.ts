/** Loads libtvm_ffi from the place in the arguments, in a folder without a virtual environment; prints the result. */

import { tmpdir } from 'node:os';
import { isDLPackError, Tensor } from 'dlpack';
import { getGlobalFunc, loadLibrary } from 'dlpack/tvm-ffi';

const [path, second] = process.argv.slice(2);
process.chdir(tmpdir());
try {
  const loaded = loadLibrary(path ? { path } : {});
  const again = second ? loadLibrary({ path: second }) : loaded;
  console.log(JSON.stringify({ loaded, again, works: typeof getGlobalFunc('ffi.Array') }));
} catch (error) {
  if (!isDLPackError(error, 'LoadError')) throw error;
  const rest = Tensor.from([1, 2], { dtype: 'float32' }).toArray();
  console.log(JSON.stringify({ message: error.message, tried: error.tried, rest }));
}
