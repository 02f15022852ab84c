/** Objects, containers and functions of TVM-FFI are released by dispose(), `using` and scopes, once. */

import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import { scope } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import {
  ArrayView,
  callAsync,
  Dict,
  deepCopy,
  type FFIFunction,
  FFIObject,
  getGlobalFunc,
  List,
  live,
  loadModule,
  MapView,
  objectClass,
  RValue,
  registerGlobalFunc,
  registerObject,
  removeGlobalFunc,
  sameAs,
  structuralEqual,
  toFunction,
} from 'dlpack/tvm-ffi';
import { equal, ok, rejection, throws } from '../../assert.js';
import { collect, collectUntil, testWith } from '../../harness.js';
import { ffiMissing, kernelsMissing, libraries, probe, probePath, testing } from './peer.js';

interface IntPair {
  readonly a: number;
  readonly b: number;
  sum(): number;
}

function pairs() {
  testing('echo');
  return objectClass<IntPair>('testing.TestIntPair');
}

/** The owners of a native object. */
const uses = (object: unknown): number => testing('object_use_count')(object) as number;

/** A JavaScript function. Each native function for one is an import until native code releases it. */
const counted = () => () => 0;

/** The value has been disposed, and says so. */
const refuses = (action: () => unknown): unknown => throws('DisposedError', 'a live object or function', action);

testWith(kernelsMissing, 'an object is released at once, once, and refuses to be used', async () => {
  const pair = new (pairs())(1, 2);
  probe('keep')(pair);
  const before = uses(probe('kept')());
  pair.dispose();
  const again = probe('kept')() as FFIObject & IntPair; // native code still has it: another JavaScript object
  ok(again !== pair);
  equal([again.sum(), uses(again)], [3, before]);
  pair.dispose();
  pair[Symbol.dispose]();
  equal(uses(again), before);
  for (const use of [
    () => pair.a,
    () => pair.sum(),
    () => pair.typeKey,
    () => testing('echo')(pair),
    () => testing('echo')([1, { pair }]),
    () => testing('echo')(new RValue(pair)),
    () => sameAs(pair, again),
    () => live(pair).a,
    () => structuralEqual(pair, pair),
    () => deepCopy(pair),
  ]) {
    refuses(use);
  }
  equal([String(pair), inspect(pair)], ['TestIntPair(disposed)', 'TestIntPair(disposed)']);
  ok(probe('kept')() === again);
  await collect(); // the collector does not release it a second time
  equal([again.sum(), uses(again)], [3, before]);
  probe('forget')();
  equal(uses(again), before - 1);
});

testWith(ffiMissing, 'containers are released, also while they are iterated, and through their live views', () => {
  const { imports } = liveCounts();
  const list = new List([1, 2, counted()]);
  const dict = new Dict([['a', counted()]]);
  const array = new ArrayView([1, counted()]);
  const map = new MapView([['a', [counted()]]]);
  equal(liveCounts().imports, imports + 4);
  const seen: unknown[] = [];
  refuses(() => {
    for (const value of list) {
      seen.push(value);
      list.dispose();
    }
  });
  equal(seen, [1]);
  live(dict).dispose(); // the same native object
  for (const one of [array, map]) one[Symbol.dispose]();
  equal(liveCounts().imports, imports);
  for (const use of [
    () => list.length,
    () => list.toArray(),
    () => list.push(1),
    () => dict.get('a'),
    () => [...dict],
    () => array.at(0),
    () => [...array],
    () => map.size,
    () => map.toMap(),
  ]) {
    refuses(use);
  }
  equal([list, dict, array, map].map(String), [
    'List(disposed)',
    'Dict(disposed)',
    'ArrayView(disposed)',
    'MapView(disposed)',
  ]);
});

testWith(ffiMissing, 'the object that the library returns for a missing key may be disposed', () => {
  const dict = new Dict([['a', 1]]);
  equal(dict.get('b'), undefined);
  (getGlobalFunc('ffi.GetInvalidObject')() as FFIObject).dispose();
  equal([dict.get('b'), dict.get('a')], [undefined, 1]);
});

testWith(ffiMissing, 'a member of a type comes before dispose(), and the symbol releases', () => {
  class Room {
    constructor(public dispose: string) {}
  }
  pairs();
  registerObject('dlpack.test.Room', Room, { fields: ['dispose'] });
  const { prototype } = objectClass<{ dispose: string }>('dlpack.test.Room');
  ok(Object.hasOwn(prototype, 'dispose') && !Object.hasOwn(prototype, Symbol.dispose));
  ok(prototype instanceof FFIObject);
});

