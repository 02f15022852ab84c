/** Python's tvm_ffi replaces a builtin function before this package loads the library. */

import { python } from 'dlpack/python';
import { getGlobalFunc, TVMFFIError } from 'dlpack/tvm-ffi';

const py = python();
py.exec(`
import tvm_ffi
tvm_ffi.register_global_func('ffi.Array', lambda *args: 'not an array', override=True)
`);
try {
  console.log(getGlobalFunc('ffi.ReprPrint')([1, 2, 3]));
} catch (error) {
  if (!(error instanceof TVMFFIError)) throw error;
  console.log(`${error.tag} ${error.kind}: ${error.message}`);
}
process.exit(0);
