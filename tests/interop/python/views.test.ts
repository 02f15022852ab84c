/** Our tensor in Python: the buffer protocol, the array interface and `__dlpack__`; and objects that have only one of them. */

import { fromDLPack, Tensor } from 'dlpack';
import { isPyObject, kwargs, type PyObject, PythonError } from 'dlpack/python';
import { equal, ok, throws } from '../../assert.js';
import { testWith } from '../../harness.js';
import { define, probe, py, pythonMissing, raises, value, versionedNumPyMissing } from './available.js';

const numpy = probe('numpy');
const arrow = probe('pyarrow');
const mlDTypes = probe('ml_dtypes');
const torch = probe('torch');

py?.exec(`
import ctypes
class Py_buffer(ctypes.Structure):
    _fields_ = [('buf', ctypes.c_void_p), ('obj', ctypes.py_object), ('len', ctypes.c_ssize_t), ('itemsize', ctypes.c_ssize_t),
                ('readonly', ctypes.c_int), ('ndim', ctypes.c_int), ('format', ctypes.c_char_p),
                ('shape', ctypes.POINTER(ctypes.c_ssize_t)), ('strides', ctypes.POINTER(ctypes.c_ssize_t)),
                ('suboffsets', ctypes.POINTER(ctypes.c_ssize_t)), ('internal', ctypes.c_void_p)]
get_buffer = ctypes.pythonapi.PyObject_GetBuffer
get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(Py_buffer), ctypes.c_int]
get_buffer.restype = ctypes.c_int
def describe(x, flags):
    view = Py_buffer()
    try:
        get_buffer(x, view, flags)
    except Exception as error:
        return type(error).__name__
    n = view.ndim
    result = [view.len, n, view.format.decode() if view.format else None, list(view.shape[:n]) if view.shape else None,
              list(view.strides[:n]) if view.strides else None]
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
    return repr(result)
`);

const flags = {
  simple: 0,
  nd: 8,
  strides: 0x18,
  c: 0x38,
  f: 0x58,
  any: 0x98,
  format: 0x1c,
  full: 0x11c,
  formatOnly: 4,
};

testWith(pythonMissing, 'every kind of buffer protocol request is fulfilled or refused', () => {
  const describe = py.eval('describe');
  const rows = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
  const columns = rows.transpose();
  const gaps = rows.slice(null, [0, 3, 2]);
  const flipped = Tensor.from([1, 2, 3, 4], { dtype: 'float32' }).flip();
  const refused = 'BufferError';
  const table: [Tensor, keyof typeof flags, string][] = [
    [rows, 'simple', '[24, 1, None, None, None]'],
    [rows, 'nd', '[24, 2, None, [2, 3], None]'],
    [rows, 'strides', '[24, 2, None, [2, 3], [12, 4]]'],
    [rows, 'c', '[24, 2, None, [2, 3], [12, 4]]'],
    [rows, 'any', '[24, 2, None, [2, 3], [12, 4]]'],
    [rows, 'f', refused],
    [rows, 'full', "[24, 2, 'f', [2, 3], [12, 4]]"],
    [rows, 'formatOnly', refused],
    [columns, 'f', '[24, 2, None, [3, 2], [4, 12]]'],
    [columns, 'any', '[24, 2, None, [3, 2], [4, 12]]'],
    [columns, 'c', refused],
    [columns, 'nd', refused],
    [columns, 'simple', refused],
    [gaps, 'strides', '[16, 2, None, [2, 2], [12, 8]]'],
    [gaps, 'format', "[16, 2, 'f', [2, 2], [12, 8]]"],
  ];
  for (const [tensor, kind, expected] of table) equal(value(describe(tensor, flags[kind])), expected, kind);
  for (const tensor of [gaps, flipped]) {
    for (const kind of ['simple', 'nd', 'c', 'f', 'any'] as const)
      equal(value(describe(tensor, flags[kind])), refused, kind);
  }
  const none = Tensor.zeros([0, 3], 'float32');
  for (const kind of ['simple', 'c', 'f', 'any'] as const)
    ok(value<string>(describe(none, flags[kind])).startsWith('[0, '), kind);
});

testWith(arrow.missing || numpy.missing, 'pyarrow takes contiguous tensors as buffers and no others', () => {
  const read = py.eval('lambda t: __import__("numpy").frombuffer(__import__("pyarrow").py_buffer(t), "f4").tolist()');
  const x = Tensor.from([0, 1, 2, 3], { dtype: 'float32' });
  equal([...read(x)], [0, 1, 2, 3]);
  for (const bad of [x.slice([0, 4, 2]), x.flip()]) raises('BufferError', 'contiguous', () => read(bad));
});

