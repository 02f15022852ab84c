/** Prints what loading libtvm_ffi and the CUDA driver by name gives: nothing, or which files were tried and why not. */

import { isDLPackError } from 'dlpack';
import { loadDriver } from 'dlpack/cuda';
import { loadLibrary } from 'dlpack/tvm-ffi';

function attempt(action: () => unknown): readonly string[] {
  try {
    action();
    return [];
  } catch (error) {
    if (!isDLPackError(error, 'LoadError')) throw error;
    return error.tried;
  }
}

console.log(JSON.stringify([...attempt(loadLibrary), ...attempt(loadDriver)]));
