/** 4 MiB of float32 to NumPy and back, with one library; prints JSON. Arguments: the library and its folder. */

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { fromDLPack, Tensor } from 'dlpack';
import { python } from 'dlpack/python';
import { sample } from '../measure.js';

const [library = '', folder = ''] = process.argv.slice(2);
const LENGTH = 1 << 20;
const SUM = LENGTH; // the sum of the elements 1 and LENGTH - 1
const numbers = Float32Array.from({ length: LENGTH }, (_, i) => i);

interface Way {
  /** Returns the sum of two elements of the result, to check that the values arrived. */
  readonly run: () => number;
  readonly times: number;
}

function check(name: string, { run, times }: Way): number[] {
  const sum = run();
  if (sum !== SUM) throw new Error(`${library}, ${name}: expected ${SUM} but received ${sum}`);
  const batch = (n: number) => {
    for (let i = 0; i < n; i++) run();
  };
  batch(times);
  return sample(batch, times, 5);
}

const ends = (array: Float32Array): number => (array[1] as number) + (array[LENGTH - 1] as number);

const ways: Record<string, () => Record<string, Way>> = {
  dlpack() {
    const py = python();
    const np = py.import('numpy');
    const take = np.from_dlpack;
    const array = np.arange(LENGTH).astype('float32');
    const x = Tensor.from(numbers);
    const look = py.eval('lambda a: float(a[1] + a[-1])');
    const arrive = (tensor: Tensor): number => {
      const a = take(tensor);
      const sum = look(a) as number;
      a[Symbol.dispose]();
      return sum;
    };
    return {
      'Tensor to NumPy': { times: 500, run: () => arrive(x) },
      'Float32Array to NumPy': {
        times: 10,
        run: () => {
          const tensor = Tensor.from(numbers);
          const sum = arrive(tensor);
          tensor.dispose();
          return sum;
        },
      },
      'NumPy to JavaScript': {
        times: 500,
        run: () => {
          const tensor = fromDLPack(array);
          const sum = ends(tensor.data as Float32Array);
          tensor.dispose();
          return sum;
        },
      },
    };
  },
  pymport() {
    const { pymport, pyval, PyObject } = createRequire(`${folder}/index.js`)('pymport');
    const np = pymport('numpy');
    const builtins = pymport('builtins');
    const take = np.get('frombuffer');
    const memoryview = builtins.get('memoryview');
    const array = np.get('arange').call(LENGTH, { dtype: 'float32' });
    const look = pyval('lambda a: float(a[1] + a[-1])');
    return {
      'Float32Array to NumPy': {
        times: 50,
        run: () => look.call(take.call(PyObject.memoryview(Buffer.from(numbers.buffer)), { dtype: 'float32' })).toJS(),
      },
      'NumPy to JavaScript': {
        times: 10,
        run: () => {
          const bytes = memoryview.call(array).toJS() as Buffer;
          return ends(new Float32Array(bytes.buffer, bytes.byteOffset, LENGTH));
        },
      },
    };
  },
  'node-calls-python'() {
    const { interpreter } = createRequire(`${folder}/index.js`)('node-calls-python');
    const module = interpreter.importSync(
      fileURLToPath(new URL('../../../bench/drivers/python_peers.py', import.meta.url)),
    );
    return {
      'Float32Array to NumPy': { times: 10, run: () => interpreter.callSync(module, 'take', numbers) },
      'NumPy to JavaScript': {
        times: 10,
        run: () => ends(new Float32Array(interpreter.callSync(module, 'give') as ArrayBuffer)),
      },
    };
  },
};

const own = ways[library]?.() ?? {};
console.log(JSON.stringify(Object.fromEntries(Object.entries(own).map(([name, way]) => [name, check(name, way)]))));
// node-calls-python keeps the process alive.
process.exit(0);
