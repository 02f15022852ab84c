/** A JavaScript function that Python calls in the middle of a request may do anything; the request ends as if it had not run. */

import { DLPACK, DLPACK_DEVICE, fromDLPack, isDLPackError, Tensor } from 'dlpack';
import { liveCounts, setDebug } from 'dlpack/debug';
import { callAsync, kwargs, type PyObject, PythonError } from 'dlpack/python';
import { equal, ok } from '../../assert.js';
import { runChild } from '../../child.js';
import { runtime, testWith } from '../../harness.js';
import { stormOfLayouts } from '../../layout-storm.js';
import { probe, py, pythonMissing, settleUntil, value, versionedNumPyMissing } from './available.js';

const numpy = probe('numpy');

/** Every kind of request, with its results checked, and two levels deep. */
function intrude(depth = 0): void {
  const np = numpy.module;
  const x = Tensor.from([[7, 8, 9]], { dtype: 'int16' });
  const echo = py.eval('lambda *a, **k: repr((a, k))');
  equal(
    value(echo('inner', [1, { a: 'b' }, 2n ** 70n], kwargs({ key: 'w' }))),
    "(('inner', [1, {'a': 'b'}, 1180591620717411303424]), {'key': 'w'})",
  );
  equal(py.callTensor(py.eval('lambda x: __import__("numpy").from_dlpack(x) + 1'), x).toArray(), [[8, 9, 10]]);
  equal(fromDLPack(np.arange(3, kwargs({ dtype: 'float64' })), { copy: true }).toArray(), [0, 1, 2]);
  equal(value(py.tensor(x, np.ndarray).shape[Symbol.iterator]().next().value), 1);
  equal([...py.tuple('p', 'q')], ['p', 'q']);
  try {
    py.eval('{}["missing"]');
  } catch (error) {
    ok(error instanceof PythonError && error.type === 'KeyError', String(error));
  }
  if (depth === 0) py.eval('lambda f: f()')(() => intrude(1));
  x.dispose();
  liveCounts();
}

py?.exec(`
class Intruded:
    """Calls back wherever Python code of a class can run."""
    def __init__(self, back, array):
        self.__dict__.update(back=back, array=array, seen=None)
    def __call__(self, *args, **keywords):
        self.back()
        return repr((args, keywords))
    @property
    def answer(self):
        self.back()
        return 'attribute'
    def __setattr__(self, name, value):
        self.back()
        self.__dict__[name] = value
    def __getitem__(self, key):
        self.back()
        return [key]
    def __setitem__(self, key, value):
        self.back()
        self.__dict__['seen'] = (key, value)
    def __iter__(self):
        self.back()
        for i in range(3):
            self.back()
            yield i
    def __str__(self):
        self.back()
        return 'text'
    def __dlpack__(self, **keywords):
        self.back()
        capsule = self.array.__dlpack__(**keywords)
        self.back()
        return capsule
    def __dlpack_device__(self):
        self.back()
        return self.array.__dlpack_device__()
    @property
    def __cuda_array_interface__(self):
        self.back()
        raise AttributeError('none after all')
class Dropped:
    """Calls back from its finalizer, which runs on the way of the next operation."""
    def __init__(self, back):
        self.back = back
    def __del__(self):
        self.back()
`);

/** A fresh object, and how often it has called back. */
function make(array: PyObject): { object: PyObject; calls: () => number } {
  let calls = 0;
  const object = py.eval('Intruded')(() => {
    calls++;
    intrude();
  }, array);
  return { object, calls: () => calls };
}

const shown = "((1, 'two', [3, 'four', {'five': 5.5}], None, True), {'key': 'named', 'other': [6]})";

testWith(numpy.missing, 'a call with arguments of every kind', () => {
  const { object, calls } = make(null);
  const text = object(1, 'two', [3, 'four', { five: 5.5 }], null, true, kwargs({ key: 'named', other: [6] }));
  equal([value(text), calls()], [shown, 1]);
});