testWith(numpy.missing, "contiguous memory has no strides in the array interface, and its bytes equal NumPy's", () => {
  const x = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'int16' },
  );
  const strides = (t: Tensor): unknown => py.tensor(t).__array_interface__.get('strides');
  equal(strides(x), null);
  equal(String(strides(x.transpose())), '(2, 6)');
  const same = py.eval('lambda t: t.tobytes() == __import__("numpy").asarray(t).tobytes()');
  for (const t of [x, x.transpose(), x.flip(), x.slice(null, [0, 3, 2])]) equal(value(same(t)), true);
  equal(value<Uint8Array>(py.tensor(Tensor.from([1, 0, 1, 1], { dtype: 'uint1' })).tobytes()).length, 1);
});

testWith(pythonMissing, 'shapes print as tuples, and the stream may be a positional argument', () => {
  equal(String(py.tensor(Tensor.zeros([3], 'int8'))), '<dlpack.Tensor shape=(3,) dtype=int8 device=cpu>');
  equal(String(py.tensor(Tensor.zeros([], 'int8'))), '<dlpack.Tensor shape=() dtype=int8 device=cpu>');
  ok(String(py.tensor(Tensor.zeros(new Array(64).fill(1), 'int8'))).endsWith('device=cpu>'));
  const take = py.eval('lambda t, *a: type(t.__dlpack__(*a)).__name__');
  equal(value(take(Tensor.zeros([3], 'int8'), null)), 'PyCapsule');
  raises('ValueError', 'Expected None for stream', () => take(Tensor.zeros([3], 'int8'), 7));
  raises('TypeError', 'a stream and keyword', () => take(Tensor.zeros([3], 'int8'), null, null));
});

testWith(versionedNumPyMissing(), 'a bare capsule can be consumed once', () => {
  const array = numpy.module.arange(3);
  for (const capsule of [py.eval('lambda a: a.__dlpack__(max_version=(1, 0))')(array), array.__dlpack__()]) {
    const x = fromDLPack(capsule);
    x.set(0, 9n);
    equal(value(array.item(0)), 9);
    raises('TypeError', 'nothing has consumed', () => fromDLPack(capsule));
    x.dispose();
  }
  throws('PythonError', '', () => fromDLPack(py.eval('__import__("datetime").datetime_CAPI')));
});

testWith(numpy.missing, 'objects with only a buffer or an array interface share their memory', () => {
  const bytes = py.eval('bytearray(b"abc")');
  const x = fromDLPack(bytes);
  x.set(0, 0x7a);
  equal([x.dtype, x.toArray(), String(bytes)], ['uint8', [0x7a, 0x62, 0x63], "bytearray(b'zbc')"]);
  const view = fromDLPack(py.eval('memoryview(__import__("array").array("d", [1.5, 2.5]))'));
  equal([view.dtype, view.toArray()], ['float64', [1.5, 2.5]]);
  const described = py.eval(
    `lambda a: type('Described', (), {'__array_interface__': a.__array_interface__, 'kept': a})()`,
  );
  const array = numpy.module.arange(4);
  const y = fromDLPack(described(array));
  y.set(3, 33n);
  equal(value(array.item(3)), 33);
  const returned = [py.eval('[1, 2]'), py.eval('type("Convertible", (), {"__array__": lambda self: None})()')];
  for (const other of returned) raises('AttributeError', 'with numpy.asarray', () => fromDLPack(other));
  raises('AttributeError', 'an object of NoneType', () => py.callTensor(py.eval('lambda: None')));
  const [failing] = define(
    `class Failing: pass
def fail(**options): raise AttributeError('a reason of its own')
failing = Failing()
failing.__dlpack__ = fail`,
    'failing',
  );
  raises('AttributeError', 'a reason of its own', () => fromDLPack(failing));
  const onDevice = py.eval(`type('OnDevice', (), {'__cuda_array_interface__': {}})()`);
  raises('TypeError', 'asCudaArray', () => fromDLPack(onDevice));
});

testWith(mlDTypes.missing || numpy.missing, 'values in the other byte order are refused, as NumPy does', () => {
  for (const name of ['bfloat16', 'complex32']) {
    const swapped = py.eval(
      `__import__('numpy').ones(3, __import__('numpy').dtype(__import__('ml_dtypes').${name}).newbyteorder())`,
    );
    raises('BufferError', 'byte order', () => fromDLPack(swapped));
  }
  equal(fromDLPack(py.eval(`__import__('numpy').ones(3, __import__('ml_dtypes').bfloat16)`)).toArray(), [1, 1, 1]);
});

