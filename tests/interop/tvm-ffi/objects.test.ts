/** Objects of registered types: their fields, methods, constructors and identity. */

import { inspect } from 'node:util';
import {
  type FFIFunction,
  FFIObject,
  getGlobalFunc,
  isInstance,
  loadModule,
  objectClass,
  sameAs,
  toFunction,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { collect, collectUntil, testWith } from '../../harness.js';
import { ffiMissing, kernelsMissing, kernelsPath, probe, raises, testing } from './peer.js';

interface IntPair {
  readonly a: number;
  readonly b: number;
  sum(): number;
}

interface CxxBase {
  v_i64: number;
  v_i32: number;
}

interface CxxDerived extends CxxBase {
  v_f64: number;
  v_f32: number;
}

interface AllTypes {
  v_bool: boolean;
  v_int: number;
  v_float: number;
  v_string: string;
  v_opt_int: number | null | undefined;
  v_arr_int: number[];
  v_map_str_int: Map<string, number> | Record<string, number>;
  add_int(value: number): number;
  append_int(values: number[], value: number): number[];
}

/** The testing library registers the types. */
function classOf<T extends object>(key: string) {
  testing('echo');
  return objectClass<T>(key);
}

testWith(ffiMissing, 'an object is created, read, called and printed', () => {
  const Pair = classOf<IntPair>('testing.TestIntPair');
  const pair = new Pair(1, 2);
  ok(pair instanceof FFIObject && pair instanceof Pair);
  equal([pair.a, pair.b, pair.sum(), pair.typeKey, Pair.name], [1, 2, 3, 'testing.TestIntPair', 'TestIntPair']);
  equal([String(pair), inspect(pair)], ['testing.TestIntPair(a=1, b=2)', 'testing.TestIntPair(a=1, b=2)']);
  throws('ValueError', 'can be written', () => {
    (pair as { a: number }).a = 5;
  });
  equal(Pair.fromFields({ a: 4, b: 5 }).sum(), 9);
  raises('TypeError', '', () => new Pair('one', 2));
  throws('ValueError', 'a registered type', () => objectClass('no.such.Type'));
  throws('TypeError', 'the key', () => objectClass(5 as never));
});

testWith(ffiMissing, 'fields of every kind are written, and inherited', () => {
  const Derived = classOf<CxxDerived>('testing.TestCxxClassDerived');
  const object = new Derived(1, 2, 3.5, 4.5);
  equal([object.v_i64, object.v_i32, object.v_f64, object.v_f32], [1, 2, 3.5, 4.5]);
  object.v_i64 = 10;
  object.v_f64 = 0.25;
  equal([object.v_i64, object.v_f64], [10, 0.25]);
  raises('TypeError', '', () => {
    object.v_i64 = 'text' as never;
  });
  equal(object.v_i64, 10);
  ok(object instanceof objectClass('testing.TestCxxClassBase'));

  const all = classOf<AllTypes>('testing.SchemaAllTypes') as ReturnType<typeof classOf<AllTypes>> & {
    make_with(i: number, f: number, s: string): FFIObject & AllTypes;
  };
  const made = all.make_with(7, 1.5, 'a text of some length');
  equal([made.v_int, made.v_float, made.v_string], [7, 1.5, 'a text of some length']);
  made.v_string = 'another text of some length';
  made.v_arr_int = [1, 2, 3];
  made.v_map_str_int = { a: 1 };
  made.v_opt_int = null;
  made.v_bool = true;
  equal(
    [made.v_string, made.v_arr_int, made.v_map_str_int, made.v_opt_int, made.v_bool],
    ['another text of some length', [1, 2, 3], new Map([['a', 1]]), undefined, true],
  );
  equal([made.add_int(5), made.append_int([1], 2)], [12, [1, 2]]);
});

testWith(kernelsMissing, 'types are recognised by their keys', () => {
  const derived = new (classOf<CxxDerived>('testing.TestCxxClassDerived'))(1, 2, 3, 4);
  equal(
    ['testing.TestCxxClassDerived', 'testing.TestCxxClassBase', 'ffi.Object', 'testing.TestIntPair', 'no.such'].map(
      (key) => isInstance(derived, key),
    ),
    [true, true, true, false, false],
  );
  equal([isInstance(testing('echo'), 'ffi.Function'), isInstance(5, 'ffi.Object')], [true, false]);
  equal([isInstance(loadModule(kernelsPath), 'ffi.Module'), isInstance(() => 1, 'ffi.Function')], [true, false]);
});

testWith(kernelsMissing, 'an object that comes back is the same JavaScript object', () => {
  const echo = testing('echo');
  const pair = new (classOf<IntPair>('testing.TestIntPair'))(3, 4);
  ok(echo(pair) === pair && (echo([pair, [pair]]) as unknown[])[0] === pair);
  ok(echo(echo) === echo && getGlobalFunc('testing.echo') === echo);
  probe('keep')(pair);
  ok(probe('kept')() === pair);
  probe('forget')();
  const callback = toFunction((x: number) => x);
  ok(echo(callback) !== undefined && sameAs(echo(callback), callback));
  const kernels = loadModule(kernelsPath);
  ok(sameAs(echo(kernels), kernels) && !sameAs(kernels, pair) && !sameAs(1, 1));
  ok(!sameAs(pair, new (objectClass('testing.TestIntPair'))(3, 4)));
});

testWith(kernelsMissing, 'reference counts are exact, and a reused address is another object', async () => {
  const count = getGlobalFunc('testing.object_use_count') as FFIFunction;
  const Pair = classOf<IntPair>('testing.TestIntPair');
  const pair = new Pair(1, 2);
  const uses = count(pair) as number;
  for (let i = 0; i < 10; i++) equal(testing('echo')(pair) === pair, true);
  equal(count(pair), uses);
  probe('keep')(pair);
  equal(count(pair), uses + 1);
  probe('forget')();
  equal(count(pair), uses);
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 200; i++) equal(new Pair(round, i).sum(), round + i);
    await collect();
  }
  // The native object outlives the JavaScript object for it.
  probe('keep')(new Pair(8, 9));
  ok(await collectUntil(() => count(probe('kept')()) === 2 + uses - 1));
  equal((probe('kept')() as FFIObject & IntPair).sum(), 17);
  probe('forget')();
});