testWith(versionedNumPyMissing(), 'thousands of other layouts, while arguments are written and in a function', () => {
  const shapes = py.eval(
    'lambda *a: repr([__import__("numpy").from_dlpack(x).shape for x in a if hasattr(x, "__dlpack__")])',
  );
  const x = Tensor.from([[1, 2, 3]], { dtype: 'float64' });
  const between = Object.defineProperty({}, 'key', { enumerable: true, get: stormOfLayouts });
  for (let call = 0; call < 3; call++) {
    equal(value(shapes(x, between, x.transpose())), '[(1, 3), (3, 1)]');
    const result = py.callTensor(
      py.eval('lambda back, x: (back(), __import__("numpy").from_dlpack(x).T)[1]'),
      stormOfLayouts,
      x,
    );
    equal(
      [result.shape, result.toArray()],
      [
        [3, 1],
        [[1], [2], [3]],
      ],
    );
  }
});

testWith(numpy.missing, 'attributes, items, iteration and text', () => {
  const { object, calls } = make(null);
  equal(value(object.answer), 'attribute');
  object.mark = 'set';
  equal(value(object.mark), 'set');
  equal([...py.getItem(object, 'key')], ['key']);
  py.setItem(object, 'k', [1, 'v']);
  equal(String(object.seen), "('k', [1, 'v'])");
  equal([...object], [0, 1, 2]);
  equal(String(object), 'text');
  equal(calls(), 9);
});

testWith(numpy.missing, 'an import', () => {
  const { object } = make(null);
  py.exec('import sys, types\nsys.modules.pop("intruding", None)');
  const finder = py.eval(`type('Finder', (), {
    'find_spec': lambda self, name, path=None, target=None: __import__('importlib.machinery').machinery.ModuleSpec(name, self) if name == 'intruding' else None,
    'create_module': lambda self, spec: None,
    'exec_module': lambda self, module: (module.__dict__.update(made=str(self.intruded)), None)[1],
  })()`);
  finder.intruded = object;
  py.import('sys').meta_path.insert(0, finder);
  try {
    equal(value(py.import('intruding').made), 'text');
  } finally {
    py.import('sys').meta_path.remove(finder);
  }
});

testWith(numpy.missing, 'the tensor of an object, shared, copied, and as the result of a call', () => {
  const array = numpy.module.arange(6, kwargs({ dtype: 'float32' })).reshape(2, 3);
  const { object, calls } = make(array);
  const shared = fromDLPack(object);
  equal(shared.toArray(), [
    [0, 1, 2],
    [3, 4, 5],
  ]);
  shared.set(0, 0, 42);
  equal(value(array.item(0)), 42);
  const copy = fromDLPack(object, { copy: true });
  copy.set(0, 1, 43);
  equal(value(array.item(1)), 1);
  const result = py.callTensor(py.eval('lambda x: x'), object);
  equal(result.get(0, 0), 42);
  ok(calls() >= 6, String(calls()));
  shared.dispose();
  copy.dispose();
  result.dispose();
});

testWith(numpy.missing, 'a tensor to a class that is used for the first time', () => {
  const x = Tensor.from([1, 2], { dtype: 'float32' });
  const { object } = make(null);
  const type = py.eval(`lambda back: type('Meta', (type,), {
    '__getattribute__': lambda self, name: (back() if name == '__module__' else None, type.__getattribute__(self, name))[1],
  })('Taken', (), {})`)(() => {
    intrude();
    if (value(String(object)) === 'text') x.dispose();
  });
  try {
    py.tensor(x, type);
  } catch (error) {
    ok(error instanceof PythonError && error.type === 'TypeError', String(error));
  }
});

testWith(numpy.missing, 'objects that an operation drops at its start', () => {
  let calls = 0;
  for (let i = 0; i < 3; i++) {
    py.eval('Dropped')(() => {
      calls++;
      intrude();
    })[Symbol.dispose]();
  }
  equal(value(py.eval('lambda *a: repr(a)')('x', [1, 'y'], Tensor.from([1]).shape.length)), "('x', [1, 'y'], 1)");
  equal(calls, 3);
});

/** A proxy around a Python object. Its trap runs once, when the package reads the object as an argument. */
function trapped(object: PyObject, trap: () => void): PyObject {
  let isSet = true;
  return new Proxy(object, {
    get(target, name) {
      if (isSet) {
        isSet = false;
        trap();
      }
      return Reflect.get(target, name);
    },
  });
}

