/** Python on another thread: the event loop keeps running, Python reports back, a signal stops the waiting. */

import { fromDLPack, Tensor } from 'dlpack';
import { callAsync, kwargs, python } from 'dlpack/python';

const py = python();
const np = py.import('numpy');

// Several computations at once; NumPy releases Python's lock while it multiplies.
const a = Tensor.from([1, 2, 3, 4], { shape: [2, 2], dtype: 'float64' });
const products = await Promise.all([1, 2, 3].map((n) => callAsync(np.linalg.matrix_power, a, n)));
console.log(products.map((product) => fromDLPack(product, { dtype: 'float64' }).get(0, 0))); // [ 1, 7, 37 ]

// A JavaScript function is a Python callable, from any thread. What it throws, Python can catch, and it comes back as `cause`.
py.exec(`
def search(limit, *, report):
  for n in range(limit):
    report(n)
  return "found nothing"
`);
const { search } = py.import('__main__');
const report = (n: number) => {
  if (n === 3) throw new RangeError('far enough');
};
try {
  await callAsync(search, 1000, kwargs({ report }));
} catch (error) {
  console.log((error as Error).message); // JavaScriptError: RangeError: far enough
  console.log((error as Error).cause instanceof RangeError); // true
}

// The promise is rejected, the computation goes on without anybody waiting for it.
const { sleep } = py.import('time');
try {
  await callAsync.with({ signal: AbortSignal.timeout(10) })(sleep, 60);
} catch (error) {
  console.log((error as Error).name); // TimeoutError
}
