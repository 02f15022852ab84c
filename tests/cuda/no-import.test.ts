import { equal } from '../assert.js';
import { resultOf, runChild } from '../child.js';
import { testWith } from '../harness.js';
import { fakeDriverPath, fakeMissing } from './fake.js';

testWith(fakeMissing, 'the first use of a device loads dlpack/cuda', () => {
  const { output } = runChild(import.meta.url, './children/no-import.js', {
    env: { DLPACK_CUDA_DRIVER: fakeDriverPath },
  });
  equal(resultOf(output), ['cuda:0', [1, 2, 3], [0, 0]]);
});
