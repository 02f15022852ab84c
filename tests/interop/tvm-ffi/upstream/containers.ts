/** Upstream's tests of containers, with this package's names. */

import {
  ArrayView,
  Dict,
  FFIObject,
  fromJSONGraph,
  getGlobalFunc,
  List,
  live,
  MapView,
  Opaque,
  sameAs,
  structuralEqual,
  structuralHash,
  toJSONGraph,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../../assert.js';
import { raises, testing } from '../peer.js';
import type { Ports } from './ports.js';

const entries = (object: Record<string, unknown>) => Object.entries(object);
const dict = (object: Record<string, unknown>) => new Dict<string, unknown>(entries(object));
const map = (object: Record<string, unknown>) => new MapView<string, unknown>(entries(object));
const same = (a: unknown, b: unknown) => structuralEqual(a, b) && structuralHash(a) === structuralHash(b);
/** A value with the views of the arrays and maps in it. */
const viewed = (value: unknown): unknown => live(testing('echo'))(value);

/** Passes a value through a typed function and returns the class and the contents of its result. */
function converted(name: string, value: unknown): unknown {
  const result = live(testing(name))(value);
  if (result instanceof List || result instanceof ArrayView) return [result.constructor.name, result.toArray()];
  const table = result as Dict | MapView;
  return [table.constructor.name, Object.fromEntries(table.toMap() as Map<string, unknown>)];
}

const conversions: Ports = Object.fromEntries(
  (
    [
      [
        'seq_cross_conv_list_to_array_int',
        'schema_id_arr_int',
        () => new List([10, 20, 30]),
        ['ArrayView', [10, 20, 30]],
      ],
      ['seq_cross_conv_array_to_list_int', 'schema_id_list_int', () => new ArrayView([10, 20]), ['List', [10, 20]]],
      ['seq_cross_conv_list_to_array_str', 'schema_id_arr_str', () => new List(['a', 'b']), ['ArrayView', ['a', 'b']]],
      ['seq_cross_conv_array_to_list_str', 'schema_id_list_str', () => new ArrayView(['a', 'b']), ['List', ['a', 'b']]],
      ['seq_cross_conv_empty_list_to_array', 'schema_id_arr_int', () => new List(), ['ArrayView', []]],
      ['seq_cross_conv_empty_array_to_list', 'schema_id_list_int', () => new ArrayView(), ['List', []]],
      ['seq_cross_conv_python_list_to_array', 'schema_id_arr_int', () => [1, 2, 3], ['ArrayView', [1, 2, 3]]],
      ['seq_cross_conv_python_list_to_list', 'schema_id_list_int', () => [1, 2, 3], ['List', [1, 2, 3]]],
      ['map_cross_conv_dict_to_map_str_int', 'schema_id_map_str_int', () => dict({ a: 1 }), ['MapView', { a: 1 }]],
      ['map_cross_conv_map_to_dict_str_int', 'schema_id_dict_str_int', () => map({ a: 1 }), ['Dict', { a: 1 }]],
      ['map_cross_conv_dict_to_map_str_str', 'schema_id_map_str_str', () => dict({ x: 'y' }), ['MapView', { x: 'y' }]],
      ['map_cross_conv_map_to_dict_str_str', 'schema_id_dict_str_str', () => map({ x: 'y' }), ['Dict', { x: 'y' }]],
      ['map_cross_conv_empty_dict_to_map', 'schema_id_map_str_int', () => dict({}), ['MapView', {}]],
      ['map_cross_conv_empty_map_to_dict', 'schema_id_dict_str_int', () => map({}), ['Dict', {}]],
    ] as [string, string, () => unknown, unknown][]
  ).map(([test, name, value, expected]) => [test, () => equal(converted(name, value()), expected)]),
);

const refusals: Ports = Object.fromEntries(
  (
    [
      ['seq_cross_conv_incompatible_list_to_array', 'schema_id_arr_int', () => new List(['not', 'ints'])],
      ['seq_cross_conv_incompatible_array_to_list', 'schema_id_list_int', () => new ArrayView(['not', 'ints'])],
      ['map_cross_conv_incompatible_dict_to_map', 'schema_id_map_str_int', () => dict({ a: 'not_int' })],
      ['map_cross_conv_incompatible_map_to_dict', 'schema_id_dict_str_int', () => map({ a: 'not_int' })],
    ] as [string, string, () => unknown][]
  ).map(([test, name, value]) => [test, () => void raises('TypeError', '', () => testing(name)(value()))]),
);

const arrays: Ports = {
  array: () => {
    const a = viewed([1, 2, 3]) as ArrayView;
    ok(a instanceof ArrayView);
    equal([a.length, a.at(-1), a.toArray().slice(-3, -1)], [3, 3, [1, 2]]);
  },
  bad_constructor_init_state: () => {
    const classes: (new (items: never) => unknown)[] = [ArrayView, List, MapView, Dict];
    for (const made of classes) throws('TypeError', 'iterable', () => new made(1 as never));
  },
  array_of_array_map: () => {
    const a = viewed([[1, 2, 3], { A: 5, B: 6 }]) as ArrayView;
    const [first, second] = [a.at(0) as ArrayView, a.at(1) as MapView];
    ok(first instanceof ArrayView && second instanceof MapView);
    equal([a.length, first.toArray(), second.get('A'), second.get('B')], [2, [1, 2, 3], 5, 6]);
  },
  int_map: () => {
    const m = new MapView([
      [3, 2],
      [4, 3],
    ]);
    equal([m.has(3), m.size, m.has(5), [...m.keys()], [...m.values()]], [true, 2, false, [3, 4], [2, 3]]);
    equal(
      [...m],
      [
        [3, 2],
        [4, 3],
      ],
    );
  },
  array_map_of_opaque_object: () => {
    const [x, y] = [{ value: 'hello' }, { value: 1 }];
    const a = viewed([new Opaque(x), new Opaque(y)]) as ArrayView;
    ok(a.at(0) === x && a.at(1) === y);
    const m = viewed({ a: new Opaque(y) }) as MapView<string, unknown>;
    ok(m.get('a') === y);
  },
  str_map: () => {
    const data = Array.from({ length: 10 }, (_, i): [string, number] => [`a${9 - i}`, 9 - i]);
    const m = new MapView(data);
    equal([[...m], [...m.keys()]], [data, data.map(([key]) => key)]);
    for (const [key, value] of data) equal([m.has(key), m.get(key)], [true, value]);
  },
  repr: () => {
    equal(String(new ArrayView([1, 2, 3])), '(1, 2, 3)');
    equal(
      String(
        new MapView([
          [3, 2],
          [4, 3],
        ]),
      ),
      '{3: 2, 4: 3}',
    );
    equal(String(map({ a: 1, b: 2 })), '{"a": 1, "b": 2}');
  },
  serialization: () => equal(fromJSONGraph(toJSONGraph([1, 2, 3])), [1, 2, 3]),
  array_concat: () => {
    const [a, b] = [new ArrayView([1, 2, 3]), new ArrayView([4, 5, 6])];
    equal(new ArrayView([...a, ...b]).toArray(), [1, 2, 3, 4, 5, 6]);
    equal(new ArrayView([...[1], ...new ArrayView()]).toArray(), [1]);
  },
  large_map_get: () => {
    const m = new MapView(Array.from({ length: 100 }, (_, k): [number, number] => [k, k * k]));
    equal([m.get(101), m.get(3)], [undefined, 9]);
  },
  array_contains: () => {
    const a = new ArrayView([1, 2, 3, 4, 5]);
    equal(
      [a.includes(3), a.includes(5), a.includes(10), new ArrayView<number>().includes(1)],
      [true, true, false, false],
    );
    equal(
      [new ArrayView(['hello', 'world']).includes('world'), new ArrayView(['hello']).includes('foo')],
      [true, false],
    );
  },
  array_structural_eq: () => ok(same(new ArrayView([1, 2, 3]), [1, 2, 3]) && !structuralEqual([1, 2, 3], [1, 2, 4])),
  array_eq_empty: () => ok(same(new ArrayView(), [])),
  array_eq_nested: () => ok(same([[1, 2], [3]], [[1, 2], [3]]) && !structuralEqual([[1, 2], [3]], [[1, 2], [4]])),
  array_hash: () => ok(structuralHash([1, 2, 3]) === structuralHash(new ArrayView([1, 2, 3]))),
  map_structural_eq: () => ok(same(map({ x: 1, y: 2 }), { y: 2, x: 1 }) && !structuralEqual({ x: 1 }, { x: 3 })),
  map_eq_empty: () => ok(same(map({}), {})),
  map_hash: () => ok(structuralHash(map({ x: 1, y: 2 })) === structuralHash({ y: 2, x: 1 })),
};

const lists: Ports = {
  list_basic: () => {
    const list = new List([1, 2, 3]);
    equal([list.length, [...list], list.at(0), list.at(-1)], [3, [1, 2, 3], 1, 3]);
    equal(list.toArray().reverse(), [3, 2, 1]);
  },
  list_mutation_methods: () => {
    const list = new List([1, 2, 3]);
    list.push(4);
    list.insert(2, 9);
    equal([list.toArray(), list.pop(), list.splice(1, 1)], [[1, 2, 9, 3, 4], 4, [2]]);
    list.push(5, 6);
    equal(list.toArray(), [1, 9, 3, 5, 6]);
    list.clear();
    equal([list.toArray(), list.length], [[], 0]);
  },
  list_setitem_and_delitem: () => {
    const list = new List([0, 1, 2, 3, 4, 5]);
    list.set(1, 10);
    list.set(-1, 60);
    list.splice(2, 1);
    list.splice(-1, 1);
    equal(list.toArray(), [0, 10, 3, 4]);
  },
  list_slice_assignment_and_delete: () => {
    const list = new List([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    list.splice(2, 4, 20, 21);
    list.splice(3, 0, 30, 31);
    equal(list.toArray(), [0, 1, 20, 30, 31, 21, 6, 7, 8, 9]);
    list.splice(1, 7);
    equal(list.toArray(), [0, 8, 9]);
  },
  list_contains_bool_repr_and_concat: () => {
    const list = new List([1, 2, 3]);
    equal([list.includes(2), list.includes(5), String(list), String(new List())], [true, false, '[1, 2, 3]', '[]']);
    equal(new List([0, ...list, 4]).toArray(), [0, 1, 2, 3, 4]);
  },
  list_insert_index_normalization: () => {
    const list = new List([1, 2, 3]);
    list.insert(-100, 0);
    list.insert(100, 4);
    equal(list.toArray(), [0, 1, 2, 3, 4]);
  },
  list_error_cases: () => {
    const list = new List([1, 2, 3]);
    // Reading outside is undefined and popping nothing is undefined, as in JavaScript's arrays.
    equal([list.at(3), list.at(-4), new List().pop()], [undefined, undefined, undefined]);
    throws('IndexError', 'length 3', () => list.set(3, 0));
  },
  list_pickle_roundtrip: () => {
    const restored = fromJSONGraph(toJSONGraph(new List<unknown>([1, 'a', { k: 2 }]))) as List;
    ok(restored instanceof List);
    const [first, second, third] = restored.toArray() as [number, string, Map<string, number>];
    equal([first, second, [...third]], [1, 'a', [['k', 2]]]);
  },
  list_reverse: () => {
    equal(
      [new List([3, 1, 2]), new List(), new List([42])].map((list) => list.reverse().toArray()),
      [[2, 1, 3], [], [42]],
    );
  },
  list_self_aliasing_slice_assignment: () => {
    const list = new List([0, 1, 2, 3, 4]);
    list.splice(1, 2, ...list);
    equal(list.toArray(), [0, 0, 1, 2, 3, 4, 3, 4]);
  },
  list_is_mutable_and_shared: () => {
    const list = new List([1, 2]);
    const alias = testing('echo')(list) as List<number>;
    alias.push(3);
    alias.set(0, 10);
    equal(list.toArray(), [10, 2, 3]);
  },
  list_structural_eq: () => ok(same(new List([1, 2, 3]), new List([1, 2, 3])) && !same(new List([1]), new List([2]))),
  list_eq_empty: () => ok(same(new List(), new List())),
  list_hash: () => equal(structuralHash(new List([1, 2, 3])), structuralHash(testing('schema_id_list_int')([1, 2, 3]))),
};

const dicts: Ports = {
  missing_object: () => {
    const missing = getGlobalFunc('ffi.GetInvalidObject');
    ok(missing() instanceof FFIObject && sameAs(missing(), missing()));
    const m = map({ a: 1 });
    equal([m.get('a'), m.get('b'), m.get('b') ?? 42], [1, undefined, 42]);
  },
  dict_basic: () => {
    const d = dict({ a: 1, b: 2 });
    equal([d.size, d.has('a'), d.get('a'), d.get('b'), d.has('c')], [2, true, 1, 2, false]);
  },
  dict_setitem_delitem: () => {
    const d = dict({ a: 1 });
    d.set('b', 2);
    equal([d.size, d.get('b'), d.delete('a'), d.size, d.has('a'), d.delete('none')], [2, 2, true, 1, false, false]);
  },
  dict_shared_mutation: () => {
    const d = dict({ a: 1 });
    const alias = testing('echo')(d) as Dict;
    d.set('b', 2);
    equal([alias.get('b'), alias.size], [2, 2]);
  },
  dict_keys_values_items: () => {
    const d = dict({ x: 10, y: 20 });
    equal(
      [[...d.keys()], [...d.values()], [...d.entries()]],
      [
        ['x', 'y'],
        [10, 20],
        [
          ['x', 10],
          ['y', 20],
        ],
      ],
    );
  },
  dict_get_with_default: () =>
    equal([dict({ a: 1 }).get('a'), dict({}).get('b'), dict({}).get('b') ?? 42], [1, undefined, 42]),
  dict_clear: () => {
    const d = dict({ a: 1, b: 2 });
    d.clear();
    equal(d.size, 0);
  },
  dict_iteration: () =>
    equal(
      [...dict({ a: 1, b: 2 })].map(([key]) => key),
      ['a', 'b'],
    ),
  dict_iteration_many_entries: () => {
    const all = Array.from({ length: 10 }, (_, i): [string, number] => [`key_${i}`, i]);
    const d = new Dict(all);
    equal([[...d], [...d.keys()].length, [...d.values()].length], [all, 10, 10]);
  },
  dict_iteration_after_mutation: () => {
    const d = dict({ a: 1, b: 2, c: 3 });
    d.set('d', 4);
    d.delete('b');
    equal(
      [...d],
      [
        ['a', 1],
        ['c', 3],
        ['d', 4],
      ],
    );
  },
  dict_repr: () => equal(String(dict({ a: 1 })), '{"a": 1}'),
  dict_empty_init: () => equal(new Dict<string, number>().set('a', 1).get('a'), 1),
  dict_pickle_roundtrip: () => {
    const restored = fromJSONGraph(toJSONGraph(dict({ a: 1, b: 2 })));
    ok(restored instanceof Dict);
    equal(
      [...restored],
      [
        ['a', 1],
        ['b', 2],
      ],
    );
  },
  dict_structural_eq: () =>
    ok(same(dict({ x: 1, y: 2 }), dict({ x: 1, y: 2 })) && !same(dict({ x: 1 }), dict({ x: 3 }))),
  dict_eq_empty: () => ok(same(dict({}), dict({}))),
  dict_hash: () => ok(structuralHash(dict({ x: 1, y: 2 })) === structuralHash(dict({ y: 2, x: 1 }))),
};

export const containers: Ports = { ...arrays, ...lists, ...dicts, ...conversions, ...refusals };
