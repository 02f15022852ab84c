/** One exchange that ends the process, or would without a guard. */

import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { python } from 'dlpack/python';

const py = python();
py.import('sys').path.insert(0, fileURLToPath(new URL('../../../../../src/cli/python-matrix', import.meta.url)));
const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
const hazards: Record<string, () => unknown> = {
  'torch, negative stride of NumPy': () =>
    py.eval('__import__("torch").from_dlpack(__import__("numpy").arange(3)[::-1])'),
  // At 64 bytes: elsewhere JAX copies, and calls the deleter where an exception can be caught.
  'jax, NULL deleter': () =>
    py
      .eval(`(lambda np, s, jnp: (lambda a: jnp.from_dlpack(s.Producer(
      a, a.ctypes.data + -a.ctypes.data % 64, (2, 32, 1), [2], [1], versioned=False, deleter=None)))(np.zeros(99, np.uint8)))(
      __import__("numpy"), __import__("synthetic"), __import__("jax").numpy)`)
      [Symbol.dispose](),
  'torch, negative stride of JavaScript': () => py.import('torch').from_dlpack(x.flip()),
  'torch, behind another producer': () => py.import('torch').from_dlpack(py.import('synthetic').OnlyLegacy(x.flip())),
  'jax, JavaScript': () => py.import('jax.numpy').from_dlpack(x)[Symbol.dispose](),
};
console.log('about to');
hazards[process.argv[2] as string]?.();
py.import('gc').collect();
console.log('still here');