testWith(kernelsMissing, 'inside a call the reference lives until the outermost call ends', () => {
  const { imports } = liveCounts();
  const list = new List<unknown>([1, counted()]);
  // A later argument disposes an earlier one, which native code gets all the same.
  const disposing = {
    get value() {
      list.dispose();
      return 2;
    },
  };
  const array = getGlobalFunc('ffi.Array')(list, disposing) as [List, number];
  equal([array[0].at(0), array[1] !== undefined, liveCounts().imports], [1, true, imports + 1]);
  refuses(() => list.length);
  array[0].dispose();
  equal(liveCounts().imports, imports);
  // A callback disposes its argument, and the function that calls it.
  const pair = new (pairs())(3, 4);
  let callback: FFIFunction | null = null;
  let inside = 0;
  callback = toFunction((same: FFIObject & IntPair) => {
    ok(same === pair);
    same.dispose();
    callback?.dispose();
    refuses(() => same.sum());
    inside = liveCounts().imports;
    return 5;
  });
  const apply = testing('apply');
  equal(apply(callback, pair), 5);
  ok(liveCounts().imports < inside);
  refuses(() => apply(callback, 1));
  // What a callback returns must be alive.
  throws('DisposedError', 'a live object', () => apply(() => pair));
});

testWith(kernelsMissing, 'functions are released, and found again', () => {
  const kernels = loadModule(probePath);
  const repeat = kernels.repeat as FFIFunction;
  {
    using first = repeat;
    equal(first('ab', 2), 'abab');
  }
  for (const use of [() => repeat('a', 1), () => testing('echo')(repeat), () => live(repeat)('a', 1)]) refuses(use);
  ok(kernels.repeat !== repeat);
  equal((kernels.repeat as FFIFunction)('ab', 3), 'ababab');
  // A view of a function is the same native function.
  const array = getGlobalFunc('ffi.Array');
  const view = live(array);
  ok(view(1) instanceof ArrayView);
  view.dispose();
  refuses(() => array(1));
  equal(getGlobalFunc('ffi.Array')(1), [1]);
  // The table of global functions has its own reference, and the function that JavaScript passed stays as it is.
  const add = (x: number) => x + 1;
  const made = registerGlobalFunc('dlpack.test.disposed', add);
  made.dispose();
  equal([(getGlobalFunc('dlpack.test.disposed') as FFIFunction)(1), add(1)], [2, 2]);
  refuses(() => registerGlobalFunc('dlpack.test.other', made));
  removeGlobalFunc('dlpack.test.disposed');
});

testWith(kernelsMissing, 'a static method is found again', () => {
  testing('echo');
  const All = objectClass('testing.SchemaAllTypes') as unknown as {
    make_with: ((i: number, f: number, s: string) => FFIObject & { v_int: number }) & FFIFunction;
  };
  const before = All.make_with;
  ok(All.make_with === before);
  before.dispose();
  refuses(() => before(1, 2, 'three'));
  equal(All.make_with(7, 1.5, 'text').v_int, 7);
});

testWith(kernelsMissing, 'an asynchronous call keeps its function and arguments', async () => {
  const repeat = loadModule(probePath).repeat as FFIFunction;
  const list = new List([1, 2]);
  const pending = [callAsync(repeat, 'ab', 3), callAsync(testing('echo'), list)] as const;
  repeat.dispose();
  list.dispose();
  const [text, same] = await Promise.all(pending);
  equal([text, (same as List).toArray()], ['ababab', [1, 2]]);
  ok(same !== list);
  ok((await rejection<Error>(callAsync(repeat, 'ab', 3))).message.includes('a live object or function'));
});

testWith(ffiMissing, 'scopes take objects and functions, except those in their result', () => {
  const { imports } = liveCounts();
  const kept = scope((track) => {
    const list = track(new List([1, counted()]));
    const fn = track(toFunction((x: number) => x));
    equal([fn(list.at(0)), liveCounts().imports], [1, imports + 2]);
    return [track(new List([2, counted()]))] as const;
  });
  equal([liveCounts().imports, kept[0].at(0)], [imports + 1, 2]);
  kept[0].dispose();
  equal(liveCounts().imports, imports);
});

testWith(ffiMissing, 'the collector and the end of a worker release no reference twice', async () => {
  const shared = new List([0]);
  registerGlobalFunc('dlpack.test.shared', () => shared, { override: true });
  const { imports } = liveCounts();
  for (let round = 0; round < 10; round++) {
    for (let i = 0; i < 100; i++) {
      const list = new List([i, counted()]);
      if (i % 2 === 0) list.dispose();
    }
    await collect();
  }
  ok(await collectUntil(() => liveCounts().imports <= imports));
  const workerData = { testingPath: `${libraries}/libtvm_ffi_testing.so`, probePath };
  const worker = new Worker(new URL('./children/disposing-worker.js', import.meta.url), { workerData });
  const code = await new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', resolve);
  });
  equal(code, 0);
  ok(await collectUntil(() => liveCounts().imports <= imports), JSON.stringify({ imports, now: liveCounts() }));
  equal([shared.length, testing('add_one')(1)], [1, 2]);
  removeGlobalFunc('dlpack.test.shared');
});
