/** Upstream's tests of comparison, walks and JSON, with this package's names. */

import { Tensor } from 'dlpack';
import {
  ArrayView,
  DataType,
  DeviceValue,
  Dict,
  type FFIObject,
  fromJSONGraph,
  getGlobalFunc,
  MapView,
  objectClass,
  Shape,
  structuralEqual,
  structuralHash,
  toJSONGraph,
} from 'dlpack/tvm-ffi';
import { equal, ok } from '../../../assert.js';
import { caught, testing } from '../peer.js';
import type { Ports } from './ports.js';

const mismatch = (a: unknown, b: unknown) => getGlobalFunc('ffi.GetFirstStructuralMismatch')(a, b, false, false);
const keyOf = (value: unknown) =>
  getGlobalFunc('ffi.StructuralKey')(value) as FFIObject & { hash_i64: number | bigint };
const keysEqual = (a: unknown, b: unknown) => getGlobalFunc('ffi.StructuralKeyEqual')(a, b);
const dict = (object: Record<string, unknown>) => new Dict(Object.entries(object));
const same = (a: unknown, b: unknown) =>
  structuralEqual(a, b) && structuralHash(a) === structuralHash(b) && mismatch(a, b) === undefined;
const differ = (a: unknown, b: unknown) =>
  !structuralEqual(a, b) && structuralHash(a) !== structuralHash(b) && mismatch(a, b) !== undefined;

/** An object that contains itself. */
function cyclic(value: number): FFIObject {
  testing('echo');
  const Derived = objectClass<{ v_i64: number; v_f64: number; v_str: string; v_map: object; v_array: unknown[] }>(
    'testing.TestObjectDerived',
  );
  const object = Derived.fromFields({ v_i64: value, v_f64: 0, v_str: 'x', v_map: {}, v_array: [] });
  object.v_array = [object];
  return object;
}

type Visitor = [type: number, visit: (value: unknown) => unknown];
const [INT, BOOL, FLOAT, SMALL_STRING, ARRAY, MAP, DICT] = [1, 2, 3, 11, 71, 72, 76];
const walk = (value: unknown, visitors: Visitor[], order = 0) =>
  getGlobalFunc('ffi.StructuralWalk')(value, visitors, [], order);
const sizeOf = (value: unknown) =>
  value instanceof Dict ? value.size : value instanceof Map ? value.size : (value as unknown[]).length;

