/** Paddle's dtypes and places tell the numbers of DLPack themselves, as no library in .venv does. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type DType, isDLPackError, Tensor } from 'dlpack';
import { type Python, python } from 'dlpack/python';
import { equal } from '../assert.js';
import { testWith } from '../harness.js';

const venv = fileURLToPath(new URL('../../../.venv-peers', import.meta.url));

/** Python with Paddle, or what is missing. */
function start(): Python | string {
  if (!existsSync(venv)) return '.venv-peers';
  try {
    const py = python({ venv });
    py.import('paddle');
    return py;
  } catch (error) {
    if (isDLPackError(error)) return error.message;
    throw error;
  }
}
const py = start();
const missing = typeof py === 'string' ? py : false;

testWith(missing, 'dtypes and devices of Paddle become names', () => {
  const converted = (expression: string) => {
    const { eval: evaluate, toJS, import: load } = py as Python;
    return toJS(evaluate(`lambda paddle: ${expression}`)(load('paddle')));
  };
  equal(converted("[hasattr(paddle.dtype, '__dlpack_data_type__'), hasattr(paddle.CPUPlace, '__dlpack_device__')]"), [
    true,
    true,
  ]);
  const names = ['bool', 'uint8', 'int64', 'bfloat16', 'float16', 'float32', 'float8_e4m3fn', 'complex64'];
  equal(converted(`[${names.map((name) => `paddle.${name}`).join()}]`), names);
  equal(converted('paddle.to_tensor([1.5]).dtype'), 'float32');
  equal(converted('paddle.to_tensor([1.5]).place'), 'cpu');
  equal(Tensor.from([1, 2]).astype(converted('paddle.int16') as DType).dtype, 'int16');
});
