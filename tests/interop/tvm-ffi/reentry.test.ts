/** User code that runs in the middle of each kind of request, and makes requests of every kind itself. */

import { DLPACK, type DLPackRequest, Tensor } from 'dlpack';
import { setDebug } from 'dlpack/debug';
import { importManaged } from 'dlpack/native';
import {
  callAsync,
  currentStream,
  DataType,
  Dict,
  fromEnvAlloc,
  getGlobalFunc,
  List,
  RValue,
  registerGlobalFunc,
  removeGlobalFunc,
  Shape,
  setAllocator,
  setStreamProvider,
  TVM_FFI_VALUE,
  TVMFFIError,
  withStream,
} from 'dlpack/tvm-ffi';
import { equal, ok } from '../../assert.js';
import { runChild } from '../../child.js';
import { runtime, testWith } from '../../harness.js';
import { stormOfLayouts } from '../../layout-storm.js';
import { peer, peerMissing } from '../../native/peer.js';
import { kernelsMissing, probe, raises, testing } from './peer.js';

const floats = (...values: number[]) => Tensor.from(values, { dtype: 'float32' });

/** One request of every kind; each result is checked. */
function everything(): void {
  const echo = testing('echo');
  const x = floats(1, 2);
  equal(echo('a text of more than seven bytes'), 'a text of more than seven bytes');
  equal(echo('x'.repeat(10_000)), 'x'.repeat(10_000));
  equal(echo(new Uint8Array([1, 2, 3])), new Uint8Array([1, 2, 3]));
  equal(echo([1, ['two', [3]], new Map([['k', [4]]])]), [1, ['two', [3]], new Map([['k', [4]]])]);
  equal(
    echo(Array.from({ length: 300 }, (_, i) => i)),
    Array.from({ length: 300 }, (_, i) => i),
  );
  equal((echo(new List([1])) as List).toArray(), [1]);
  equal((echo(new Dict([['k', 2]])) as Dict).get('k'), 2);
  equal([...(echo(new Shape([5, 6])) as Shape)], [5, 6]);
  equal((echo(x) as Tensor).toArray(), [1, 2]);
  equal(probe('sum_view')(Tensor.wrap(new Float32Array([3, 4]))), 7);
  equal((testing('apply')((a: number) => a + 1, 41) as number) + 0, 42);
  equal(echo(new RValue([7])), [7]);
  raises('ValueError', 'inside', () =>
    testing('apply')(() => {
      throw new TVMFFIError('ValueError', 'inside', { cause: new Error('deeper') });
    }),
  );
  ok(echo(new RangeError('a value')) instanceof RangeError);
  equal(
    withStream('cuda:3', 9n, () => currentStream('cuda:3')),
    9n,
  );
  registerGlobalFunc('dlpack.test.reentry', () => 5, { override: true });
  equal(getGlobalFunc('dlpack.test.reentry')(), 5);
  removeGlobalFunc('dlpack.test.reentry');
  equal((probe('allocate')(new Shape([2]), new DataType('int8')) as Tensor).nbytes, 2);
  void callAsync(echo, 1, 'a text for another thread');
  x.dispose();
}

/** A value that runs user code while it is written. */
const substitute = (value: unknown) => ({
  [TVM_FFI_VALUE]: () => {
    everything();
    return value;
  },
});

/** A tensor of another library, whose methods are user code. */
const producer = (tensor: Tensor) => ({
  [DLPACK](request?: DLPackRequest) {
    everything();
    return tensor[DLPACK](request);
  },
});

testWith(kernelsMissing, 'while arguments are written', () => {
  const x = floats(1, 2, 3);
  const back = getGlobalFunc('ffi.Array')(
    'a first text on the wire',
    1.5,
    x,
    substitute('second'),
    producer(x),
    'third',
  ) as [string, number, Tensor, string, Tensor, string];
  equal([back[0], back[1], back[3], back[5]], ['a first text on the wire', 1.5, 'second', 'third']);
  equal(
    [back[2].toArray(), back[4].toArray()],
    [
      [1, 2, 3],
      [1, 2, 3],
    ],
  );
});

testWith(kernelsMissing, 'thousands of other layouts, while arguments are written and in a callback', () => {
  const x = Tensor.from([[1, 2, 3]], { dtype: 'float64' });
  const between = { [TVM_FFI_VALUE]: () => stormOfLayouts() };
  for (let call = 0; call < 3; call++) {
    const [first, , last] = getGlobalFunc('ffi.Array')(x, between, x.transpose()) as [Tensor, unknown, Tensor];
    equal(
      [first.shape, last.shape, last.toArray()],
      [
        [1, 3],
        [3, 1],
        [[1], [2], [3]],
      ],
    );
    const back = testing('apply')((y: Tensor) => {
      stormOfLayouts();
      return y.transpose();
    }, x) as Tensor;
    equal(
      [back.shape, back.strides],
      [
        [3, 1],
        [1, 3],
      ],
    );
  }
});

