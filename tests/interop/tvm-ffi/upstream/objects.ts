/** Upstream's tests of objects, types, metadata and access paths, with this package's names. */

import {
  ArrayView,
  Dict,
  FFIObject,
  getGlobalFunc,
  isInstance,
  List,
  live,
  MapView,
  Opaque,
  objectClass,
  registerGlobalFunc,
  removeGlobalFunc,
  sameAs,
  TVM_FFI_VALUE,
} from 'dlpack/tvm-ffi';
import { equal, ok } from '../../../assert.js';
import { raises, testing } from '../peer.js';
import type { Ports } from './ports.js';

interface Base {
  v_i64: number;
  v_f64: number;
  v_str: string;
  add_i64(value: number): number;
}

interface Derived extends Base {
  v_map: Map<string, number>;
  v_array: number[];
}

interface Unregistered {
  v1: number;
  v2: number;
  get_v1_plus_one(): number;
  get_v2_plus_two(): number;
}

function classOf<T extends object>(name: string) {
  testing('echo');
  return objectClass<T>(`testing.${name}`);
}

const base = (fields: Partial<Base> = {}) => classOf<Base>('TestObjectBase').fromFields(fields);
const pair = (a: number, b: number) => new (classOf<{ a: number; b: number }>('TestIntPair'))(a, b);
const derived = () => {
  const fields = { v_i64: 20, v_map: new MapView([['a', 1]]), v_array: new ArrayView([1, 2, 3]) };
  return { fields, object: classOf<Derived>('TestObjectDerived').fromFields(fields as never) };
};
const defaults = (object: Base) => equal([object.v_i64, object.v_f64, object.v_str], [10, 10, 'hello']);

/** Whether values are instances of types. */
const instances = (...cases: [unknown, string, boolean][]) => {
  for (const [value, key, expected] of cases) equal([key, isInstance(value, key)], [key, expected]);
};
const isDerived = (made: { prototype: object }, from: { prototype: object }) =>
  made.prototype instanceof (from as never);