testWith(
  numpy.missing,
  'an argument that a later argument disposes is passed as it was, and is never another object',
  () => {
    const echo = py.eval('lambda *a, **k: repr((a, k))');
    const sum = py.eval('lambda x, *a, **k: int(__import__("numpy").from_dlpack(x).sum())');
    const made: unknown[] = [];
    /** Disposes the argument, lets an operation drop it, and makes objects and tensors that could take its number. */
    const replace = (disposed: Disposable) => () => {
      disposed[Symbol.dispose]();
      for (let i = 0; i < 4; i++) made.push(py.eval('object()'), Tensor.from([i], { dtype: 'int32' }));
    };
    const list = () => py.eval('["victim"]');
    const tensor = () => Tensor.from([40, 2], { dtype: 'int32' });
    const rest = py.eval('len');
    const ways: ((run: (...args: unknown[]) => unknown, trap: () => void, first: unknown) => unknown)[] = [
      (run, trap, first) => run(first, trapped(rest, trap)),
      (run, trap, first) =>
        run(
          first,
          trapped(rest, trap),
          trapped(rest, () => py.eval('[1]')),
        ),
      (run, trap, first) => run(first, 'text', trapped(rest, trap)),
      (run, trap, first) => run(first, { key: trapped(rest, trap) }),
      (run, trap, first) => run([first], Object.defineProperty({}, 'key', { enumerable: true, get: trap })),
      (run, trap, first) =>
        run(first, kwargs({ key: trapped(rest, trap), [`name${made.length}`]: 1, [`other${made.length}`]: 1 })),
    ];
    for (const [i, way] of ways.entries()) {
      const object = list();
      const text = String(way(echo as never, replace(object as never), object));
      ok(text.startsWith(i === 4 ? "(([['victim']]" : "((['victim']"), text);
      if (i === 4) continue; // sum takes no list
      const x = tensor();
      equal([value(way(sum as never, replace(x), x) as PyObject), x.isDisposed], [42, true]);
    }
    const callee = py.eval('lambda *a: "callee"');
    equal(value(callee(trapped(rest, replace(callee as never)))), 'callee');
    equal(value(echo(list(), 1)), "((['victim'], 1), {})");
    equal(value(sum(tensor())), 42);
  },
);

// Bun and Deno have no such hook.
if (runtime === 'node') {
  testWith(numpy.missing, 'a stack-trace hook does not run in debug mode, so it cannot dispose an argument', () => {
    const sum = py.eval('lambda x, y: int(__import__("numpy").from_dlpack(x).sum())');
    const [x, y] = [Tensor.from([40, 2], { dtype: 'int32' }), Tensor.from([1], { dtype: 'int32' })];
    const before = Error.prepareStackTrace;
    let calls = 0;
    setDebug(true);
    try {
      Error.prepareStackTrace = () => {
        calls++;
        x.dispose();
        return 'hooked';
      };
      equal([value(sum(x, y)), x.isDisposed, calls], [42, false, 0]);
    } finally {
      Error.prepareStackTrace = before;
      setDebug(false);
    }
    for (const tensor of [x, y]) tensor.dispose();
  });
}

// Python's context variables are copied when an asynchronous call starts, which imports a module.
py?.exec(`
import builtins
def replace_import(back):
  plain = builtins.__import__
  def hooked(name, *arguments, **keywords):
    if name == 'contextvars':
      builtins.__import__ = plain
      back()
    return plain(name, *arguments, **keywords)
  builtins.__import__ = hooked
`);

testWith(numpy.missing, 'an asynchronous call whose argument is disposed while it starts', async () => {
  const x = Tensor.from([40, 2], { dtype: 'int32' });
  const made: Tensor[] = [];
  let calls = 0;
  py.eval('replace_import')(() => {
    calls++;
    x.dispose();
    for (let i = 0; i < 4; i++) made.push(Tensor.from([1000, 1000], { dtype: 'int32' }));
  });
  const sum = py.eval('lambda x: int(__import__("numpy").from_dlpack(x).sum())');
  equal([await callAsync(sum, x), x.isDisposed, calls], [42, true, 1]);
  for (const tensor of made) tensor.dispose();
});