// Bun and Deno have no such hook.
if (runtime === 'node') {
  testWith(kernelsMissing, 'a stack-trace hook does not run in debug mode, so it cannot dispose the argument', () => {
    const x = floats(40, 2);
    const before = Error.prepareStackTrace;
    setDebug(true);
    try {
      Error.prepareStackTrace = () => {
        x.dispose();
        return 'hooked';
      };
      const back = testing('echo')(x) as Tensor;
      equal([back.toArray(), x.isDisposed], [[40, 2], false]);
      back.dispose();
    } finally {
      Error.prepareStackTrace = before;
      setDebug(false);
    }
    x.dispose();
  });
}

testWith(kernelsMissing, 'while containers are built, short, long and deep', () => {
  const echo = testing('echo');
  equal(echo(['a text of some length', substitute(2), [substitute('three'), 'four and more']]), [
    'a text of some length',
    2,
    ['three', 'four and more'],
  ]);
  const long = Array.from({ length: 200 }, (_, i) => `element ${i} of the array`) as unknown[];
  long[130] = substitute('in the middle');
  const expected = long.slice();
  expected[130] = 'in the middle';
  equal(echo(long), expected);
  let deep: unknown = [substitute('innermost')];
  for (let i = 0; i < 30; i++) deep = ['before', deep, 'after'];
  let inner = echo(deep) as unknown[];
  for (let i = 0; i < 30; i++) inner = inner[1] as unknown[];
  equal(inner, ['innermost']);
  equal([...(echo(new Map([[substitute('key'), substitute('value')]])) as Map<string, string>)], [['key', 'value']]);
  const many = Array.from({ length: 400 }, (_, i) => (i === 399 ? substitute(i) : i));
  equal((getGlobalFunc('ffi.Array')(...many) as number[])[399], 399);
});

testWith(kernelsMissing, 'in callbacks, their results and their errors', () => {
  const x = floats(4);
  equal(
    testing('apply')(
      (text: string, tensor: Tensor, list: unknown[]) => {
        everything();
        return [text, tensor, list, substitute('result')];
      },
      'an argument of a callback',
      x,
      [1, 2],
    ),
    ['an argument of a callback', x, [1, 2], 'result'],
  );
  equal(
    probe('causes_of')(() => {
      throw Object.defineProperty(new Error(), 'message', {
        get: () => {
          everything();
          return 'a message that is computed';
        },
      });
    }),
    ['Error: a message that is computed'],
  );
  equal(
    probe('call_with_many')((...args: number[]) => {
      everything();
      return args.length;
    }, 500),
    500,
  );
});

testWith(kernelsMissing, 'in allocators', () => {
  let isInside = false;
  setAllocator((shape, dtype) => {
    if (!isInside) {
      isInside = true;
      everything();
      isInside = false;
    }
    return Tensor.zeros(shape, dtype);
  });
  try {
    equal((probe('allocate')(new Shape([3]), new DataType('int8')) as Tensor).nbytes, 3);
    equal(fromEnvAlloc([2], 'int16').nbytes, 4);
  } finally {
    setAllocator(null);
  }
});

testWith(kernelsMissing || peerMissing, 'in stream providers', () => {
  const x = importManaged(peer.makeVersioned({ shape: [1n], code: 2, bits: 32, device: 2, deviceId: 1 }));
  setStreamProvider(() => {
    everything();
    return 0x77n;
  });
  try {
    equal(probe('stream_of')(x), 0x77);
  } finally {
    setStreamProvider(null);
  }
});

testWith(kernelsMissing, 'in options, and while a function is registered', () => {
  const name = 'dlpack.test.reentry.outer';
  registerGlobalFunc(name, () => 6, {
    get override() {
      everything();
      return true;
    },
  });
  equal(getGlobalFunc(name)(), 6);
  removeGlobalFunc(name);
});

testWith(kernelsMissing, 'asynchronous calls settle while others are made', async () => {
  const calls = Array.from({ length: 20 }, (_, i) => callAsync(testing('echo'), `text number ${i}`));
  everything();
  equal(
    await Promise.all(calls),
    Array.from({ length: 20 }, (_, i) => `text number ${i}`),
  );
});

testWith(kernelsMissing, 'two instances of the package in one thread', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/instances.js');
  equal([code, signal], [0, null], output);
  equal(JSON.parse(output.trim().split('\n').at(-1) as string), {
    calls: [42, 43, 'first, second'],
    crossed: ['from the first', 'from the second'],
    nested: ['outer', ['inner', 'outer']],
    allocated: [3, 5, ['first', 'second']],
    errors: ['of the first', 'of the second'],
    async: ['async first', 'async second'],
    written: 9,
    isOther: true,
  });
});