testWith(torch.missing, "PyTorch tensors that cannot be exported: the error gives PyTorch's reason in one line", () => {
  for (const code of ['torch.eye(2).to_sparse()', "torch.empty(3, device='meta')"]) {
    const tensor = py.eval(`(lambda torch: ${code})(__import__('torch'))`);
    let error: unknown;
    try {
      fromDLPack(tensor);
    } catch (thrown) {
      error = thrown;
    }
    ok(error instanceof PythonError && error.type === 'BufferError', String(error));
    equal(error.message.split('\n').length, 1);
  }
});

py?.exec(`
def exchange_table(x):
    return type(x).__c_dlpack_exchange_api__
class DLDataType(ctypes.Structure):
    _fields_ = [('code', ctypes.c_uint8), ('bits', ctypes.c_uint8), ('lanes', ctypes.c_uint16)]
class DLTensor(ctypes.Structure):
    _fields_ = [('data', ctypes.c_void_p), ('device_type', ctypes.c_int32), ('device_id', ctypes.c_int32), ('ndim', ctypes.c_int32),
                ('dtype', DLDataType), ('shape', ctypes.POINTER(ctypes.c_int64)), ('strides', ctypes.POINTER(ctypes.c_int64)),
                ('byte_offset', ctypes.c_uint64)]
def allocate(address, code, bits, with_error):
    table = ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))
    SetError = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(DLTensor), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, SetError)(table[2])
    prototype = DLTensor(None, 1, 0, 1, DLDataType(code, bits, 1), (ctypes.c_int64 * 1)(3), None, 0)
    out, reasons = ctypes.c_void_p(), []
    handler = SetError(lambda context, kind, message: reasons.append(kind.decode())) if with_error else SetError()
    status = function(prototype, out, None, handler)
    if status == 0:
        deleter = ctypes.cast(out.value + 16, ctypes.POINTER(ctypes.c_void_p))[0]
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(out)
    return repr((status, reasons))
`);

testWith(pythonMissing, "our table's allocator refuses unknown dtypes, with and without an error callback", () => {
  const address: PyObject = py.eval('exchange_table')(py.tensor(Tensor.zeros([1], 'int8')));
  const allocate = py.eval('allocate');
  equal(value(allocate(address, 2, 32, true)), '(0, [])');
  for (const [code, bits] of [
    [15, 8],
    [17, 8],
    [99, 8],
    [2, 7],
    [2, 0],
  ]) {
    equal(value(allocate(address, code, bits, true)), "(-1, ['ValueError'])");
    equal(value(allocate(address, code, bits, false)), '(-1, [])');
  }
});

testWith(pythonMissing, 'our table makes no tensor of an unknown dtype or device', () => {
  py.exec(`
def make_object(x, code, bits, device):
    """The struct of a new capsule, changed, through managed_tensor_to_py_object_no_sync of our table."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capsule = x.__dlpack__(max_version=(1, 3))
    managed = pointer(capsule, b'dltensor_versioned')
    rename(capsule, NAME)
    tensor = DLTensor.from_address(managed + 32)
    tensor.dtype.code, tensor.dtype.bits, tensor.device_type = code, bits, device
    table = ctypes.cast(exchange_table(x), ctypes.POINTER(ctypes.c_void_p))
    function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))(table[4])
    out = ctypes.c_void_p()
    try:
        function(managed, out)
    except BufferError as error:
        return str(error)
    made = ctypes.cast(out, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(made))
    return repr(made)
NAME = b'used_dltensor_versioned'
`);
  const make = py.eval('make_object');
  const x = py.tensor(Tensor.from([1, 2], { dtype: 'float32' }));
  ok(value<string>(make(x, 2, 32, 1)).startsWith('<dlpack.Tensor shape=(2,)'));
  for (const [code, bits, device] of [
    [15, 8, 1],
    [17, 8, 1],
    [99, 8, 1],
    [2, 7, 1],
    [18, 64, 1],
    [2, 32, 22],
  ]) {
    equal(value(make(x, code, bits, device)), 'Expected a dtype and a device that this version of dlpack knows');
  }
});

