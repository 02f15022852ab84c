/** A WebAssembly trap before and after libtvm_ffi is loaded. */

import { loadLibrary } from 'dlpack/tvm-ffi';
import { trap } from './trap.js';

const before = trap();
loadLibrary();
console.log(JSON.stringify([before, trap()]));