export const objects: Ports = {
  make_object: () => {
    const object = base();
    ok(object instanceof classOf('TestObjectBase'));
    defaults(object);
  },
  make_object_via_init: () => equal([pair(1, 2).a, pair(1, 2).b], [1, 2]),
  method: () => equal(base({ v_i64: 12 }).add_i64(1), 13),
  attribute: () => equal([pair(3, 4).a, pair(3, 4).b], [3, 4]),
  setter: () => {
    const object = base({ v_i64: 10, v_str: 'hello' });
    object.v_i64 = 11;
    object.v_str = 'world';
    equal([object.v_i64, object.v_str], [11, 'world']);
    raises('TypeError', '', () => Object.assign(object, { v_str: 1 }));
    raises('TypeError', '', () => Object.assign(object, { v_i64: 'hello' }));
  },
  derived_object: () => {
    raises('TypeError', '', () => classOf('TestObjectDerived').fromFields({}));
    const { fields, object } = derived();
    const view = live(object);
    ok(object instanceof classOf('TestObjectDerived') && sameAs(view, object));
    ok(sameAs(view.v_map, fields.v_map) && sameAs(view.v_array, fields.v_array));
    object.v_i64 = 21;
    equal([object.v_i64, object.v_f64, object.v_str], [21, 10, 'hello']);
  },
  opaque_object: () => {
    const value = {};
    ok(testing('echo')(new Opaque(value)) === value);
    equal(testing('object_use_count')(new Opaque(value)), 1);
  },
  opaque_type_error: () => {
    raises('TypeError', 'Expected `int` but got `ffi.Object`', () => testing('add_one')(new Opaque({})));
  },
  object_init: () => {
    defaults(new (classOf<Base>('TestObjectBase'))());
    equal([pair(3, 4).a, base({ v_i64: 7 }).v_i64], [3, 7]);
  },
  register_object_wires_init: () => {
    equal([pair(3, 7).a, pair(3, 7).b], [3, 7]);
    let failed: unknown = null;
    try {
      Object.create(classOf<{ a: number }>('TestIntPair').prototype).a;
    } catch (error) {
      failed = error; // an object without a native object has no fields
    }
    ok(failed instanceof TypeError);
  },
  id_and_is: () => {
    const [x, y] = [pair(1, 2), pair(1, 2)];
    equal([sameAs(x, x), sameAs(x, y), sameAs(x, {}), sameAs(x, null)], [true, false, false, false]);
  },
  object_protocol: () => {
    const list = new List();
    ok(testing('echo')({ [TVM_FFI_VALUE]: () => list }) === list);
  },
  unregistered_object_fallback: () => {
    for (let i = 0; i < 5; i++) {
      const object = testing('make_unregistered_object')() as FFIObject & Unregistered;
      equal([object.typeKey, object.constructor.name], ['testing.TestUnregisteredObject', 'TestUnregisteredObject']);
      equal([object.v1, object.v2, object.get_v1_plus_one(), object.get_v2_plus_two()], [41, 42, 42, 44]);
    }
  },
  type_info_attachment: () => {
    for (const [name, parent] of [
      ['TestObjectDerived', 'TestObjectBase'],
      ['TestCxxClassDerived', 'TestCxxClassBase'],
      ['TestCxxClassDerivedDerived', 'TestCxxClassDerived'],
    ] as const) {
      ok(Object.getPrototypeOf(classOf(name)) === classOf(parent), name);
    }
    for (const name of ['TestIntPair', 'TestObjectBase', 'TestCxxInitSubset', 'SchemaAllTypes']) {
      ok(isDerived(classOf(name), FFIObject), name);
    }
  },
  get_registered_type_keys: () => {
    testing('echo');
    const keys = new Set(getGlobalFunc('ffi.GetRegisteredTypeKeys')() as string[]);
    for (const key of [
      'ffi.Object',
      'ffi.String',
      'None',
      'int',
      'bool',
      'float',
      'void*',
      'DataType',
      'Device',
      'DLTensor*',
    ])
      ok(keys.has(key), key);
  },
  map_not_isinstance_array: () => instances([new MapView([['a', 1]]), 'ffi.Array', false]),
  array_not_isinstance_map: () => instances([new ArrayView([1]), 'ffi.Map', false]),
  list_not_isinstance_dict: () => instances([new List([1]), 'ffi.Dict', false]),
  dict_not_isinstance_list: () => instances([new Dict([['k', 1]]), 'ffi.List', false]),
  array_not_isinstance_list: () => instances([new ArrayView([1]), 'ffi.List', false]),
  map_not_isinstance_dict: () => instances([new MapView([['a', 1]]), 'ffi.Dict', false]),
  array_isinstance_object: () => instances([new ArrayView([1]), 'ffi.Object', true]),
  map_isinstance_object: () => instances([new MapView([['a', 1]]), 'ffi.Object', true]),
  list_isinstance_object: () => instances([new List([1]), 'ffi.Object', true]),
  dict_isinstance_object: () => instances([new Dict([['k', 1]]), 'ffi.Object', true]),
  derived_isinstance_base: () => {
    const { object } = derived();
    instances([object, 'testing.TestObjectBase', true], [object, 'ffi.Object', true]);
  },
  base_not_isinstance_derived: () => instances([base(), 'testing.TestObjectDerived', false]),
  derived_isinstance_own_class: () => instances([derived().object, 'testing.TestObjectDerived', true]),
  user_object_not_isinstance_array: () => instances([base(), 'ffi.Array', false]),
  array_not_isinstance_user_object: () => instances([new ArrayView([1]), 'testing.TestObjectBase', false]),
  issubclass_derived_base: () => ok(isDerived(classOf('TestObjectDerived'), classOf('TestObjectBase'))),
  issubclass_base_not_derived: () => ok(!isDerived(classOf('TestObjectBase'), classOf('TestObjectDerived'))),
  issubclass_array_not_map: () => ok(!isDerived(ArrayView, MapView)),
  issubclass_map_not_array: () => ok(!isDerived(MapView, ArrayView)),
  issubclass_all_containers_are_object: () =>
    ok([ArrayView, List, MapView, Dict].every((made) => isDerived(made, FFIObject))),
  issubclass_user_type_is_object: () => ok(isDerived(classOf('TestObjectDerived'), FFIObject)),
  issubclass_sibling_containers: () =>
    ok(
      ![
        [List, ArrayView],
        [Dict, MapView],
        [ArrayView, List],
        [MapView, Dict],
      ].some(([a, b]) => isDerived(a as never, b as never)),
    ),
};

