/** State that Python's libraries keep for each thread follows an asynchronous call. */

import { availableParallelism } from 'node:os';
import { callAsync, kwargs, type PyObject } from 'dlpack/python';
import { equal, rejection } from '../../assert.js';
import { runChild } from '../../child.js';
import { testWith, unless } from '../../harness.js';
import { define, probe, py } from './available.js';

const numpy = probe('numpy');
const torch = probe('torch');

/** Runs `action` inside Python's `with manager`. */
async function inside(manager: PyObject, action: () => Promise<void>): Promise<void> {
  manager.__enter__();
  try {
    await action();
  } finally {
    manager.__exit__(null, null, null);
  }
}

testWith(numpy.missing || (String(numpy.module.__version__).startsWith('1.') && 'NumPy 2'), 'np.errstate', async () => {
  const [divide] = define('import numpy\ndivide = lambda: numpy.geterr()["divide"]', 'divide');
  await inside(numpy.module.errstate(kwargs({ divide: 'raise' })), async () => equal(await callAsync(divide), 'raise'));
  equal(await callAsync(divide), 'warn');
});

testWith(torch.missing, "PyTorch's gradients, inference mode and autocast", async () => {
  const [modes, fails] = define(
    `import torch
def modes():
  cast = str(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else "none"
  return f"{torch.is_grad_enabled()} {torch.is_inference_mode_enabled()} {cast}"
def fails():
  raise ValueError(modes())`,
    'modes',
    'fails',
  );
  const { autocast, bfloat16, inference_mode, no_grad } = torch.module;
  const cases: [PyObject, string][] = [
    [no_grad(), 'False False none'],
    [inference_mode(), 'False True none'],
    [autocast('cpu', kwargs({ dtype: bfloat16 })), 'True False torch.bfloat16'],
  ];
  for (const [mode, expected] of cases) {
    await inside(mode, async () => {
      equal(await callAsync(modes), expected);
      equal(String(await rejection(callAsync(fails))).includes(expected), true, 'also where the call fails');
    });
    // The threads of the pool are as before.
    const all = await Promise.all(Array.from({ length: 8 }, () => callAsync(modes)));
    equal(all, new Array(8).fill('True False none'));
  }
});

testWith(torch.missing, "PyTorch's autocast for CUDA", async () => {
  const modes = py.eval(`lambda torch: lambda: f"{torch.is_autocast_enabled('cpu')} " + (
    str(torch.get_autocast_dtype('cuda')) if torch.is_autocast_enabled('cuda') else 'none')`)(torch.module) as PyObject;
  const { autocast, float16 } = torch.module;
  // Without a GPU PyTorch turns this mode off as soon as a program enters it. Its flags need no GPU.
  const unavailable = 'torch.cuda.amp.common.amp_definitely_not_available';
  await inside(py.import('unittest.mock').patch(unavailable, py.eval('lambda: False')), async () => {
    await inside(autocast('cuda', kwargs({ dtype: float16 })), async () => {
      equal(await callAsync(modes), 'False torch.float16');
    });
    const all = await Promise.all(Array.from({ length: 8 }, () => callAsync(modes)));
    equal(all, new Array(8).fill('False none'));
  });
});

testWith(torch.missing, 'a mode that changes between two calls', async () => {
  const { set_grad_enabled, is_grad_enabled } = torch.module;
  const event = py.import('threading').Event();
  const waiting = callAsync(event.wait); // a call is running, so the snapshot is renewed
  try {
    set_grad_enabled(false);
    equal(await callAsync(is_grad_enabled), false);
    set_grad_enabled(true);
    equal(await callAsync(is_grad_enabled), true);
  } finally {
    event.set();
    await waiting;
  }
});

const notLinux = unless(process.platform === 'linux', 'the threads of PyTorch follow the option on Linux');
testWith(
  notLinux || torch.missing,
  'PyTorch gets the cores that the named threads leave, unless the program chooses',
  () => {
    const threads = (env: Record<string, string>, ...args: (number | string)[]): number => {
      const { output } = runChild(import.meta.url, './children/torch-threads.js', { args: args.map(String), env });
      return Number(output);
    };
    const cores = availableParallelism();
    equal(threads({}, 1), cores);
    equal(threads({}, cores), 1);
    equal(threads({}, cores + 1), 1, 'more threads than cores');
    equal(threads({}, cores, cores + 1), cores + 1, 'set_num_threads');
    equal(threads({}, 'worker', cores), 1, 'imported by a worker that has ended');
    equal(threads({ OMP_NUM_THREADS: '1' }, 1), 1, 'OMP_NUM_THREADS');
    equal(threads({}), threads({ OMP_NUM_THREADS: String(cores) }), 'without a named number, its own');
  },
);
