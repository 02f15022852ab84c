/** What a PythonError shows in logs: Python's traceback and the frames of the program, and nothing of this package. */

import { inspect } from 'node:util';
import { callAsync, type PyObject, PythonError } from 'dlpack/python';
import { equal, ok } from '../../assert.js';
import { testWith } from '../../harness.js';
import { define, py, pythonMissing } from './available.js';

const [fail, failLater] = (
  pythonMissing
    ? []
    : define(
        `
def inner(x): return 1 / x
def fail(x): return inner(x)
async def fail_later(x): return inner(x)
`,
        'fail',
        'fail_later',
      )
) as [PyObject, PyObject];

function caught(action: () => unknown): PythonError {
  try {
    action();
  } catch (error) {
    if (error instanceof PythonError) return error;
  }
  throw new Error('expected a PythonError');
}

/** The stack has the error first, then the traceback, then the function of the program, and no file of the package. */
function checkStack(error: PythonError, caller: string): void {
  const { stack } = error as { stack: string };
  const lines = stack.split('\n');
  equal(lines[0], 'PythonError: ZeroDivisionError: division by zero');
  equal(lines[1], 'Traceback (most recent call last):');
  ok(stack.includes('in fail') && stack.includes('in inner'), stack);
  ok(
    lines.some((line) => line.includes('at ') && line.includes(caller)),
    stack,
  );
  ok(!stack.includes('/dist/chunks/'), stack);
}

testWith(pythonMissing, 'the stack of a call, a promise and a future', async () => {
  function theCaller(): unknown {
    return [fail(0)]; // no tail call, for which some engines keep no frame
  }
  checkStack(
    caught(() => theCaller()),
    'theCaller',
  );
  const rejected = async (start: () => Promise<unknown>): Promise<PythonError> => {
    const [{ reason }] = (await Promise.allSettled([start()])) as [{ reason: PythonError }];
    return reason;
  };
  async function theAsyncCaller(): Promise<unknown> {
    return await callAsync(fail, 0);
  }
  checkStack(await rejected(theAsyncCaller), 'theAsyncCaller');
  async function theWaiter(): Promise<unknown> {
    return await py.async(failLater(0));
  }
  checkStack(await rejected(theWaiter), 'theWaiter');
});

testWith(pythonMissing, 'an error without a frame of Python, and a stack that a program replaces', () => {
  const error = caught(() => py.import('builtins').int('x'));
  ok(!(error.stack as string).includes('Traceback'), error.stack);
  error.stack = 'mine';
  equal(error.stack, 'mine');
});

testWith(pythonMissing, 'a logger sees text, and no object of Python', () => {
  const error = caught(() => fail(0));
  equal(Object.keys(error).sort(), ['tag', 'type']);
  ok(error.exception !== null && error.traceback.startsWith('Traceback'));
  const text = inspect(error);
  ok(text.includes('in inner') && !text.includes('exception:'), text);
});