export const structural: Ports = {
  structural_key_basic: () => {
    const value = { a: [1, 2], b: [3, { c: 4 }] };
    const [k1, k2, k3] = [keyOf(value), keyOf({ b: value.b, a: value.a }), keyOf({ a: [1, 2], b: [3, { c: 5 }] })];
    equal([BigInt.asUintN(64, BigInt(k1.hash_i64)), k1.hash_i64], [structuralHash(value), k2.hash_i64]);
    equal([keysEqual(k1, k2), keysEqual(k1, k3)], [true, false]);
  },
  structural_helpers: () => {
    const value = { items: [1, 2, { k: 3 }], meta: { tag: 'x' } };
    ok(same(value, { meta: value.meta, items: value.items }) && differ(value, { ...value, items: [1, 2, { k: 4 }] }));
  },
  structural_key_in_map: () => {
    const [k1, k2, k3] = [keyOf({ x: [1, 2], y: [3] }), keyOf({ y: [3], x: [1, 2] }), keyOf({ x: [1, 2], y: [5] })];
    const map = new MapView([
      [k1, 1],
      [k2, 2],
      [k3, 3],
    ]);
    equal([map.size, map.get(k1), map.get(k2), map.get(k3)], [2, 2, 2, 3]);
  },
  structural_equal_dict: () => {
    const value = { a: 1, b: 2, c: 3 };
    ok(same(dict(value), dict({ c: 3, b: 2, a: 1 })) && differ(dict(value), dict({ ...value, c: 4 })));
  },
  structural_dict_vs_map_different_type: () => {
    const [map, mutable] = [{ a: 1, b: 2 }, dict({ a: 1, b: 2 })];
    ok(!structuralEqual(map, mutable) && structuralHash(map) !== structuralHash(mutable));
  },
  structural_key_tensor_content_policy: () => {
    const [x, y] = [Tensor.from([1, 2, 3], { dtype: 'float32' }), Tensor.from([1, 2, 4], { dtype: 'float32' })];
    ok(!structuralEqual(x, y) && structuralEqual(x, y, { skipTensorContent: true }) && !keysEqual(keyOf(x), keyOf(y)));
  },
  recursive_eq_self_referencing_cycle: () => {
    const object = cyclic(1);
    ok(getGlobalFunc('ffi.RecursiveEq')(object, object));
    Object.assign(object, { v_array: [] }); // ends the cycle, or its references would never end
  },
  recursive_eq_mutual_cycle: () => {
    const [a, b, c] = [cyclic(42), cyclic(42), cyclic(99)];
    equal([getGlobalFunc('ffi.RecursiveEq')(a, b), getGlobalFunc('ffi.RecursiveEq')(a, c)], [true, false]);
    for (const object of [a, b, c]) Object.assign(object, { v_array: [] });
  },
  visit_interrupt_payload: () => {
    const payload = { reason: 'found', path: [1, 2, 3] };
    const interrupt = getGlobalFunc('ffi.VisitInterrupt')(payload) as FFIObject & { value: unknown };
    ok(structuralEqual(interrupt.value, payload));
  },
  structural_walk_typed_callbacks: () => {
    const trace: string[] = [];
    const note = (name: string) => (value: unknown) =>
      void trace.push(`${name}:${name === 'array' ? sizeOf(value) : value}`);
    equal(
      walk(
        [1, 2.5, 'tag'],
        [
          [ARRAY, note('array')],
          [INT, note('number')],
          [FLOAT, note('number')],
          [SMALL_STRING, note('str')],
        ],
      ),
      undefined,
    );
    equal(trace, ['array:3', 'number:1', 'number:2.5', 'str:tag']);
  },
  structural_walk_first_match_and_skip: () => {
    const trace: unknown[] = [];
    walk(
      [1, 2],
      [
        [ARRAY, (value) => trace.push(sizeOf(value))], // 1 skips what is inside
        [INT, (value) => void trace.push(value)],
      ],
    );
    equal(trace, [2]);
  },
  structural_walk_interrupt: () => {
    const stop = (value: unknown) => (value === 2 ? getGlobalFunc('ffi.VisitInterrupt')({ found: value }) : undefined);
    const result = walk([1, 2, 3], [[INT, stop]]) as { value: unknown };
    ok(structuralEqual(result.value, { found: 2 }));
  },
  structural_walk_nested_containers: () => {
    const seen: string[] = [];
    const note = (name: string) => (value: unknown) => void seen.push(`${name} ${sizeOf(value)}`);
    const scalars: number[] = [];
    const visitors: Visitor[] = [
      [ARRAY, note('array')],
      [MAP, note('map')],
      [DICT, note('dict')],
    ];
    for (const type of [INT, BOOL]) visitors.push([type, (value) => void scalars.push(Number(value))]);
    walk([{ numbers: [1, 2], meta: dict({ flag: true }) }, 3], visitors);
    equal(
      [seen.sort(), scalars.sort()],
      [
        ['array 2', 'array 2', 'dict 1', 'map 2'],
        [1, 1, 2, 3],
      ],
    );
  },
  structural_walk_post_order_enum: () => {
    const trace: string[] = [];
    walk(
      [[1], 2],
      [
        [ARRAY, (value) => void trace.push(`array:${sizeOf(value)}`)],
        [INT, (value) => void trace.push(`int:${value}`)],
      ],
      1,
    );
    equal(trace, ['int:1', 'array:1', 'int:2', 'array:2']);
  },
};

const there = (value: unknown): unknown => fromJSONGraph(toJSONGraph(value));
/** Entries in place of maps, which the assertions do not compare. */
const flat = (value: unknown): unknown =>
  value instanceof Map ? { entries: [...value].map(flat) } : Array.isArray(value) ? value.map(flat) : value;
const graph = (value: unknown) => {
  const { root_index: root, nodes } = JSON.parse(toJSONGraph(value)) as {
    root_index: number;
    nodes: { type: string; data?: unknown }[];
  };
  return { root: nodes[root] as { type: string; data?: unknown }, nodes };
};
const returns = (name: string, value: unknown, expected = value): [string, () => void] => [
  name,
  () => equal(flat(there(value)), flat(expected)),
];
const returnsDict = (name: string, value: Record<string, unknown>): [string, () => void] => [
  name,
  () => {
    const back = there(dict(value));
    ok(back instanceof Dict);
    equal(flat(back.toMap()), flat(new Map(Object.entries(value))));
  },
];
const returnsPair = (name: string, a: number, b: number): [string, () => void] => [
  name,
  () => {
    testing('echo');
    const back = there(new (objectClass('testing.TestIntPair'))(a, b)) as { a: number; b: number };
    equal([back.a, back.b], [a, b]);
  },
];
const hasType = (name: string, value: unknown, type: string, data?: unknown): [string, () => void] => [
  name,
  () => {
    const { root } = graph(value);
    equal(root.type, type);
    if (data !== undefined) equal(root.data, data);
  },
];
const fails = (name: string, text: string): [string, () => void] => [
  name,
  () => ok(caught(() => fromJSONGraph(text)) !== null, text),
];
const mixed = { int: 42, str: 'hello', bool: true, none: undefined };

