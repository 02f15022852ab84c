import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { resultOf, runChild } from '../child.js';
import { testWith } from '../harness.js';
import { peerMissing } from '../native/peer.js';

/** The output of each example, as in its comments. */
const outputs: Record<string, string[]> = {
  basic: ['60', 'true', '[[ 1.,  2.,  3.],'],
  producer: ['42\n42'],
  addon: ['2', '4', '6'],
  python: ['7', '5n'],
  'python-async': ['[ 1, 7, 37 ]', 'JavaScriptError: RangeError: far enough', 'true', 'TimeoutError'],
  mdspan: [],
  checkpoint: ['1000', 'bfloat16 [ 2, 2 ] 8 bytes at', '[ 0.5, -0.5 ]', '[ 0, 0 ] 1001'],
  cuda: [],
  ...(process.platform === 'linux'
    ? {
        camera: ['frame 1: 10 10', 'frame 3: 30 30'],
        'cluster/all-reduce': ['rank 0: 3 30 1', 'rank 1: 3 30 1'],
        'cluster/data-loader': ['0 0 1 1 2 4 3 9', '4 16 5 25 6 36 7 49'],
      }
    : {}),
};

const kernelOutputs: Record<string, string[]> = {
  kernels: ['[ 2, 3, 4 ]', '[ 3, 5, 7 ]', 'ValueError as asked'],
  'kernels-python': ['[ 3, 4, 5 ]', 'tensor([2., 3., 4.])', 'ValueError: as asked', '[ 0, 1, 2 ]'],
};
const kernels = fileURLToPath(new URL('../../kernels/kernels.so', import.meta.url));
const kernelsMissing = existsSync(kernels) ? false : 'build/kernels/kernels.so (needs apache-tvm-ffi in .venv)';

for (const [name, expected] of Object.entries({ ...outputs, ...kernelOutputs })) {
  testWith(name in kernelOutputs ? kernelsMissing : false, `examples/${name}.ts`, () => {
    const { code, output } = runChild(import.meta.url, `../../examples/${name}.js`);
    equal(code, 0, output);
    for (const text of expected) ok(output.includes(text), `expected ${text} in\n${output}`);
  });
}

testWith(peerMissing, 'examples/addon: a vector without strides', () => {
  const [before, after] = resultOf<number[][]>(runChild(import.meta.url, './null-strides.js').output);
  equal(
    after,
    before?.map((value) => value * 2),
  );
});