testWith(pythonMissing, 'an asynchronous call that starts while another one starts', async () => {
  const count = py.eval(
    'lambda: __import__("gc").collect() * 0 + sum(type(o).__name__ == "Context" for o in __import__("gc").get_objects())',
  );
  const length = py.eval('len');
  const run = async (): Promise<void> => {
    let inner: unknown = null;
    py.eval('replace_import')(() => {
      inner = callAsync(length, [1]);
    });
    equal([await callAsync(length, [1, 2]), await inner], [2, 1]);
  };
  await run();
  const before = count() as unknown as number;
  for (let i = 0; i < 5; i++) await run();
  // Each call would leave one or more. The collector of JavaScriptCore may keep a few of those before for as long as it likes.
  const spare = runtime === 'bun' ? 4 : 0;
  ok(
    await settleUntil(() => (count() as unknown as number) <= before + spare),
    'contexts of earlier calls stay behind',
  );
});

testWith(pythonMissing, 'a refused capsule whose destructor runs Python code', () => {
  py.exec(`
import ctypes
Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
destroyed = []
destructor = Destructor(lambda capsule: destroyed.append(sum(i for i in range(10))))
new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, Destructor)(
  ('PyCapsule_New', ctypes.pythonapi))
capsule_name = ctypes.c_char_p(b'another')
`);
  try {
    py.callTensor(py.eval('lambda: new_capsule(1, capsule_name, destructor)'));
    ok(false, 'no error');
  } catch (error) {
    ok(error instanceof PythonError && error.message.includes('Expected a capsule named'), String(error));
  }
  equal(value(py.eval('repr(destroyed)')), '[45]');
});

testWith(numpy.missing, 'a finalizer that converts tensors of other layouts, at the start of a conversion', () => {
  const { ndarray, from_dlpack } = numpy.module;
  const whole = Tensor.from([0, 1, 2, 3, 4, 5, 6, 7], { dtype: 'float32' });
  const x = whole.slice([2, 8]).reshape([2, 3]);
  const convert = [() => py.tensor(x, ndarray), () => from_dlpack(x)];
  for (let i = 0; i < 4; i++) {
    let inner = '';
    // More layouts than native code keeps, and the layout of `x` at another place in the memory.
    py.eval('Dropped')(() => {
      for (let n = 1; n <= 9; n++) inner += String(py.tensor(whole.slice([0, n]), ndarray).size);
      const other = py.tensor(whole.slice([0, 6]).reshape([2, 3]), ndarray);
      other.fill(i);
    })[Symbol.dispose]();
    const made = convert[i % 2]?.();
    equal([inner, String(made.tolist())], ['123456788', `[[${i}.0, ${i}.0, ${i}.0], [${i}.0, 6.0, 7.0]]`]);
    whole.copyFrom(Tensor.from([0, 1, 2, 3, 4, 5, 6, 7]));
  }
});

testWith(numpy.missing, 'a finalizer that disposes the tensor, at the start of its conversion', () => {
  const { ndarray } = numpy.module;
  for (let i = 0; i < 2; i++) {
    const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
    py.eval('Dropped')(() => x.dispose())[Symbol.dispose]();
    equal([String(py.tensor(x, ndarray).tolist()), x.isDisposed], ['[1.0, 2.0, 3.0]', true]);
  }
});

/** Calls `make` with `argument`, which imports another tensor by `importOther` after the result was described. */
function checkResults(make: PyObject, plain: unknown[], argument: (importOther: () => void) => unknown): void {
  const np = numpy.module;
  const ignore = py.eval('lambda *a: 0');
  let inner = 0;
  const importOther = (): void => {
    const other = fromDLPack(np.zeros(7, kwargs({ dtype: 'int8' })));
    inner += other.size;
    other.dispose();
  };
  for (let i = 1; i <= 3; i++) {
    py.callTensor(make, ...plain).dispose(); // the signature of the next result is known from here on
    ignore(...Array.from({ length: 60 }, () => 0.5)); // overwrites what the wire contains
    const result = py.callTensor(make, argument(importOther));
    equal([result.dtype, result.shape, result.strides, inner], ['int64', [2, 3], [3, 1], 7 * i]);
    equal(result.toArray(), [
      [0n, 1n, 2n],
      [3n, 4n, 5n],
    ]);
    result.dispose();
  }
}

testWith(numpy.missing, 'a deleter that imports another tensor, after the result of a call was described', () => {
  const make = py.eval('lambda *a: __import__("numpy").arange(6, dtype="int64").reshape(2, 3)');
  checkResults(make, [], (importOther) => ({
    [DLPACK]: () => ({
      ...{ version: [1, 0], flags: 0, data: new ArrayBuffer(8), byteOffset: 0, shape: [2] },
      ...{ dtype: { code: 2, bits: 32, lanes: 1 }, device: { type: 1, id: 0 } },
      deleter: importOther,
    }),
    [DLPACK_DEVICE]: () => ({ type: 1, id: 0 }),
  }));
});

