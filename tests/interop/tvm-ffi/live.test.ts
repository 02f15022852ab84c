/** Containers as views of native objects. */

import { Tensor } from 'dlpack';
import {
  ArrayView,
  Dict,
  type FFIObject,
  List,
  live,
  MapView,
  type ObjectClass,
  objectClass,
  registerError,
  sameAs,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { collect, collectUntil, testWith } from '../../harness.js';
import { caught, ffiMissing, raises, testing } from './peer.js';

testWith(ffiMissing, 'a list is one object on both sides', () => {
  const echo = testing('echo');
  const list = new List<unknown>([1, 'two']);
  ok(echo(list) === list && sameAs(list, echo(list)));
  ok((echo([list, { list }]) as unknown[])[0] === list);
  // A callback changes it, and the caller sees the change; and the other way round.
  testing('apply')((same: List) => {
    ok(same === list);
    same.push(3);
    list.set(0, 'one');
  }, list);
  equal(list.toArray(), ['one', 'two', 3]);
  equal([list.length, list.at(0), list.at(-1), list.at(3), list.at(-4)], [3, 'one', 3, undefined, undefined]);
  equal(String(list), '["one", "two", 3]');
  equal(JSON.stringify({ list }), '{"list":["one","two",3]}');
});

testWith(ffiMissing, 'the methods of a list are those of an array', () => {
  const array = [1, 2, 3, 4, 5];
  const list = new List(array);
  equal([list.push(6, 7), list.pop()], [array.push(6, 7), array.pop()]);
  for (const [start, count, ...items] of [
    [1, 2],
    [0, 0, 9, 8],
    [-2, 5, 7],
    [9, 1, 6],
    [1, -3],
  ] as [number, number, ...number[]][]) {
    equal(list.splice(start, count, ...items), array.splice(start, count, ...items));
    equal([...list], array);
  }
  list.insert(0, 42);
  equal(list.reverse().toArray(), [42, ...array].reverse());
  list.set(-1, 43);
  equal([list.at(-1), list.includes(43), list.includes(42)], [43, true, false]);
  list.clear();
  equal([list.length, list.pop(), [...list]], [0, undefined, []]);
  throws('IndexError', 'length 0', () => list.set(0, 1));
  throws('TypeError', 'an integer', () => list.at(0.5));
  throws('TypeError', 'another iterable', () => new List(5 as never));
  ok(new List().length === 0);
});

testWith(ffiMissing, 'iteration reads one element at a time and sees added elements', () => {
  const list = new List([1, 2]);
  const seen: number[] = [];
  for (const value of list) {
    seen.push(value);
    if (list.length < 5) list.push(value * 10);
    if (seen.length === 4) list.clear();
  }
  equal(seen, [1, 2, 10, 20]);
});

testWith(ffiMissing, 'lists in lists, deep and long, and a list that contains itself', () => {
  let deep = new List<unknown>([0]);
  const bottom = deep;
  for (let i = 0; i < 3000; i++) deep = new List<unknown>([deep]);
  bottom.push('changed');
  let at: unknown = testing('echo')(deep);
  for (let i = 0; i < 3000; i++) at = (at as List).at(0);
  ok(at === bottom);
  const long = new List(Array.from({ length: 100_000 }, (_, i) => i));
  equal([long.length, long.at(99_999)], [100_000, 99_999]);
  const loop = new List<unknown>([1]);
  loop.push(loop);
  ok(loop.at(1) === loop && (testing('echo')(loop) as List).at(1) === loop);
  loop.clear(); // otherwise its references would never be released
});

testWith(ffiMissing, 'a dict is one object on both sides', () => {
  const echo = testing('echo');
  const dict = new Dict<unknown, unknown>([
    ['a', 1],
    [2, 'b'],
  ]);
  ok(echo(dict) === dict);
  equal(
    [dict.size, dict.get('a'), dict.get(2), dict.get('c'), dict.has('a'), dict.has('c')],
    [2, 1, 'b', undefined, true, false],
  );
  testing('apply')((same: Dict) => same.set('c', null).set('a', [1]), dict);
  equal([dict.get('a'), dict.has('c'), dict.get('c')], [[1], true, undefined]);
  equal([dict.delete('c'), dict.delete('c'), [...dict.keys()]], [true, false, ['a', 2]]);
  // Changed while it is read.
  const seen: unknown[] = [];
  for (const [key] of dict) {
    seen.push(key);
    dict.delete(2);
    for (let i = 0; i < 100; i++) dict.set(`new ${i}`, i);
  }
  equal([seen, dict.size], [['a'], 101]);
  equal([...dict.values()].length, 101);
  dict.clear();
  equal([dict.size, dict.toMap().size, [...dict.entries()]], [0, 0, []]);
  throws('TypeError', '[key, value]', () => new Dict([5] as never));
  equal(JSON.stringify(new Dict([['k', new List([1])]])), '{"k":[1]}');
});

for (const read of ['toArray', 'toMap', 'keys']) {
  testWith(ffiMissing, `a container that changes while ${read} reads it`, () => {
    const { code, signal, output } = runChild(import.meta.url, './children/changed.js', { args: [read] });
    equal([code, signal, output.trim()], [0, null, 'true true 110 right'], output);
  });
}

testWith(ffiMissing, 'arrays and maps as views, on request', () => {
  const echo = live(testing('echo'));
  const x = Tensor.from([1, 2], { dtype: 'float32' });
  const array = echo([1, [2], x]) as ArrayView;
  ok(array instanceof ArrayView && echo(array) === array);
  equal([array.length, array.includes(1), [...array].length], [3, true, 3]);
  // What is inside a view is a view, too, and the same each time. A copy is a copy of everything.
  const inner = array.at(1) as ArrayView;
  ok(inner instanceof ArrayView && array.at(1) === inner && [...array][1] === inner);
  equal([inner.toArray(), array.toArray()[1]], [[2], [2]]);
  (array.at(2) as Tensor<'float32'>).set(0, 7);
  equal(x.get(0), 7);
  const map = echo({ a: 1, b: 2 }) as MapView<string, number>;
  ok(map instanceof MapView);
  equal(
    [map.size, map.get('b'), map.has('c'), [...map]],
    [
      2,
      2,
      false,
      [
        ['a', 1],
        ['b', 2],
      ],
    ],
  );
  // Made once, passed several times.
  equal(testing('echo')(new ArrayView([1, 2])), [1, 2]);
  equal([...(testing('echo')(new MapView([['k', 1]])) as Map<string, number>)], [['k', 1]]);
  equal(echo(5), 5);
  raises('ValueError', 'as asked', () => live(testing('test_raise_error'))('ValueError', 'as asked'));
  throws('TypeError', 'a native function or object', () => live(() => 1));
  throws('TypeError', 'a native function or object', () => live({} as never));
  const deep = echo({ a: { b: [1] } }) as MapView<string, MapView<string, ArrayView<number>>>;
  const found = deep.get('a')?.get('b');
  ok(found instanceof ArrayView && deep.get('a')?.get('b') === found && [...deep.values()][0]?.get('b') === found);
  equal([found.at(0), deep.toMap().get('a') instanceof Map], [1, true]);
});

interface AllTypes {
  v_arr_int: number[];
  v_map_str_arr_int: Map<string, number[]>;
  append_int(values: readonly number[], value: number): number[];
  add_int(value: number): number;
}

testWith(ffiMissing, 'fields, methods and elements as views, on request', async () => {
  const count = testing('object_use_count');
  const All = objectClass<AllTypes>('testing.SchemaAllTypes') as ObjectClass<AllTypes> & {
    make_with(i: number, f: number, s: string): FFIObject & AllTypes;
  };
  const object = All.make_with(7, 1.5, 'text');
  const numbers = new ArrayView([1, 2, 3]);
  object.v_arr_int = numbers as never;
  object.v_map_str_arr_int = new Map([['k', [4]]]);
  const view = live(object);
  ok(sameAs(view, object) && view instanceof All && testing('echo')(view) === object);
  // The field is the array that was written, without a copy.
  ok(view.v_arr_int === (numbers as unknown) && count(numbers) === 2);
  equal([object.v_arr_int, view.v_arr_int.at(-1), view.add_int(1)], [[1, 2, 3], 3, 8]);
  equal(view.v_map_str_arr_int.get('k')?.toArray(), [4]);
  const made = view.append_int([1], 2);
  ok(made instanceof ArrayView && count(made) === 1);
  equal(made.toArray(), [1, 2]);
  // Inherited fields, and static methods.
  const Derived = objectClass<{ v_map: Map<string, number>; v_i64: number }>('testing.TestObjectDerived');
  const derived = live(Derived.fromFields({ v_map: new Map([['a', 1]]), v_array: [] } as never));
  derived.v_i64 = 5;
  equal(
    [derived.v_map.get('a'), derived.v_i64, String(derived).startsWith('testing.TestObjectDerived(')],
    [1, 5, true],
  );
  ok(sameAs(All.make_with, testing('echo')(All.make_with)) && All.make_with === testing('echo')(All.make_with));
  // Lists and dicts are live anyway; this is about what is in them.
  const list = new List<unknown>([[1], { a: [2] }]);
  const elements = live(list);
  ok(elements.at(0) instanceof ArrayView && elements.at(1) instanceof MapView && Array.isArray(list.at(0)));
  ok(testing('echo')(elements) === list);
  elements.push(3);
  equal(list.length, 3);
  const dict = live(new Dict<string, unknown>([['a', [1]]]));
  ok(dict.get('a') instanceof ArrayView && [...dict][0]?.[1] === dict.get('a'));
  // A view keeps its object, and the collector ends both.
  const keep = () => live(new (objectClass('testing.TestIntPair'))(1, 2));
  const kept: { view: FFIObject | null } = { view: keep() };
  await collect();
  equal(count(kept.view), 1);
  kept.view = null;
  for (let i = 0; i < 100; i++) view.v_arr_int.at(0);
  ok(await collectUntil(() => count(numbers) === 2), String(count(numbers)));
});

testWith(
  ffiMissing,
  'an element that cannot be read leaves no reference behind, nor does its error class',
  async () => {
    let isBroken = false;
    class FragileError extends Error {
      constructor(message: string) {
        super(message);
        if (isBroken) throw new RangeError('broken');
      }
    }
    registerError('FragileError', FragileError);
    const use = testing('object_use_count');
    const inner = new ArrayView([1]);
    const list = new List<unknown>([inner]);
    const fill = (): [count: unknown, WeakRef<object>] => {
      const error = caught(() => testing('test_raise_error')('FragileError', 'of C++')) as Error;
      list.push(error);
      return [use(error), new WeakRef(error)];
    };
    const [count, seen] = fill();
    ok(await collectUntil(() => seen.deref() === undefined), 'only native code has the error');
    isBroken = true;
    for (let i = 0; i < 10; i++) {
      for (const read of [() => list.toArray(), () => list.at(1), () => [...list]]) {
        ok(caught(read) instanceof RangeError);
      }
    }
    isBroken = false;
    equal([use(inner), use(list.at(1)), use(list)], [2, count, 1]);
  },
);

testWith(ffiMissing, 'an iterator keeps its container', async () => {
  const start = (): Iterator<unknown>[] => {
    const list = new List(['first', 'second']);
    const dict = new Dict([['first', 1], ['second', 2]]); // biome-ignore format: pairs
    const iterators = [list[Symbol.iterator](), dict.keys(), dict.values()];
    for (const iterator of iterators) iterator.next();
    return iterators;
  };
  const iterators = start();
  for (let i = 0; i < 3; i++) {
    await collect();
    for (let j = 0; j < 1000; j++) new List(['other', j]);
  }
  equal(
    iterators.map((iterator) => iterator.next().value),
    ['second', 'second', 2],
  );
});

testWith(ffiMissing, 'reference counts are exact', async () => {
  const count = testing('object_use_count');
  const list = new List([1]);
  equal(count(list), 1);
  const outer = new List([list, list]);
  equal(count(list), 3);
  for (let i = 0; i < 100; i++) ok(outer.at(0) === list);
  equal(count(list), 3);
  outer.pop();
  equal(count(list), 2);
  // Elements that JavaScript alone held are released by the collector.
  const Pair = objectClass('testing.TestIntPair');
  const pair = new Pair(1, 2);
  const fill = () => {
    for (let i = 0; i < 50; i++) new List([pair, [pair]]);
  };
  fill();
  ok(await collectUntil(() => count(pair) === 1), String(count(pair)));
});
