/** Prints the version of the library. */

import { loadRuntime } from 'dlpack/onnxruntime';
import './library.js';

console.log(loadRuntime().version);
