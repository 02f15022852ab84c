import { equal } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';
import { names } from './hazards.js';
import { missing } from './library.js';

/** Where ONNX Runtime gets an exception, the address sanitizer ends the process. */
const endsWithoutMemory = process.env.DLPACK_SANITIZER === 'address' && 'an allocator that may fail';

for (const name of names) {
  testWith(missing || (name === 'an output has 4 TiB' && endsWithoutMemory), name, () => {
    const { code, signal, output } = runChild(import.meta.url, './hazards.js', { args: [name] });
    equal([code, signal, output.trim()], [0, null, 'done'], output);
  });
}
