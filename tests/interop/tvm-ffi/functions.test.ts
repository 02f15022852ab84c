import { Tensor } from 'dlpack';
import { liveCounts, setDebug } from 'dlpack/debug';
import {
  getGlobalFunc,
  globalFuncNames,
  loadLibrary,
  registerGlobalFunc,
  removeGlobalFunc,
  TVMFFIError,
  toFunction,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { collect, collectUntil, testWith } from '../../harness.js';
import { ffiMissing, kernelsMissing, probe, raises, testing } from './peer.js';

testWith(ffiMissing, 'global functions are found and listed, and missing functions throw', () => {
  equal(testing('add_one')(1), 2);
  const names = globalFuncNames();
  ok(names.includes('testing.add_one') && names.includes('ffi.Array'));
  equal(names, [...names].sort());
  equal(getGlobalFunc('no.such.function', { allowMissing: true }), null);
  throws('TypeError', "did you mean 'allowMissing'?", () => getGlobalFunc('x', { allow_missing: true } as never));
  throws('TypeError', "did you mean 'override'?", () => registerGlobalFunc('x', () => 1, { overide: true } as never));
  throws('TypeError', "received 'file'", () => loadLibrary({ file: 'x' } as never));
  throws('ValueError', 'no.such.function', () => getGlobalFunc('no.such.function'));
  throws('TypeError', 'a string', () => getGlobalFunc(1 as never));
});

testWith(ffiMissing, 'JavaScript functions can be registered under a name', () => {
  const native = registerGlobalFunc('dlpack.test.double', (x: number) => x * 2);
  equal([native(4), getGlobalFunc('dlpack.test.double')(5)], [8, 10]);
  raises('RuntimeError', 'already registered', () => registerGlobalFunc('dlpack.test.double', () => 0));
  registerGlobalFunc('dlpack.test.double', (x: number) => x + x + 1, { override: true });
  equal(getGlobalFunc('dlpack.test.double')(5), 11);
  equal([removeGlobalFunc('dlpack.test.double'), removeGlobalFunc('dlpack.test.double')], [true, false]);
  equal(getGlobalFunc('dlpack.test.double', { allowMissing: true }), null);
  const meddling = {
    get override() {
      equal(testing('add_one')(1), 2);
      toFunction(() => 'another');
      return true;
    },
  };
  registerGlobalFunc('dlpack.test.own', () => 'own', meddling);
  equal(getGlobalFunc('dlpack.test.own')(), 'own');
  removeGlobalFunc('dlpack.test.own');
  for (const bad of [true, null, 'name', []]) {
    const options = bad as never;
    throws('TypeError', 'an object such as', () => getGlobalFunc('testing.add_one', options));
    throws('TypeError', 'an object such as', () => registerGlobalFunc('dlpack.test.own', () => 0, options));
    throws('TypeError', 'an object such as', () => loadLibrary(options));
  }
});

testWith(ffiMissing, 'callbacks get every kind of argument and return every kind of result', () => {
  const apply = testing('apply');
  const x = Tensor.from([1, 2], { dtype: 'float32' });
  const seen = apply((...args: unknown[]) => args, 1, 2.5, 'text', 'a longer text', null, true, [1], x) as unknown[];
  equal(seen.slice(0, 7), [1, 2.5, 'text', 'a longer text', undefined, true, [1]]);
  (seen[7] as Tensor<'float32'>).set(0, 9);
  equal(x.get(0), 9);
  equal(
    apply(() => undefined),
    undefined,
  );
  equal(
    apply(() => 'a string that is longer than seven bytes'),
    'a string that is longer than seven bytes',
  );
  equal((apply(() => (y: number) => y + 1) as (y: number) => number)(1), 2);
  equal((apply(() => Tensor.wrap(new Float32Array([5]))) as Tensor).toArray(), [5]);
});

testWith(ffiMissing, 'calls nest as deep as the wire allows, then fail', () => {
  const apply = testing('apply');
  const countDown = (n: number): number => (n === 0 ? 0 : 1 + (apply(countDown, n - 1) as number));
  equal(countDown(100), 100);
  const forever = (text: string): unknown => apply(forever, `${text}, again`);
  let message = '';
  try {
    forever('once');
  } catch (error) {
    message = (error as Error).message;
  }
  ok(/nested calls|call stack|stack is full/.test(message), message);
  equal(countDown(3), 3);
});

testWith(kernelsMissing, 'native code can handle the error of a callback that finds the stack full', () => {
  const errorOf = probe('error_of');
  let calls = 0;
  let handled = 0;
  const take = () => void calls++;
  /** Fills the stack, and calls from each level on the way back until there is room for the callback. */
  const descend = (): void => {
    try {
      descend();
    } catch (error) {
      try {
        const raised = errorOf(take) as Error;
        if (raised.message.includes('stack is full')) handled++;
      } catch {}
      if (calls === 0) throw error;
    }
  };
  descend();
  ok(handled > 0, 'no callback found the stack full');
  equal([calls, (errorOf(take) as Error).message], [1, 'nothing was thrown']);
});

testWith(ffiMissing, 'endless recursion through native code ends with an error, each time', () => {
  // Depths at which V8 would compile the regular expressions of an error with a full stack, which ends the process.
  for (const levels of ['0', '33', '66']) {
    const { code, signal, output } = runChild(import.meta.url, './children/endless.js', { args: [levels] });
    equal([code, signal, output.split('\n')[0]], [0, null, '3'], output); // Deno prints warnings after it
  }
});

testWith(ffiMissing, 'views of arguments end with the callback, or the call around it, where the stack is full', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/ended-views.js');
  equal([code, signal, output.split('\n')[0]], [0, null, 'DisposedError'], output); // Deno prints warnings after it
});

