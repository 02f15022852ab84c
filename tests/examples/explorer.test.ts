/** The programs that the explorer (explorer/) writes: each makes the tensor that the page shows. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { python } from 'dlpack/python';
import { asJavaScript, asNumPy, asPyTorch } from '../../explorer/code.js';
import { build } from '../../explorer/model.js';
import { formatState, parseState, presets } from '../../explorer/state.js';
import { equal, ok } from '../assert.js';
import { test, testWith } from '../harness.js';

const lines = [
  ...presets.map(({ t }) => t),
  'float32[2,3].flip(0).expandDims(1).squeeze()',
  'int64[6].reshape([2,3]).slice(1,[0,3,2])',
  'uint8[4].astype("float64").copy()',
  'bfloat16[2,2].transpose().contiguous()',
  'int16[2,2];bytes=0a000b000c000d00',
];

test('a line of the address is read and written without a loss', () => {
  for (const line of [...lines, 'int4[3,3];padded', 'int8[2];readonly']) {
    equal(formatState(parseState(line)), line);
  }
  equal(formatState(parseState('nonsense')), 'float32[2,3]');
});

test('the JavaScript program makes the tensor', () => {
  for (const line of [...lines, 'int4[3,3];padded', 'int8[2];readonly']) {
    const state = parseState(line);
    const { tensor } = build(state);
    const program = asJavaScript(state)
      .replace(/^import .*\n/, '')
      .replace(/^console.*/m, 'return x;');
    const made = new Function('Tensor', program)(Tensor) as Tensor;
    equal(
      [made.dtype, made.shape, made.strides, made.isReadOnly],
      [tensor.dtype, tensor.shape, tensor.strides, tensor.isReadOnly],
      program,
    );
    ok(made.equals(tensor), program);
  }
});

const venv = fileURLToPath(new URL('../../../.venv/pyvenv.cfg', import.meta.url));
const missing = existsSync(venv) ? false : '.venv';

/** Shape, strides and values of `x` after a program, as JSON. */
function afterPython(program: string, strides: string): unknown {
  const py = python();
  py.exec(program);
  py.exec(`
    import json
    made = json.dumps([list(x.shape), list(${strides}), x.tolist()])
  `);
  return JSON.parse(py.eval<string>('made'));
}

/** `toArray` as Python's `tolist` shows it. */
const expected = (line: string): unknown => {
  const { tensor } = build(parseState(line));
  return JSON.parse(JSON.stringify([tensor.shape, tensor.strides, tensor.astype('float64').toArray()]));
};
const numbers = (value: unknown): unknown => JSON.parse(JSON.stringify(value, (_, one) => (one === true ? 1 : one)));

testWith(missing, 'the NumPy program makes the tensor', () => {
  for (const line of lines) {
    const made = afterPython(
      `${asNumPy(parseState(line))}\nx = x.astype(x.dtype if x.dtype.kind in "iufb" else np.float32, copy=False)`,
      '[stride // x.itemsize for stride in x.strides]',
    );
    if (line.startsWith('bfloat16')) equal((made as unknown[])[2], (expected(line) as unknown[])[2], line);
    else equal(numbers(made), expected(line), line);
  }
});

testWith(missing, 'the PyTorch program makes the tensor', () => {
  for (const line of lines) {
    const program = asPyTorch(parseState(line));
    if (line.startsWith('int4')) {
      equal(program, '# PyTorch cannot compute with int4.');
      continue;
    }
    const [shape, strides, values] = afterPython(program, 'x.stride()') as unknown[];
    const [shapeHere, stridesHere, valuesHere] = expected(line) as unknown[];
    // PyTorch's flip copies, so its strides are row-major.
    equal([shape, values], [shapeHere, valuesHere], program);
    if (!line.includes('flip')) equal(strides, stridesHere, program);
  }
});