testWith(numpy.missing, 'a finalizer that imports another tensor, after the result of a call was described', () => {
  py.exec(`
class Ending:
  def __init__(self, array, back): self.array, self.back = array, back
  def __dlpack__(self, **keywords): return self.array.__dlpack__(**keywords)
  def __dlpack_device__(self): return self.array.__dlpack_device__()
  def __del__(self): self.back()
`);
  const make = py.eval('lambda back: Ending(__import__("numpy").arange(6, dtype="int64").reshape(2, 3), back)');
  checkResults(make, [() => {}], (importOther) => importOther);
});

testWith(numpy.missing, 'a result is released if the deleter of an argument throws', async () => {
  const producer = () => ({
    [DLPACK]: () => ({
      ...{ version: [1, 0], flags: 0, data: new ArrayBuffer(8), byteOffset: 0, shape: [2] },
      ...{ dtype: { code: 2, bits: 32, lanes: 1 }, device: { type: 1, id: 0 } },
      deleter() {
        throw new Error('deleter');
      },
    }),
    [DLPACK_DEVICE]: () => ({ type: 1, id: 0 }),
  });
  py.exec(`
import numpy, weakref
made = []
class Made(numpy.ndarray): pass
def make(*arguments):
    made.append(weakref.ref(array := numpy.zeros(3).view(Made)))
    return array
`);
  const make = py.eval('make');
  const call = py.eval('lambda f: f()');
  const live = py.eval('lambda: sum(ref() is not None for ref in made)');
  const fails = (action: () => unknown) => {
    try {
      action();
      ok(false, 'no error');
    } catch (error) {
      ok(String(error).includes('deleter'), String(error));
    }
  };
  for (let i = 0; i < 3; i++) {
    fails(() => py.callTensor(make, producer()));
    fails(() => {
      using array = make();
      call(() => [array, producer()]); // the result of the function becomes a Python list
    });
  }
  ok(await settleUntil(() => live() === 0), `${live()} results stay`);
});

testWith(numpy.missing, 'an argument whose deleter throws: the call succeeds, and nothing stays behind', async () => {
  py.exec(`
class Counted:
    live = 0
    def __init__(self, *arguments):
        Counted.live += 1
        if arguments[0].shape[0] == 3: raise ValueError(arguments[0].shape)
    def __del__(self): Counted.live -= 1
`);
  const producer = (length: number) => ({
    [DLPACK]: () => ({
      version: [1, 3],
      flags: 0,
      data: new ArrayBuffer(4 * length),
      byteOffset: 0,
      shape: [length],
      strides: null,
      dtype: { code: 2, bits: 32, lanes: 1 },
      device: { type: 1, id: 0 },
      deleter() {
        py.eval('[1, 2]'); // a request of its own
        throw new Error(`deleter ${length}`);
      },
    }),
    [DLPACK_DEVICE]: () => ({ type: 1, id: 0 }),
  });
  const counted = py.eval('Counted');
  const known = () => 1;
  const held = py.callable(known); // Python has an object for it, so each request releases the pin that it made
  const many = Array.from({ length: 1000 }, (_, i) => i); // without a slot for so many the wire would be full soon
  const { pins } = liveCounts();
  for (let i = 0; i < 80; i++) {
    try {
      counted(producer(2), producer(4), known, ...many);
      ok(false, 'no error');
    } catch (error) {
      ok(isDLPackError(error, 'ForeignError') && error.message.endsWith('Error: deleter 2'), String(error));
    }
    try {
      counted(producer(3), known);
      ok(false, 'no error');
    } catch (error) {
      ok(error instanceof PythonError && error.type === 'ValueError', String(error));
    }
  }
  equal(liveCounts().pins, pins);
  equal(value(held()), 1);
  ok(await settleUntil(() => counted.live === 0), `${counted.live} objects`);
});

testWith(numpy.missing, 'a deleter in Python may call JavaScript that drops the memory of other Python objects', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/returning.js');
  equal([code, signal], [0, null], output);
  equal(output.trim(), 'ok');
});