testWith(pythonMissing, 'a class that has only the address of an exchange table is a producer', () => {
  py.exec(`
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
FROM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
def by_address(tensor):
    def convert(wrapped, out):
        # A capsule's tensor, which the caller of the table owns.
        capsule = tensor.__dlpack__(max_version=(1, 3))
        out[0] = pointer(capsule, b'dltensor_versioned')
        ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), USED)
        return 0
    kept = FROM(convert)
    table = (ctypes.c_void_p * 7)(0x300000001, None, None, ctypes.cast(kept, ctypes.c_void_p), None, None, None)
    class ByAddress:
        __c_dlpack_exchange_api__ = ctypes.addressof(table)
        owner = (table, kept)
    KEPT.append(ByAddress)
    return ByAddress()
KEPT, USED = [], ctypes.c_char_p(b'used_dltensor_versioned')
`);
  const x = Tensor.from([1, 2], { dtype: 'float32' });
  const y = fromDLPack(py.eval('by_address')(py.tensor(x)));
  y.set(0, 5);
  equal(x.toArray(), [5, 2]);
});

testWith(pythonMissing, 'a copy that Python requests', () => {
  const copyOf = (x: Tensor) => {
    // The copy gets memory that had only ones before.
    for (const used of Array.from({ length: 8 }, () => Tensor.empty([3], 'uint8').fill(255))) used.dispose();
    return fromDLPack(py.tensor(x).__dlpack__(kwargs({ copy: true, max_version: py.tuple(1, 3) })));
  };
  for (const start of [0, 1]) {
    using packed = copyOf(Tensor.from([9, 15, 15, 15, 15, 15, 9], { dtype: 'uint4' }).slice([1 - start, 6 - start]));
    const bytes = new Uint8Array(packed.data.buffer, packed.byteOffset, 3);
    equal([bytes[2], packed.isCopied], [15, true], 'the bits after the last packed element are zero');
  }
  // The bytes of the first stride fit no integer.
  const strides = [Number.MAX_SAFE_INTEGER, 2];
  const buffer = new SharedArrayBuffer(5 * 2048);
  new Float64Array(buffer).set([1, 2], 2 * 256);
  using row = copyOf(Tensor.wrap(buffer, { dtype: 'float64x256', shape: [1, 3], strides }));
  const values = row.toArray() as unknown as number[][][];
  equal(values[0]?.[1]?.slice(0, 3), [1, 2, 0]);
});

testWith(pythonMissing, 'whole numbers as floats', () => {
  const types = py.eval('lambda *a: [type(x).__name__ for x in a]');
  equal([...types(1, py.float(1), [py.float(2)][0], 1.5, py.float(-0))], ['int', 'float', 'float', 'float', 'float']);
  equal(String(py.eval('lambda x: x')([py.float(1), 2])), '[1.0, 2]');
  throws('TypeError', 'a number for value', () => py.float('1' as never));
});

testWith(pythonMissing, 'values of other Python types, made with builtins', () => {
  const builtins = py.import('builtins');
  const show = py.eval('lambda *a: [repr(x) for x in a]');
  const given = [builtins.complex(1, 2), builtins.slice(0, 2), builtins.Ellipsis, py.tuple(1, 'a')];
  equal([...show(...given)], ['(1+2j)', 'slice(0, 2, None)', 'Ellipsis', "(1, 'a')"]);
  ok(given.every(isPyObject), 'as results they stay Python objects');
});

testWith(torch.missing, 'a PyTorch tensor of whole floats', () => {
  const t = torch.module.tensor([py.float(1), py.float(2)]);
  equal(String(t.dtype), 'torch.float32');
  equal(value(t.mean().item()), 1.5);
});

testWith(pythonMissing, 'errors for likely mistakes suggest the right code', () => {
  throws('TypeError', 'or Tensor.adopt(array)', () => py.eval('len')(new Float32Array(3)));
  throws('TypeError', 'py.getItem(x, 1)', () => py.eval('[1, 2]')[1]);
  throws('TypeError', 'py.setItem(x, 1, v)', () => {
    py.eval('[1, 2]')[1] = 3;
  });
  throws('TypeError', 'convert it first', () => JSON.stringify({ a: py.eval('object()') }));
  raises('TypeError', 'kwargs({ ... })', () => py.eval('lambda x, dim=0: x')(1, 2, { dim: 1 }));
  raises('ValueError', 'kwargs({ ... })', () => py.eval('lambda x: int("x")')({ base: 2 }));
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  throws('ValueError', 'does one contain itself?', () => py.eval('len')(cyclic));
});
