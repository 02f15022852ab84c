/** Upstream's tests of functions, errors, tensors, strings, streams, devices and dtypes, with this package's names. */

import { fileURLToPath } from 'node:url';
import { DLPACK_DEVICE, Tensor } from 'dlpack';
import { addressOf } from 'dlpack/native';
import {
  ArrayView,
  compile,
  currentStream,
  DataType,
  DeviceValue,
  type FFIFunction,
  getGlobalFunc,
  globalFuncNames,
  live,
  type MapView,
  Opaque,
  OpaquePointer,
  registerGlobalFunc,
  removeGlobalFunc,
  Shape,
  sameAs,
  TVM_FFI_VALUE,
  TVMFFIError,
  toFunction,
  withStream,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../../assert.js';
import { caught, probe, raises, testing } from '../peer.js';
import type { Ports } from './ports.js';

const cache = fileURLToPath(new URL('../../../../compile', import.meta.url));
const bytes = (text: string) => new TextEncoder().encode(text);
const valued = (value: unknown) => ({ [TVM_FFI_VALUE]: () => value });
const echo = (value: unknown): unknown => testing('echo')(value);

export const functions: Ports = {
  echo: () => {
    equal([echo(null), echo(true), echo(false), echo(1), echo(1.2)], [undefined, true, false, 1, 1.2]);
    equal([echo('hello'), echo(bytes('abc'))], ['hello', bytes('abc')]);
    const dtype = echo(new DataType('float32'));
    ok(dtype instanceof DataType && dtype.name === 'float32');
    const device = echo(new DeviceValue('cuda:1'));
    ok(device instanceof DeviceValue);
    equal([device.type, device.id, String(device)], [2, 1, 'cuda:1']);
    const pointer = echo(new OpaquePointer(0x12345678n));
    ok(pointer instanceof OpaquePointer && pointer.address === 0x12345678n);
    const add = toFunction((a: number, b: number) => a + b);
    const same = echo(add) as FFIFunction;
    equal([same(1, 2), sameAs(same, add)], [3, true]);
    const x = Tensor.from(Int32Array.from({ length: 10 }, (_, i) => i));
    const back = echo(x) as Tensor;
    equal([back.shape, back.dtype, back.device], [[10], 'int32', 'cpu']);
  },
  typed_device_arg_accepts_string: () => {
    const identity = testing('schema_id_device');
    equal([String(identity('cpu')), String(identity('cuda:1'))], ['cpu', 'cuda:1']);
  },
  return_raw_str_bytes: () => {
    equal(toFunction(() => 'hello')(), 'hello');
    equal(toFunction(() => bytes('hello'))(), bytes('hello'));
  },
  string_bytes_passing: () => {
    for (const value of ['hello', 'hello'.repeat(100), bytes('hello'), bytes('hello'.repeat(100))]) {
      equal(echo(value), value);
    }
  },
  nested_container_passing: () => {
    const count = testing('object_use_count');
    const array = new ArrayView([1, 2, 3]);
    equal(count(array), 1);
    const outer = live(testing('echo'))([array, { a: 1, b: array }]) as ArrayView<MapView>;
    equal([count(outer), count(array), count(outer.at(1))], [1, 3, 2]);
  },
  pyfunc_convert: () => {
    const add = (a: number, b: number) => a + b;
    equal(toFunction(add)(1, 2), 3);
    equal(toFunction((f: FFIFunction, ...args: number[]) => f(...args))(add, 1, 3.3), 4.3);
  },
  global_func: () => {
    const name = 'mytest.echo';
    const registered = registerGlobalFunc(name, (x: unknown) => x);
    const found = getGlobalFunc(name);
    equal([sameAs(found, registered), found(1), globalFuncNames().includes(name)], [true, 1, true]);
    removeGlobalFunc(name);
    equal([globalFuncNames().includes(name), getGlobalFunc(name, { allowMissing: true })], [false, null]);
  },
  echo_with_opaque_object: () => {
    const x = { value: 'hello' };
    ok(echo(new Opaque(x)) === x);
    ok(toFunction((z: unknown) => new Opaque(z === x ? z : null))(new Opaque(x)) === x);
  },
  function_with_opaque_ptr_protocol: () => {
    const pointer = echo(valued(new OpaquePointer(10n)));
    ok(pointer instanceof OpaquePointer && pointer.address === 10n);
  },
  function_with_dlpack_data_type_protocol: () => equal(String(echo(valued(new DataType('float32')))), 'float32'),
  function_with_dlpack_device_protocol: () => {
    equal(String(echo({ [DLPACK_DEVICE]: () => ({ type: 2, id: 1 }) })), 'cuda:1');
  },
  integral_float_variants_passing: () => equal([echo(valued(10)), echo(valued(10.5))], [10, 10.5]),
  function_with_value_protocol: () => {
    equal([echo(valued(10)), echo(valued([1, 2, 3])), echo(valued([1, 2, valued(3)]))], [10, [1, 2, 3], [1, 2, 3]]);
    equal(echo(valued(valued(valued(10)))), 10);
    equal(echo(valued([valued(1), valued(2), valued(3)])), [1, 2, 3]);
  },
  convert_func_raises_propagates: () => {
    const fail = toFunction((x: number) => {
      throw new TVMFFIError('ValueError', `boom ${x}`);
    });
    raises('ValueError', 'boom 42', () => fail(42));
  },
  callback_rawstr_and_bytearrayptr_args: async () => {
    const { raw_str, byte_array } = await compile({
      cpp: `
        void raw_str(tvm::ffi::Function callback) { callback("hello raw"); }
        void byte_array(tvm::ffi::Function callback) {
          TVMFFIByteArray bytes{"hello bytes", 11};
          callback(&bytes);
        }`,
      functions: ['raw_str', 'byte_array'],
      cache,
    });
    const received: unknown[] = [];
    raw_str((value: unknown) => void received.push(value));
    byte_array((value: unknown) => void received.push(value));
    equal(received, ['hello raw', bytes('hello bytes')]);
  },
};

export const errors: Ports = {
  error_from_cxx: () => {
    const fail = testing('test_raise_error');
    const error = raises('ValueError', 'error XYZ', () => fail('ValueError', 'error XYZ'));
    ok(error.backtrace.includes('TestRaiseError'), error.backtrace);
    const apply = toFunction((f: FFIFunction, ...args: string[]) => f(...args));
    raises('TypeError', 'error XYZ', () => apply(fail, 'TypeError', 'error XYZ'));
  },
  error_from_nested_pyfunc: () => {
    const apply = toFunction(function passOn(f: FFIFunction, ...args: string[]) {
      return [f(...args)];
    });
    const seen: unknown[] = [];
    const raiseError = () => {
      const error = caught(() => apply(testing('test_raise_error'), 'ValueError', 'error XYZ'));
      seen.push(error);
      throw error;
    };
    const error = caught(() => testing('apply')(raiseError)) as TVMFFIError;
    ok(error === seen[0]);
    const places = ['TestRaiseError', 'passOn', 'TestApply'].map((name) => (error.stack ?? '').indexOf(name));
    ok(
      places.every((place, i) => place > (places[i - 1] ?? -1)),
      error.stack,
    );
  },
  error_traceback_update: () => {
    const raiseError = () => {
      throw new TVMFFIError('ValueError', 'error XYZ');
    };
    ok((probe('backtrace_of')(raiseError) as string).includes('raiseError'));
    const raiseNative = () => [testing('test_raise_error')('ValueError', 'error XYZ')];
    ok((probe('backtrace_of')(raiseNative) as string).includes('raiseNative'));
  },
};

export const tensors: Ports = {
  tensor_attributes: () => {
    const x = echo(Tensor.zeros([10, 8, 4, 2], 'int16')) as Tensor;
    equal([x.shape, x.ndim, x.size, x.strides], [[10, 8, 4, 2], 4, 640, [64, 8, 2, 1]]);
    equal([x.isContiguous, x.dtype, x.device], [true, 'int16', 'cpu']);
  },
  tensor_data_ptr: () => {
    const x = Tensor.from(new Int32Array(8));
    equal(addressOf(echo(x) as Tensor), addressOf(x));
    const view = x.slice([2, 8]);
    equal(addressOf(echo(view) as Tensor), addressOf(x) + 8n);
  },
  empty_tensor_is_contiguous: () => ok((echo(Tensor.zeros([4, 0, 4], 'int16')) as Tensor).isContiguous),
  non_contiguous_tensor_attributes: () => {
    const x = echo(Tensor.zeros([4, 4, 4], 'int16').slice([1, 3], [0, 4], [1, 3])) as Tensor;
    equal([x.shape, x.size, x.isContiguous, x.strides], [[2, 4, 2], 16, false, [16, 4, 1]]);
  },
  tvm_ffi_tensor_compatible: () => {
    const x = Tensor.zeros([10, 8, 4, 2], 'int32');
    const mine = valued(x);
    equal(addressOf(echo(mine) as Tensor), addressOf(x));
    for (const value of [[mine, 1], valued([mine, 1])]) {
      const [first, second] = echo(value) as [Tensor, number];
      equal([addressOf(first), second], [addressOf(x), 1]);
    }
  },
  optional_tensor_view: () => {
    const hasValue = testing('optional_tensor_view_has_value');
    equal([hasValue(null), hasValue(Tensor.zeros([128], 'float32'))], [false, true]);
  },
};

export const strings: Ports = {
  string: () =>
    equal(['hello', 'hello long string', 'x'.repeat(200)].map(echo), ['hello', 'hello long string', 'x'.repeat(200)]),
  bytes: () => equal([echo(bytes('hello')), echo(bytes('x'.repeat(200)))], [bytes('hello'), bytes('x'.repeat(200))]),
  string_find_substr: () => {
    const text = echo('hello world') as string;
    equal([text.indexOf('world'), text.indexOf('o', 5), text.indexOf('notfound'), text.slice(6)], [6, 7, -1, 'world']);
  },
};

export const streams: Ports = {
  raw_stream: () => {
    const at = probe('stream_at');
    withStream('cuda:0', 123456789n, () => {
      equal([at(2, 0), currentStream('cuda:0')], [123456789, 123456789n]);
      withStream('cuda:0', 987654321n, () => equal([at(2, 0), currentStream('cuda:0')], [987654321, 987654321n]));
      equal([at(2, 0), currentStream('cuda:0')], [123456789, 123456789n]);
    });
  },
};

export const devices: Ports = {
  device: () => {
    const device = new DeviceValue('cuda:0');
    equal([device.type, device.id, String(device)], [2, 0, 'cuda:0']);
  },
  device_from_str: () => {
    const device = new DeviceValue('ext_dev:0');
    equal([device.type, device.id, String(device)], [12, 0, 'ext_dev:0']);
  },
  device_dlpack_device_type: () => {
    const expected = [
      ['cpu', 1, 0],
      ['cuda', 2, 0],
      ['cuda:0', 2, 0],
      ['cuda:3', 2, 3],
      ['metal:2', 8, 2],
    ] as const;
    for (const [name, type, id] of expected) {
      const device = new DeviceValue(name);
      equal([device.type, device.id], [type, id]);
    }
  },
  device_with_dev_id: () => {
    const device = new DeviceValue({ type: 8, id: 2 });
    equal([device.type, device.id, String(device)], [8, 2, 'metal:2']);
  },
  device_rejects_noncanonical_aliases: () => {
    for (const alias of ['llvm', 'c', 'test', 'nvptx', 'cl'])
      throws('UnsupportedDeviceError', alias, () => new DeviceValue(alias as never));
    for (const name of ['cpu', 'cuda:0', 'opencl:0'] as const) equal(String(new DeviceValue(name)), name);
  },
  deive_type_error: () => {
    for (const name of ['cpu:0:0', 'cpu:?', 'cpu:'])
      throws('UnsupportedDeviceError', name, () => new DeviceValue(name as never));
  },
  deive_id_error: () => void throws('TypeError', 'integers', () => new DeviceValue({ type: 1, id: '?' as never })),
  device_pickle: () => {
    const device = echo(new DeviceValue('cuda:0')) as DeviceValue;
    equal([device.type, device.id], [2, 0]);
  },
  cuda_stream_handling: () => {
    const pointer = echo(valued(new OpaquePointer(1n)));
    ok(pointer instanceof OpaquePointer && pointer.address === 1n);
  },
};

const aliases: [string, string][] = [
  ...['8', '16', '32', '64'].flatMap((bits): [string, string][] => [
    [`i${bits}`, `int${bits}`],
    [`u${bits}`, `uint${bits}`],
  ]),
  ...['16', '32', '64'].map((bits): [string, string] => [`f${bits}`, `float${bits}`]),
  ['bf16', 'bfloat16'],
  ...['8_e3m4', '8_e4m3', '8_e4m3b11fnuz', '8_e4m3fn', '8_e4m3fnuz', '8_e5m2', '8_e5m2fnuz', '8_e8m0fnu'].flatMap(both),
  ...['6_e2m3fn', '6_e3m2fn', '4_e2m1fn', '8_e4m3x4', '8_e4m3fnx4', '6_e2m3fnx4', '4_e2m1fnx2'].flatMap(both),
  ['f32x4', 'float32x4'],
  ['f4_e2m1fn_x2', 'float4_e2m1fnx2'],
  ['fp4_e2m1fn_x2', 'float4_e2m1fnx2'],
  ['float4_e2m1fn_x2', 'float4_e2m1fnx2'],
];

function both(rest: string): [string, string][] {
  return [
    [`f${rest}`, `float${rest}`],
    [`fp${rest}`, `float${rest}`],
  ];
}

/** The code, bits and lanes that native code receives. */
function parts(dtype: string): number[] {
  const { code, bits, lanes } = echo(new DataType(dtype as 'float32')) as DataType;
  return [code, bits, lanes];
}

const builtin: [string, ...number[]][] = [
  ['bool', 6, 8, 1],
  ['int8', 0, 8, 1],
  ['int16', 0, 16, 1],
  ['int32', 0, 32, 1],
  ['int64', 0, 64, 1],
  ['uint8', 1, 8, 1],
  ['uint16', 1, 16, 1],
  ['uint32', 1, 32, 1],
  ['uint64', 1, 64, 1],
  ['float16', 2, 16, 1],
  ['float32', 2, 32, 1],
  ['float64', 2, 64, 1],
  ['bfloat16', 4, 16, 1],
  ['float8_e3m4', 7, 8, 1],
  ['float8_e4m3', 8, 8, 1],
  ['float8_e4m3b11fnuz', 9, 8, 1],
  ['float8_e4m3fn', 10, 8, 1],
  ['float8_e4m3fnuz', 11, 8, 1],
  ['float8_e5m2', 12, 8, 1],
  ['float8_e5m2fnuz', 13, 8, 1],
  ['float8_e8m0fnu', 14, 8, 1],
  ['float6_e2m3fn', 15, 6, 1],
  ['float6_e3m2fn', 16, 6, 1],
  ['float4_e2m1fn', 17, 4, 1],
  ['float4_e2m1fnx2', 17, 4, 2],
];

export const dtypes: Ports = {
  dtype: () => equal(String(new DataType('float32')), 'float32'),
  dtype_aliases: () => {
    for (const [alias, name] of aliases) equal([alias, ...parts(alias)], [alias, ...parts(name)]);
  },
  dtype_itemsize: () => {
    const sizes = {
      float32: 4,
      float32x4: 16,
      float8_e5m2x4: 4,
      float6_e2m3fnx4: 3,
      float4_e2m1fnx4: 2,
      uint8: 1,
      bool: 1,
    };
    for (const [name, size] of Object.entries(sizes)) equal(Tensor.empty([1], name as 'bool').nbytes, size, name);
  },
  dtype_pickle: () => {
    for (const name of ['float32', 'float32x4', 'float4_e2m1fnx4', 'bool'])
      equal(new DataType(name as 'bool').toJSON(), name);
  },
  dtype_with_lanes: () => equal(parts('float32x4'), [2, 32, 4]),
  builtin_dtype_conversion: () => {
    for (const [name, ...expected] of builtin) equal(parts(name), expected, name);
  },
  dtype_from_dlpack_data_type: () => {
    const { name } = new DataType({ code: 0, bits: 8, lanes: 1 });
    equal(name, 'int8');
  },
  dtype_bool: () =>
    equal(
      [parts('bool'), parts('boolx4')],
      [
        [6, 8, 1],
        [6, 8, 4],
      ],
    ),
};

export const shapes: Ports = {
  shape_object: () => {
    const shape = toFunction((x: Shape) => x)(new Shape([10, 8, 4, 2]));
    ok(shape instanceof Shape);
    equal([...shape], [10, 8, 4, 2]);
  },
};
