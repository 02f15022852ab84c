/** Python objects as arguments while Python has not imported tvm_ffi. */

import { isDLPackError } from 'dlpack';
import { python } from 'dlpack/python';
import { probe, testing } from '../peer.js';

const py = python();
py.exec('import numpy');
const sum = probe('sum_owned')(py.eval("numpy.arange(3, dtype='float32')"));
const called = testing('apply')(py.eval('lambda a, b: a + b'), 3, 5);
let tag: string | null = null;
try {
  probe('type_of')(py.eval('[1, 2]'));
} catch (error) {
  tag = isDLPackError(error) ? error.tag : String(error);
}
console.log(JSON.stringify({ sum, called, tag }));
