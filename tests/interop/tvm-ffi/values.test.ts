import { DLPACK, Tensor, TensorView } from 'dlpack';
import {
  DataType,
  DeviceValue,
  Dict,
  FFIObject,
  getGlobalFunc,
  List,
  OpaquePointer,
  RValue,
  Shape,
  TVM_FFI_OBJECT,
  TVM_FFI_VALUE,
  TVMFFIError,
  toFunction,
  UNCHANGED,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { testWith } from '../../harness.js';
import { ffiMissing, kernelsMissing, probe, raises, testing } from './peer.js';

/** The value that is passed, and the value that comes back. */
const plain: [string, unknown, unknown][] = [
  ['none', null, undefined],
  ['undefined', undefined, undefined],
  ['a small int', 7, 7],
  ['a negative int', -1, -1],
  ['int32 limits', [2 ** 31 - 1, -(2 ** 31)], [2 ** 31 - 1, -(2 ** 31)]],
  ['more than 32 bits', 2 ** 40 + 3, 2 ** 40 + 3],
  ['less than -32 bits', -(2 ** 40) - 3, -(2 ** 40) - 3],
  ['the largest safe integer', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ['the least safe integer', Number.MIN_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
  ['a bigint that fits a number', 5n, 5],
  ['int64 limits', [2n ** 63n - 1n, -(2n ** 63n)], [2n ** 63n - 1n, -(2n ** 63n)]],
  ['a float', 1.5, 1.5],
  ['an integer beyond the safe ones', 1e300, 1e300],
  ['minus zero', -0, -0],
  ['NaN', Number.NaN, Number.NaN],
  ['infinity', -Infinity, -Infinity],
  ['true', true, true],
  ['false', false, false],
  ['an empty string', '', ''],
  ['a string in the slot', 'seven77', 'seven77'],
  ['a string in the frame', 'eight888', 'eight888'],
  ['a short string of wide characters', 'é', 'é'],
  ['a longer string of wide characters', 'Ωμέγα, 한국어, 🙂', 'Ωμέγα, 한국어, 🙂'],
  ['a string with zeros', 'a\0b\0cdefghi', 'a\0b\0cdefghi'],
  ['a short string with zeros', '\0\0', '\0\0'],
  ['a string longer than the frame', 'x'.repeat(100_000), 'x'.repeat(100_000)],
  ['many strings', Array(200).fill('y'.repeat(50)), Array(200).fill('y'.repeat(50))],
  ['bytes in the slot', new Uint8Array([1, 2, 3]), new Uint8Array([1, 2, 3])],
  ['bytes as an object', new Uint8Array(40).fill(9), new Uint8Array(40).fill(9)],
  ['no bytes', new Uint8Array(0), new Uint8Array(0)],
  ['a nested array', [1, ['x', [true, null]]], [1, ['x', [true, undefined]]]],
  ['an empty array', [], []],
  ['an array longer than a chunk', Array.from({ length: 100 }, (_, i) => i), Array.from({ length: 100 }, (_, i) => i)],
];

for (const [name, value, expected] of plain) {
  testWith(ffiMissing, `echo: ${name}`, () => equal(testing('echo')(value), expected));
}

testWith(ffiMissing, 'echo: maps, with keys of any kind', () => {
  const echo = testing('echo');
  const map = new Map<unknown, unknown>([
    ['a', 1],
    [2, ['b']],
    [true, new Map([['deep', 0.5]])],
  ]);
  const back = echo(map) as Map<unknown, unknown>;
  equal([...back.keys()], ['a', 2, true]);
  equal((back.get(true) as Map<string, number>).get('deep'), 0.5);
  equal(
    [...(echo({ x: 1, y: 2 }) as Map<string, number>)],
    [
      ['x', 1],
      ['y', 2],
    ],
  );
  equal((echo(new Map()) as Map<unknown, unknown>).size, 0);
});

testWith(ffiMissing, 'echo: shapes, dtypes, devices, pointers, errors, functions', () => {
  const echo = testing('echo');
  const shape = echo(new Shape([2, 0, 3]));
  ok(shape instanceof Shape);
  equal([shape.dims, shape.length, shape.size], [[2, 0, 3], 3, 0]);
  const dtype = echo(new DataType('float8_e4m3fn'));
  ok(dtype instanceof DataType && dtype.name === 'float8_e4m3fn');
  const device = echo(new DeviceValue('cuda:3'));
  ok(device instanceof DeviceValue && String(device) === 'cuda:3');
  const pointer = echo(new OpaquePointer(0xdeadbeefcafen));
  ok(pointer instanceof OpaquePointer && pointer.address === 0xdeadbeefcafen);
  const error = echo(new TVMFFIError('KeyError', 'no such key'));
  ok(error instanceof TVMFFIError && error.kind === 'KeyError' && error.message === 'no such key');
  equal((echo(testing('add_one')) as (x: number) => number)(41), 42);
  equal((echo((x: number) => x * 2) as (x: number) => number)(21), 42);
});

testWith(ffiMissing, 'callees receive values of their declared types', () => {
  equal(testing('schema_id_int')(3), 3);
  equal(testing('schema_id_float')(3), 3);
  equal(testing('schema_id_bool')(true), true);
  equal(testing('schema_id_string')('a string of some length'), 'a string of some length');
  equal(testing('schema_id_bytes')(new Uint8Array([5])), new Uint8Array([5]));
  equal(String(testing('schema_id_dtype')(new DataType('int8'))), 'int8');
  equal(String(testing('schema_id_dtype')('int8')), 'int8');
  equal(String(testing('schema_id_device')(new DeviceValue('cpu'))), 'cpu');
  equal(testing('schema_id_arr_int')([1, 2]), [1, 2]);
  equal((testing('schema_id_list_str')(new List(['a'])) as List).toArray(), ['a']);
  equal((testing('schema_id_list_int')(new List([1, 2])) as List).toArray(), [1, 2]);
  equal([...(testing('schema_id_dict_str_int')(new Dict([['k', 7]])) as Dict)], [['k', 7]]);
  equal([...(testing('schema_id_dict_str_str')(new Dict([['k', 'v']])) as Dict)], [['k', 'v']]);
  equal(testing('schema_id_opt_str')(null), undefined);
  equal([...(testing('schema_id_map_str_int')({ a: 1 }) as Map<string, number>)], [['a', 1]]);
  raises('TypeError', 'Expected `int`', () => testing('schema_id_int')('3'));
  raises('TypeError', 'Expected 1 but got 0', () => testing('schema_id_int')());
});

/** Every typed function of the testing library: its arguments and its result. */
const typed: [string, unknown[], unknown][] = [
  ['schema_id_any', [5], 5],
  ['schema_id_opt_int', [null], undefined],
  ['schema_id_opt_int', [4], 4],
  ['schema_id_opt_obj', [null], undefined],
  ['schema_id_arr_str', [['a', 'longer than seven']], ['a', 'longer than seven']],
  ['schema_id_arr', [[1, 'x', null]], [1, 'x', undefined]],
  ['schema_id_map_str_str', [{ a: 'b' }], new Map([['a', 'b']])],
  ['schema_id_map', [new Map([[1, 2.5]])], new Map([[1, 2.5]])],
  ['schema_id_variant_int_str', [3], 3],
  ['schema_id_variant_int_str', ['three'], 'three'],
  ['schema_arr_map_opt', [[1, null], { k: [1, 2] }, 'x'], new Map(Object.entries({ k: [1, 2], x: [1] }))],
  ['schema_variant_mix', [[1, 2]], [1, 2]],
  ['schema_no_args', [], 1],
  ['schema_no_return', [1], undefined],
  ['schema_no_args_no_return', [], undefined],
];

for (const [name, args, expected] of typed) {
  testWith(ffiMissing, `testing.${name}(${JSON.stringify(args).slice(1, -1)})`, () => {
    const result = testing(name)(...args);
    equal(result instanceof Map ? [...result] : result, expected instanceof Map ? [...expected] : expected);
  });
}

testWith(ffiMissing, 'functions, objects and tensors through typed functions', () => {
  equal((testing('schema_id_func')((x: number) => x + 1) as (x: number) => number)(1), 2);
  const object = testing('make_unregistered_object')();
  equal((testing('schema_id_object')(object) as FFIObject).typeKey, 'testing.TestUnregisteredObject');
  equal((testing('schema_id_arr_obj')([object]) as FFIObject[])[0]?.typeKey, 'testing.TestUnregisteredObject');
  const x = Tensor.from([1, 2], { dtype: 'float32' });
  equal((testing('schema_id_tensor')(x) as Tensor).toArray(), [1, 2]);
  equal(testing('schema_tensor_view_input')(x), undefined);
  equal([testing('optional_tensor_view_has_value')(x), testing('optional_tensor_view_has_value')(null)], [true, false]);
  equal((testing('make_array_with_tensor')(x) as Tensor[])[0]?.toArray(), [1, 2]);
  const [tensor, number] = testing('make_list_with_tensor')(x, 9) as [Tensor, number];
  equal([tensor.toArray(), number], [[1, 2], 9]);
  for (const maker of ['make_map_with_tensor', 'make_dict_with_tensor']) {
    const [value] = [...(testing(maker)(x) as Map<string, Tensor>).values()];
    equal(value?.toArray(), [1, 2], maker);
  }
});

testWith(
  kernelsMissing,
  'values that live only during a call arrive in a callback: C strings, bytes, views, rvalues',
  () => {
    let seen: unknown[] = [];
    const x = Tensor.from([7], { dtype: 'float32' });
    const result = probe('call_with_borrowed')((...args: unknown[]) => {
      seen = args.map((value) => (value instanceof TensorView ? value.toArray() : value));
      return args[0];
    }, x);
    equal([result, seen], ['a C string', ['a C string', new Uint8Array([0, 1, 2, 3]), [7], [1, 'two']]]);
  },
);

testWith(ffiMissing, 'objects that only native code knows pass through', () => {
  const object = testing('make_unregistered_object')();
  ok(object instanceof FFIObject);
  equal(object.typeKey, 'testing.TestUnregisteredObject');
  const count = testing('object_use_count');
  equal(count(object), 1);
  ok(testing('echo')(object) === object);
  equal(count(object), 1);
});

testWith(kernelsMissing, 'a callee can take over an rvalue', () => {
  const unique = probe('unique_array');
  equal([unique([1, 'two']), unique(new RValue([1, 'two']))], [2, 1]);
  equal(testing('echo')(new RValue(['a longer string', 2])), ['a longer string', 2]);
  // A callee that does not take it over.
  equal(testing('nop')(new RValue([1])), undefined);
  throws('TypeError', 'an RValue', () => testing('echo')(new RValue(5)));
  equal(
    testing('apply')((...args: unknown[]) => args, new RValue([3])),
    [[3]],
  );
});

testWith(ffiMissing, 'values that have no native type are refused and leave nothing behind', () => {
  const echo = testing('echo');
  throws('TypeError', 'an argument', () => echo(Symbol('s')));
  throws('TypeError', 'Promise', () => echo(Promise.resolve()));
  throws('TypeError', 'Tensor.wrap of a typed array', () => echo(new Float32Array(2)));
  throws('TypeError', 'Date', () => echo([1, new Date(0)]));
  const hostile = {
    get x() {
      throw new RangeError('from a getter');
    },
  };
  let message = '';
  try {
    echo('text', hostile);
  } catch (error) {
    message = (error as Error).message;
  }
  equal(message, 'from a getter');
  equal(echo('still works, all of it'), 'still works, all of it');
});

testWith(ffiMissing, 'tensors inside containers come back as tensors over the same memory', () => {
  const x = Tensor.from([1, 2], { dtype: 'float32' });
  const [y, n, text] = testing('make_array_with_mixed')(x, 5) as [Tensor<'float32'>, number, string];
  equal([n, text], [5, 'hello']);
  y.set(0, 9);
  equal(x.get(0), 9);
  const map = testing('make_map_with_tensor')(x) as Map<string, unknown>;
  ok([...map.values()].some((value) => value instanceof Tensor));
});

testWith(ffiMissing, 'a function is the same native function wherever it goes', () => {
  const fn = toFunction(() => 1);
  const count = testing('object_use_count');
  equal(count(fn), 1);
  equal((testing('echo')(fn) as () => number)(), 1);
});

testWith(kernelsMissing, 'dtypes and devices that this package has no tensors for come back as values', () => {
  const dtype = probe('dtype_of')(3, 0, 0) as DataType;
  equal([dtype.name, dtype.code, dtype.bits, dtype.lanes], ['void', 3, 0, 0]);
  equal(String(testing('echo')(new DataType('void'))), 'void');
  equal(String(testing('schema_id_dtype')('void')), 'void');
  const odd = probe('dtype_of')(99, 8, 1) as DataType;
  equal([odd.name, testing('echo')(odd)], ['unknown(99, 8, 1)', odd]);
  const device = probe('device_of')(77, 3) as DeviceValue;
  equal([device.name, device.type, device.id], ['unknown(77):3', 77, 3]);
  equal(testing('echo')(device), device);
  throws('ValueError', '0 to 255', () => new DataType({ code: 0, bits: 256, lanes: 1 }));
});

testWith(kernelsMissing, 'objects that stand for another value', () => {
  const echo = testing('echo');
  const x = Tensor.from([1, 2], { dtype: 'float32' });
  // Python's method names, as proxies have them.
  const proxy = { __dlpack__: (request: object) => x[DLPACK](request), __dlpack_device__: () => [1, 0] };
  for (const argument of [proxy, [proxy], new Map([['x', proxy]])]) {
    const back = echo(argument);
    const y = (back instanceof Map ? back.get('x') : Array.isArray(back) ? back[0] : back) as Tensor<'float32'>;
    y.set(0, y.get(0) + 1);
  }
  equal(x.toArray(), [4, 2]);
  equal(echo({ [TVM_FFI_VALUE]: () => [1, 'two'] }), [1, 'two']);
  equal(echo([{ [TVM_FFI_VALUE]: () => 5 }]), [5]);
  const loop = { [TVM_FFI_VALUE]: () => loop };
  throws('TypeError', 'without that method', () => echo(loop));
  throws('TypeError', 'the address of an object', () => echo({ [TVM_FFI_OBJECT]: () => 5 }));
  const error = new RangeError('too far');
  ok(echo(error) === error);
});

testWith(ffiMissing, 'integers of any length keep their value, alone and in containers', () => {
  const echo = testing('echo');
  const values: bigint[] = [];
  for (const bits of [63n, 64n, 65n, 127n, 128n, 129n, 5000n]) {
    for (const near of [-1n, 0n, 1n]) values.push(2n ** bits + near, -(2n ** bits) + near);
  }
  const isSmall = (value: bigint) => BigInt.asIntN(64, value) === value;
  ok(values.some(isSmall) && !values.every(isSmall));
  for (const value of values) equal(echo(value), value);
  equal(echo(values), values);
  equal(echo(new Map([['x', values]])), new Map([['x', values]]));
  let inCallback: unknown;
  equal(
    testing('apply')((value: unknown) => {
      inCallback = value;
      return -(value as bigint);
    }, 2n ** 100n),
    -(2n ** 100n),
  );
  equal(inCallback, 2n ** 100n);
});

testWith(ffiMissing, 'an integer that fits 64 bits is an int, any other a BigInt', () => {
  const take = testing('schema_id_int'); // a function of C++ that takes an int64_t
  for (const value of [2n ** 63n - 1n, -(2n ** 63n)]) equal(take(value), value);
  for (const value of [2n ** 63n, -(2n ** 63n) - 1n]) raises('TypeError', 'ffi.BigInt', () => take(value));
});

testWith(ffiMissing, 'the marker of structural mutations and the interrupt of visits cross', () => {
  equal(testing('echo')(UNCHANGED), UNCHANGED);
  equal(testing('echo')([1, UNCHANGED]), [1, UNCHANGED]);
  const interrupt = getGlobalFunc('ffi.VisitInterrupt')(['found', 2n ** 70n]) as FFIObject & { value: unknown };
  equal([interrupt.typeKey, interrupt.value], ['ffi.VisitInterrupt', ['found', 2n ** 70n]]);
  ok(testing('echo')(interrupt) === interrupt);
});