/** The metadata of a global function, as an object. */
function metadataOf(name: string): Record<string, unknown> {
  testing('echo');
  return JSON.parse((getGlobalFunc('ffi.GetGlobalFuncMetadata')(name) as string) || '{}');
}

export const metadata: Ports = {
  metadata_global_func: () => {
    const { type_schema, ...rest } = metadataOf('testing.schema_id_int');
    equal([typeof type_schema, rest], ['string', { bool_attr: true, int_attr: 1, str_attr: 'hello' }]);
  },
  metadata_empty_for_python_func: () => {
    const name = 'dlpack.test.no_metadata';
    registerGlobalFunc(name, (x: number) => x + 1);
    try {
      equal(metadataOf(name), {});
    } finally {
      removeGlobalFunc(name);
    }
  },
  mem_fn_as_global_func: () => {
    const { type, named_args } = JSON.parse(metadataOf('testing.TestIntPairSum').type_schema as string);
    equal([type, named_args.params[0].type, named_args.return[0].type], ['ffi.Function', 'testing.TestIntPair', 'int']);
  },
};

interface Step {
  kind: number;
  key: unknown;
}

interface Path {
  parent: (FFIObject & Path) | undefined;
  _attr(name: string): FFIObject & Path;
  _array_item(index: number): FFIObject & Path;
  _array_item_missing(index: number): FFIObject & Path;
  _map_item(key: unknown): FFIObject & Path;
  _map_item_missing(key: unknown): FFIObject & Path;
  _is_prefix_of(other: object): boolean;
  _path_equal(other: object): boolean;
  _to_steps(): Step[];
}

function root(): FFIObject & Path {
  testing('echo');
  return (objectClass<Path>('ffi.reflection.AccessPath') as unknown as { _root(): FFIObject & Path })._root();
}

/** A path of one step. */
function oneStep(path: FFIObject & Path, kind: number, key: unknown): void {
  const steps = path._to_steps();
  equal([steps.length, steps[0]?.kind, steps[0]?.key], [1, kind, key]);
  ok(path.parent?._path_equal(root()));
}

export const accessPaths: Ports = {
  root_path: () => ok(root()._to_steps().length === 0 && root()._path_equal(root())),
  path_attr: () => oneStep(root()._attr('foo'), 0, 'foo'),
  path_array_item: () => oneStep(root()._array_item(2), 1, 2),
  path_missing_array_element: () => oneStep(root()._array_item_missing(2), 4, 2),
  path_map_item: () => oneStep(root()._map_item('foo'), 2, 'foo'),
  path_missing_map_item: () => oneStep(root()._map_item_missing('foo'), 5, 'foo'),
  path_is_prefix_of: () => {
    const [foo, bar] = [root()._attr('foo'), root()._attr('bar')];
    ok(root()._is_prefix_of(root()) && root()._is_prefix_of(foo) && foo._is_prefix_of(foo));
    ok(!foo._is_prefix_of(root()) && !bar._is_prefix_of(foo));
    ok(foo._is_prefix_of(foo._array_item(2)) && !foo._array_item(2)._is_prefix_of(foo));
    ok(!foo._is_prefix_of(bar._array_item(2)));
  },
  path_equal: () => {
    const [foo, bar] = [root()._attr('foo'), root()._attr('bar')];
    ok(foo._path_equal(root()._attr('foo')) && !root()._path_equal(foo) && !foo._path_equal(root()));
    ok(!bar._path_equal(foo) && !foo._path_equal(foo._array_item(2)) && !foo._array_item(2)._path_equal(foo));
  },
};
