/** The newest Pyodide: every case, interrupts, the collector, two Pyodides, and a Pyodide without private names. */

import { fromDLPack, Tensor } from 'dlpack';
import { attach } from 'dlpack/pyodide';
import { equal, ok, throws } from '../assert.js';
import { collectUntil } from '../harness.js';
import { pythonError, testCases } from './cases.js';
import { counterparts, type Pyodide, type PyProxy } from './load.js';
import { startAnother, testsWith } from './node.js';

const test = testsWith(counterparts.newest);
testCases(test, true);

test('a tensor that was never disposed gives its object back', async (pyodide) => {
  attach(pyodide);
  pyodide.runPython("import array, weakref; a = array.array('f', [1]); alive = weakref.ref(a)");
  const array = pyodide.globals.get('a') as PyProxy;
  const make = () => void fromDLPack(array);
  make();
  array.destroy();
  pyodide.runPython('del a');
  ok(await collectUntil(() => pyodide.runPython('alive() is None')));
});

test('an interrupt stops a producer, and Python goes on', (pyodide) => {
  attach(pyodide);
  const interrupts = new Uint8Array(1);
  pyodide.setInterruptBuffer(interrupts);
  pyodide.globals.set('interrupt', () => {
    interrupts[0] = 2;
  });
  pyodide.runPython(`
class Slow:
    def __init__(self, array): self.array = array
    def __dlpack__(self, **options):
        interrupt()
        while True: pass`);
  pythonError('KeyboardInterrupt', () => fromDLPack(pyodide.runPython("Slow(array.array('f', [1]))")));
  pyodide.setInterruptBuffer(undefined);
  equal(fromDLPack(pyodide.runPython("array.array('f', [1])")).toArray(), [1]);
});

/** Raises KeyboardInterrupt at the count-th line or call of Python code, as an interrupt would, which never comes at a return. */
const INTERRUPTED = `
import sys
remaining = 0
def trace(frame, event, argument):
    global remaining
    if frame.f_code is stop.__code__: return None
    if event == 'return': return trace
    remaining -= 1
    if remaining == 0:
        sys.settrace(None)
        raise KeyboardInterrupt
    return trace
def interrupt_at(count):
    global remaining
    remaining = count
    sys.settrace(trace)
def stop():
    sys.settrace(None)
    return remaining > 0`;

test('an interrupt at any moment of an import loses nothing', (pyodide) => {
  const python = attach(pyodide);
  pyodide.runPython(INTERRUPTED);
  const interruptAt = pyodide.globals.get('interrupt_at') as PyProxy & ((count: number) => void);
  const stop = pyodide.globals.get('stop') as PyProxy & (() => boolean);
  for (const kind of ['buffer', 'capsule']) {
    let moments = 0;
    for (let isOver = false; !isOver; ) {
      pyodide.runPython("import array, gc, weakref; a = array.array('f', [1, 2]); alive = weakref.ref(a)");
      const array = pyodide.globals.get('a') as PyProxy;
      const x = fromDLPack(array);
      const source: PyProxy = kind === 'buffer' ? array : python.toPython(x);
      let imported: Tensor | null = null;
      interruptAt(++moments);
      try {
        imported = fromDLPack(source);
      } catch (error) {
        ok((error as { type?: string }).type === 'KeyboardInterrupt', `${kind}, ${moments}: ${String(error)}`);
      }
      isOver = stop();
      imported?.dispose();
      x.dispose();
      if (kind === 'capsule') source.destroy();
      array.destroy();
      const other: PyProxy = python.toPython(Tensor.from([1]));
      pyodide.globals.set('z', other);
      other.destroy();
      // Python keeps the last error, with the variables of its functions.
      pyodide.runPython(
        "[sys.__dict__.pop(name, None) for name in ('last_exc', 'last_value', 'last_traceback')]; None",
      );
      pyodide.runPython('del a; z.__dlpack__(); gc.collect()');
      ok(pyodide.runPython('alive() is None'), `${kind}, ${moments}`);
    }
    ok(moments > 10, `${kind}: ${moments}`);
  }
});

test('JavaScript that Python calls may exchange tensors', (pyodide) => {
  const python = attach(pyodide);
  pyodide.globals.set('twice', (object: PyProxy) => {
    using x = fromDLPack(object);
    const y = python.empty(x.shape, 'float32').copyFrom(x);
    for (let i = 0; i < y.size; i++) y.set(i, (y.get(i) as number) * 2);
    return python.toPython(y);
  });
  equal(pyodide.runPython("memoryview(twice(array.array('f', [1, 2]))).tolist() == [2.0, 4.0]"), true);
});

test('an error on its way survives the end of a tensor', (pyodide) => {
  const python = attach(pyodide);
  pyodide.runPython("a = array.array('f', [1, 2]); alive = weakref.ref(a)");
  using x = fromDLPack(pyodide.globals.get('a') as PyProxy);
  pyodide.globals.set('make', () => python.toPython(x));
  pythonError('ZeroDivisionError', () => pyodide.runPython('memoryview(make())[0] + make().__dlpack__() / (1 // 0)'));
  pythonError('ZeroDivisionError', () => pyodide.runPython('[make(), make().__dlpack__(), 1 // 0]'));
});

/** A second Pyodide, for both tests below, because a start takes seconds. */
let another: Promise<Pyodide> | undefined;
const startSecond = (): Promise<Pyodide> => {
  another ??= startAnother(counterparts.newest);
  return another;
};

test('two Pyodides have memories of their own', async (pyodide) => {
  const python = attach(pyodide);
  const other = await startSecond();
  const second = attach(other);
  ok(second !== python);
  const array = "import array; a = array.array('i', [1, 2]); a";
  using x = fromDLPack(pyodide.runPython(array), { copy: false });
  using y = fromDLPack(other.runPython(array), { copy: false });
  x.set(0, 10);
  y.set(0, 20);
  equal([pyodide.runPython('a[0]'), other.runPython('a[0]')], [10, 20]);
  throws('BufferError', 'copy: false', () => second.toPython(x, { copy: false }));
  using there = fromDLPack(second.toPython(x), { copy: false });
  equal([there.toArray(), there.sharesMemory(x)], [[10, 2], false]);
});

test('without private names it copies, and Python still shares', async () => {
  const pyodide = await startSecond();
  const python = attach(Object.create(pyodide, { _module: { value: undefined } }));
  const array: PyProxy = pyodide.runPython("import array; a = array.array('f', [1, 2]); a");
  using x = fromDLPack(array);
  x.set(0, 5);
  equal([x.isCopied, pyodide.runPython('a[0]')], [true, 1]);
  throws('BufferError', 'memory: true', () => fromDLPack(array, { copy: false }));
  const y = python.empty([3], 'float64').fill(2);
  pyodide.globals.set('y', python.toPython(y));
  pyodide.runPython('m = memoryview(y); m[1] = 7.0; bytearray(200 << 20); m[2] = 8.0');
  equal(y.toArray(), [2, 7, 8]);
  using back = fromDLPack(pyodide.runPython('y'));
  equal(back.toArray(), [2, 7, 8]);
  y.dispose();
  pyodide.runPython('del m, y');
  equal(fromDLPack(python.toPython(Tensor.from([1n, 2n]))).toArray(), [1n, 2n]);
});