testWith(ffiMissing, 'what was made for a result is released with the callback', () => {
  const before = liveCounts();
  const large = toFunction(() => Tensor.wrap(new Float32Array(4)));
  const counts = new Set<number>();
  const outer = toFunction(() => {
    for (let i = 0; i < 10; i++) {
      (large() as Tensor).dispose();
      counts.add(liveCounts().storages - before.storages);
    }
  });
  testing('apply')(outer);
  equal([...counts], [0]);
  const long = toFunction(() => 'text'.repeat(2000)); // too long for the wire
  equal((testing('apply')(long) as string).length, 8000);
});

testWith(kernelsMissing, 'a view that a callback returns is a tensor that its caller keeps', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
  const y = testing('apply')(() => x.view()) as Tensor;
  y.set(0, 9);
  equal(x.toArray(), [9, 2, 3]);
  x.dispose();
  equal(y.toArray(), [9, 2, 3]);
  const shown = testing('apply')(() => Tensor.wrap(new Float32Array([4])).view()) as Tensor;
  equal(shown.toArray(), [4]);
});

testWith(kernelsMissing, 'a string that is too long for JavaScript gives an error, not undefined', () => {
  const repeat = probe('repeat');
  equal(repeat('ab', 3), 'ababab');
  const length = 2 ** 29;
  try {
    equal((repeat('x'.repeat(2 ** 20), length / 2 ** 20) as string).length, length); // some engines have such strings
  } catch (error) {
    ok(error instanceof TVMFFIError && error.kind === 'OverflowError', String(error));
  }
});

testWith(ffiMissing, 'native errors have a kind, a message and a backtrace', () => {
  const error = raises('ValueError', 'as asked', () => testing('test_raise_error')('ValueError', 'as asked'));
  equal([error.name, error.tag], ['TVMFFIError', 'TVMFFIError']);
  ok(error.backtrace.includes('TestRaiseError'), error.backtrace);
});

testWith(kernelsMissing, 'errors carry their cause', () => {
  const error = raises('ValueError', 'outer', () => probe('fail_with_cause')('inner', 'outer'));
  ok(error.cause instanceof TVMFFIError);
  equal([error.cause.kind, error.cause.message], ['KeyError', 'inner']);
});

testWith(kernelsMissing, 'JavaScript errors reach native code with their causes', () => {
  const causesOf = (error: unknown) =>
    probe('causes_of')(() => {
      throw error;
    });
  const inner = new RangeError('inner');
  equal(causesOf(new Error('outer', { cause: new TVMFFIError('KeyError', 'middle', { cause: inner }) })), [
    'Error: outer',
    'KeyError: middle',
    'RangeError: inner',
  ]);
  equal(causesOf(new Error('alone', { cause: 'no error' })), ['Error: alone']);
  const cycle = new Error('again');
  cycle.cause = cycle;
  equal((causesOf(cycle) as string[]).length, 17);
  const hostile = new Error('hostile');
  Object.defineProperty(hostile, 'cause', {
    get() {
      throw new RangeError('from a getter');
    },
  });
  equal(causesOf(hostile), ['Error: hostile']);
});

testWith(kernelsMissing, 'a call from another thread fails there, and the error says why', () => {
  let calls = 0;
  const message = probe('call_on_thread')(() => ++calls) as string;
  ok(message.startsWith('RuntimeError: Expected a call on the JavaScript thread'), message);
  equal(calls, 0);
});

testWith(kernelsMissing, 'a function that native code keeps lives until it is released, on any thread', async () => {
  const before = liveCounts().imports;
  let calls = 0;
  probe('keep')(() => ++calls);
  for (let i = 0; i < 5; i++) await collect();
  (probe('kept')() as () => number)();
  equal(calls, 1);
  probe('forget_on_thread')();
  ok(await collectUntil(() => liveCounts().imports <= before), `${liveCounts().imports - before} functions pinned`);
});

testWith(ffiMissing, 'a thousand calls with values of all kinds leave nothing behind', async () => {
  const echo = testing('echo');
  const apply = testing('apply');
  const x = Tensor.from([1], { dtype: 'float32' });
  for (let i = 0; i < 2; i++) echo(x); // the second call makes the object that the tensor keeps
  const before = liveCounts();
  const isBack = () => {
    const now = liveCounts();
    return now.storages <= before.storages && now.imports <= before.imports && now.exports <= before.exports;
  };
  for (let i = 0; i < 1000; i++) {
    echo([x, 'a string of some length', { key: new Uint8Array(100) }]);
    apply((y: Tensor) => y, x);
    try {
      apply(() => {
        throw new RangeError('again');
      }, [x]);
    } catch {
      // The loop counts the elements without reading them.
    }
  }
  ok(await collectUntil(isBack), JSON.stringify({ before, now: liveCounts() }));
});

testWith(ffiMissing, 'toFunction takes functions only', () => {
  throws('TypeError', 'a function', () => toFunction('x' as never));
  const add = testing('add_one');
  equal(toFunction(add as never)(1), 2);
});

testWith(
  kernelsMissing,
  'debug mode reports the copy of wrapped memory that a callback returns once, with its line',
  () => {
    const { emitWarning } = process;
    const texts: string[] = [];
    process.emitWarning = ((text: string, { code }: { code: string }) => void texts.push(`${code} ${text}`)) as never;
    setDebug(true);
    try {
      const wrapped = Tensor.wrap(new Float32Array(2));
      const lent = () => wrapped.view();
      for (let i = 0; i < 2; i++) (testing('apply')(lent) as Tensor).dispose();
    } finally {
      setDebug(false);
      process.emitWarning = emitWarning;
    }
    equal(texts.length, 1);
    ok(texts[0]?.startsWith('DLPACK_COPY') && texts[0].includes('functions.test'), texts[0]);
  },
);