export const serialization: Ports = Object.fromEntries([
  ['None none', () => equal(there(null), undefined)],
  returns('Bool true', true),
  returns('Bool false', false),
  returns('Int zero', 0),
  returns('Int positive', 42),
  returns('Int negative', -1),
  returns('Int large_positive', 10 ** 15),
  returns('Int large_negative', -(10 ** 15)),
  returns('Float zero', -0),
  returns('Float positive', 3.25),
  returns('Float negative', -2.75),
  returns('Float very_small', 1e-300),
  returns('Float very_large', 1e300),
  returns('String empty', ''),
  returns('String short', 'hello'),
  returns('String long', 'x'.repeat(1000)),
  returns('String special_chars', 'hello\nworld\t"quotes"'),
  returns('String unicode', 'hello 世界'),
  ...(['int32', 'float64', 'bool', 'float32x4'] as const).map((dtype): [string, () => void] => [
    `DataType ${dtype === 'float32x4' ? 'vector' : dtype}`,
    () => equal(String(there(new DataType(dtype))), dtype),
  ]),
  ['Device cpu', () => equal(String(there(new DeviceValue('cpu'))), 'cpu')],
  ['Device cuda', () => equal(String(there(new DeviceValue('cuda:1'))), 'cuda:1')],
  returns('Array empty', []),
  returns('Array single_element', [42]),
  returns('Array multiple_elements', [1, 2, 3]),
  returns('Array mixed_types', [42, 'hello', true, undefined]),
  returns('Array nested_arrays', [[1, 2], [3]]),
  returns('Array duplicated_elements', [42, 42, 42]),
  returns('Map empty', new Map()),
  returns('Map single_entry', new Map([['key', 42]])),
  returns('Map multiple_entries', new Map(Object.entries({ a: 1, b: 2, c: 3 }))),
  returns('Map mixed_value_types', new Map(Object.entries(mixed))),
  returns('Map nested_map', new Map([['inner', new Map([['x', 1]])]])),
  returns('Map map_with_array_value', new Map([['nums', [10, 20]]])),
  returnsDict('Dict empty', {}),
  returnsDict('Dict single_entry', { key: 42 }),
  returnsDict('Dict multiple_entries', { a: 1, b: 2, c: 3 }),
  returnsDict('Dict mixed_value_types', mixed),
  [
    'Dict nested_dict',
    () => equal(((there(dict({ inner: dict({ x: 1 }) })) as Dict).get('inner') as Dict).get('x'), 1),
  ],
  returnsDict('Dict dict_with_array_value', { nums: [10, 20] }),
  ...[[], [10], [1, 2, 3, 4]].map((dims, i): [string, () => void] => [
    `Shape ${['empty', '1d', 'nd'][i]}`,
    () => equal([...(there(new Shape(dims)) as Shape)], dims),
  ]),
  returnsPair('ObjectSerialization int_pair_roundtrip', 3, 7),
  returnsPair('ObjectSerialization int_pair_zero_values', 0, 0),
  returnsPair('ObjectSerialization int_pair_negative_values', -100, -200),
  returnsPair('ObjectSerialization int_pair_large_values', 10 ** 15, -(10 ** 15)),
  hasType('JSONStructure null_json_structure', null, 'None'),
  hasType('JSONStructure bool_json_structure', true, 'bool', true),
  hasType('JSONStructure int_json_structure', 42, 'int', 42),
  hasType('JSONStructure float_json_structure', 3.25, 'float', 3.25),
  hasType('JSONStructure string_json_structure', 'hello', 'ffi.String', 'hello'),
  ['JSONStructure array_json_structure', () => equal((graph([1, 2]).root.data as unknown[]).length, 2)],
  ['JSONStructure map_json_structure', () => equal((graph({ a: 1 }).root.data as unknown[]).length, 2)],
  hasType('JSONStructure dict_json_structure', new Dict([['a', 1]]), 'ffi.Dict'),
  ['JSONStructure node_dedup', () => equal(new Set(graph(new ArrayView([42, 42, 42])).root.data as number[]).size, 1)],
  [
    'JSONStructure object_pod_fields_are_inlined',
    () => {
      testing('echo');
      equal(graph(new (objectClass('testing.TestIntPair'))(3, 7)).root, {
        type: 'testing.TestIntPair',
        data: { a: 3, b: 7 },
      });
    },
  ],
  ['Metadata with_metadata', () => equal(JSON.parse(toJSONGraph(42, { version: '1.0' })).metadata.version, '1.0')],
  ['Metadata without_metadata', () => ok(!('metadata' in JSON.parse(toJSONGraph(42))))],
  fails('Errors invalid_json_string', 'not valid json'),
  fails('Errors empty_json_string', ''),
  fails('Errors missing_root_index', '{"nodes": []}'),
  fails('Errors missing_nodes', '{"root_index": 0}'),
]);
