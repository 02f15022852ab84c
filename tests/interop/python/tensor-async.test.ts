/** Results that become tensors on the thread of the pool. */

import { fromDLPack, isDLPackError, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { callAsync, callTensorAsync, kwargs, type PyObject, PythonError } from 'dlpack/python';
import { equal, ok, rejection } from '../../assert.js';
import { runChild } from '../../child.js';
import { collectUntil, testWith } from '../../harness.js';
import { define, probe, py, pythonMissing, settleUntil, versionedNumPyMissing } from './available.js';

const numpy = probe('numpy');
const torch = probe('torch');

testWith(numpy.missing, 'the tensor shares memory with the array, and no Python object is left over', async () => {
  const [kept, make] = define(
    'import numpy\nkept = []\ndef make(*shape, **k):\n  kept.append(numpy.zeros(shape, **k))\n  return kept[-1]',
    'kept',
    'make',
  );
  const { objects } = liveCounts();
  const x = await callTensorAsync(make, 2, 3, kwargs({ dtype: 'float32' }));
  equal([x.dtype, x.shape, x.device], ['float32', [2, 3], 'cpu']);
  ok(liveCounts().objects <= objects); // fewer when the collector ran meanwhile
  py.exec('');
  using first = py.getItem(kept, 0);
  first.fill(7);
  equal(x.get(1, 2), 7);
  x.set(0, 0, 8);
  equal(first.item(0), 8);
  x.dispose();
});

testWith(versionedNumPyMissing(), 'layouts of every sort arrive as fromDLPack imports them', async () => {
  const cases: [string, unknown][] = [
    [
      'numpy.arange(6).reshape(2, 3).T',
      [
        [0n, 3n],
        [1n, 4n],
        [2n, 5n],
      ],
    ],
    ['numpy.arange(4.0)[::-1]', [3, 2, 1, 0]],
    ['numpy.zeros((0, 3))', []],
    ['numpy.array(5, dtype="int16")', 5],
    ['bytearray(b"ab")', [97, 98]],
    [
      'numpy.broadcast_to(numpy.float32(1), (2, 2))',
      [
        [1, 1],
        [1, 1],
      ],
    ],
  ];
  for (const [expression, expected] of cases) {
    const [make] = define(`import numpy\nmake = lambda: ${expression}`, 'make');
    const x = await callTensorAsync(make);
    equal(x.toArray(), expected, expression);
    x.dispose();
  }
});

testWith(torch.missing, 'PyTorch: the tensor of a model, and a clear error for one with a gradient', async () => {
  const { nn } = py.import('torch');
  const model = nn.Linear(3, 2);
  const x = Tensor.from([[1, 2, 3]], { dtype: 'float32' });
  const error = await rejection(callTensorAsync(model, x));
  ok(error instanceof PythonError && error.type === 'BufferError' && /detach\(\)/.test(error.message), String(error));
  model.requires_grad_(false);
  using y = await callTensorAsync(model, x);
  equal(y.shape, [1, 2]);
});

testWith(pythonMissing, 'what is no tensor, and what the function raises, reject the promise', async () => {
  const none = await rejection(callTensorAsync(py.eval('lambda: None')));
  ok(none instanceof PythonError && none.type === 'AttributeError', String(none));
  const raised = await rejection(callTensorAsync(py.eval('lambda: 1 / 0')));
  ok(raised instanceof PythonError && raised.type === 'ZeroDivisionError', String(raised));
  ok(/tensor-async\.test/.test(raised.stack ?? ''), raised.stack ?? '');
  ok(isDLPackError(await rejection(callTensorAsync('no' as PyObject)), 'TypeError'));
});

testWith(versionedNumPyMissing(), 'a refused tensor: the error names what was refused', async () => {
  const [make] = define(
    'import numpy\nmake = lambda: numpy.frombuffer(bytes(17), dtype="uint8")[1:].view("float64")',
    'make',
  );
  const error = await rejection(callTensorAsync(make));
  ok(isDLPackError(error, 'BufferError') && /aligned to its 64-bit elements/.test(error.message), String(error));
});

testWith(numpy.missing, 'the results of abandoned calls are dropped', async () => {
  const [event, started, dropped, make] = define(
    `
import numpy, threading, weakref
event = threading.Event()
started, dropped = [], []
def make():
  started.append(1)
  event.wait()
  result = numpy.zeros(1 << 20)
  weakref.finalize(result, dropped.append, 1)
  return result
`,
    'event',
    'started',
    'dropped',
    'make',
  );
  const { imports } = liveCounts();
  const controllers = Array.from({ length: 4 }, () => new AbortController());
  const calls = controllers.map(({ signal }) => rejection(callTensorAsync.with({ signal })(make)));
  // With timers, because other asynchronous calls would wait behind these.
  ok(await collectUntil(() => started.__len__() > 0));
  for (const controller of controllers) controller.abort(new RangeError('enough'));
  for (const call of calls) ok((await call) instanceof RangeError);
  event.set();
  const areDropped = () => dropped.__len__() === started.__len__() && liveCounts().imports <= imports;
  ok(await collectUntil(areDropped), `${liveCounts().imports - imports} more`);
});

const describable = { numpy: versionedNumPyMissing(), torch: torch.missing };
for (const [name, missing] of Object.entries(describable)) {
  testWith(
    missing,
    `results are read and released, and calls start, while a thread of Python holds the GIL: ${name}`,
    () => {
      const { code, output } = runChild(import.meta.url, './children/busy-python.js', { args: [name] });
      equal(code, 0, output);
      equal(output.trim(), 'ok cat');
    },
  );
}

testWith(numpy.missing, 'thousands of tensors that nobody disposes are collected', async () => {
  const [make] = define('import numpy\nmake = lambda: numpy.zeros(16)', 'make');
  const { imports } = liveCounts();
  for (let i = 0; i < 2000; i++) await callTensorAsync(make);
  ok(await settleUntil(() => liveCounts().imports <= imports + 100), `${liveCounts().imports - imports} more`);
});

/** A function that makes an array of three ones, and how many references Python counts to an object besides its own. */
const counted = (library: string): PyObject[] =>
  define(
    `import sys, weakref, ${library} as library\nmake = lambda: library.ones((3,))\ncount = lambda x: sys.getrefcount(x)`,
    'make',
    'count',
  );

for (const [name, { missing }] of Object.entries({ numpy, torch })) {
  testWith(missing, `fromDLPack of a result is what the object is now, and both own the memory: ${name}`, async () => {
    const [make] = counted(name) as [PyObject];
    const total = py.eval('lambda x: float(x.sum())');
    fromDLPack(await callAsync(make)); // the first tensor of a class and dtype of PyTorch
    const object = await callAsync(make);
    const x = fromDLPack(object) as Tensor;
    const y = fromDLPack(object) as Tensor;
    x.set(1, 7);
    equal([y.get(1), total(object)], [7, 9]);
    x.dispose();
    y.dispose();
    equal(total(object), 9);
    const later = await callAsync(make);
    py.eval('lambda x: x.__setitem__(0, 5)')(later);
    equal((fromDLPack(later) as Tensor).toArray(), [5, 1, 1]);
    equal((fromDLPack(later, { copy: true }) as Tensor).toArray(), [5, 1, 1]);
  });

  testWith(missing, `a result is an object like any other, and is released at once: ${name}`, async () => {
    const [make, count] = counted(name) as [PyObject, PyObject];
    const uses: [string, (object: PyObject) => unknown][] = [
      ['nothing', () => {}],
      ['a tensor', (object) => (fromDLPack(object) as Tensor).dispose()],
      ['an operation', (object) => object.shape],
      ['a call', (object) => callAsync(count, object)],
    ];
    for (const [use, action] of uses) {
      const object = await callAsync(make);
      const weak = py.import('weakref').ref(object);
      await action(object);
      equal(count(object), count(make()), use);
      py.release(object);
      equal(weak(), null, use);
    }
  });
}

testWith(numpy.missing, 'an array that only JavaScript holds can be resized', async () => {
  const [make] = counted('numpy') as [PyObject];
  const object = await callAsync(make);
  object.resize(5);
  equal((fromDLPack(object) as Tensor).shape, [5]);
});

testWith(
  numpy.missing,
  'arrays that nobody imported are dropped when their worker ends, and when the process ends',
  () => {
    const { code, signal, output } = runChild(import.meta.url, './children/unread-results.js');
    equal([code, signal, output.trim()], [0, null, '50 0 50'], output);
  },
);
