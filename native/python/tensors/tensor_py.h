// Written by "npm run embed" from tensor.py; change it there.
#ifndef DLPACK_NODE_PYTHON_TENSORS_TENSOR_PY_H_
#define DLPACK_NODE_PYTHON_TENSORS_TENSOR_PY_H_

static const char kTensorPy[] = R"python(
# What a dlpack.Tensor has in Python besides the protocols in C: names as in JavaScript, ways into the libraries, and the
# methods with which PyTorch and JAX take it as an argument. prelude.cc runs it after prelude.py, with the same names.
import sys

KINDS = {0: 'int', 1: 'uint', 2: 'float', 5: 'complex'}
DEVICES = {
    1: 'cpu', 2: 'cuda', 3: 'cuda_host', 4: 'opencl', 7: 'vulkan', 8: 'metal', 9: 'vpi', 10: 'rocm', 11: 'rocm_host',
    12: 'ext_dev', 13: 'cuda_managed', 14: 'oneapi', 15: 'webgpu', 16: 'hexagon', 17: 'maia', 18: 'trn',
    19: 'tpu', 20: 'tpu_host', 21: 'ascend',
}
WITHOUT_NUMBER = 1, 3, 11, 13, 20

class DType(str):
    """The name of a dtype, and the numbers of DLPack for libraries that ask dtype objects for them."""
    __module__ = 'dlpack'

    def __dlpack_data_type__(self):
        return self._numbers

    def __reduce__(self):
        """In another process there is no dlpack: the name is what is left."""
        return str, (str(self),)

class Device(str):
    """The name of a device, and the numbers of DLPack for libraries that ask device objects for them."""
    __module__ = 'dlpack'

    def __dlpack_device__(self):
        return self._numbers

    __reduce__ = DType.__reduce__

def with_numbers(name, numbers):
    name._numbers = numbers
    return name

def name_dtype(self):
    code, bits, lanes = self._fields()[3]
    names = {(3, 64): 'handle', (6, 8): 'bool', **ML_DTYPES}
    name = names.get((code, bits)) or f'{KINDS[code]}{bits}'
    return with_numbers(DType(name if lanes == 1 else f'{name}x{lanes}'), (code, bits, lanes))

def name_device(self):
    kind, number = self.__dlpack_device__()
    name = DEVICES[kind] if kind in WITHOUT_NUMBER else f'{DEVICES[kind]}:{number}'
    return with_numbers(Device(name), (kind, number))

def represent_tensor(self):
    return f'<dlpack.Tensor shape={self.shape} dtype={self.dtype} device={self.device}>'

def count_elements(self):
    count = 1
    for length in self.shape:
        count *= length
    return count

def count_bytes(self):
    _, _, _, (_, bits, lanes), flags = self._fields()
    bits *= lanes
    return (count_elements(self) * ((bits + 7) // 8 * 8 if flags & PADDED else bits) + 7) // 8

class CopiedArray:
    """What NumPy sees of a tensor that Python got as a copy: a read-only array."""
    def __init__(self, tensor):
        self.tensor = tensor
        self.__array_interface__ = describe(tensor, False)

def to_numpy(self):
    """A NumPy array over the same memory, read-only if that is a copy of JavaScript's. Dtypes that NumPy does not have
    come from ml_dtypes."""
    if self.__dlpack_device__()[0] != 1:
        raise TypeError(
            f"Expected host memory for NumPy but this tensor is on {self.device}; copy it in JavaScript: x.to('cpu'), or "
            'pass it to a library of that device: torch.from_dlpack(x), cupy.from_dlpack(x)')
    if describe(self, False) is None:
        raise TypeError(
            f"Expected elements of whole bytes for NumPy but received {self.dtype}; cast it in JavaScript: "
            "x.astype('int8')")
    import numpy
    _, _, _, (code, bits, lanes), flags = self._fields()
    array = numpy.asarray(CopiedArray(self) if flags & COPIED else self)
    name = ML_DTYPES.get((code, bits)) if lanes == 1 else None
    if name is not None and array.dtype.kind == 'V':
        import ml_dtypes
        array = array.view(getattr(ml_dtypes, name))
    return array

def to_torch(self):
    """A torch.Tensor over the same memory; a copy of memory that PyTorch cannot share, such as read-only memory."""
    from torch import from_dlpack
    return from_dlpack(self)

def to_jax(self):
    """A jax.Array over the same memory; a copy of read-only memory, for which JAX's capsules have no flag."""
    from jax.numpy import array, from_dlpack
    return array(to_numpy(self)) if self._fields()[4] & READ_ONLY else from_dlpack(self)

def to_array(self, dtype=None, copy=None):
    import numpy
    if copy is False and self._fields()[4] & COPIED:
        raise ValueError(f'Expected copy=None or True but {COPY}')
    array = to_numpy(self)
    # NumPy 1 has no argument for "never copy".
    result = numpy.array(array, dtype) if copy else numpy.asarray(array, dtype)
    if copy is False and result is not array:
        raise ValueError(f'Expected copy=None or True for dtype {result.dtype}, because this tensor has {self.dtype}')
    return result

def reduce_tensor(self, protocol):
    """In another process there is no dlpack.Tensor: it arrives as a NumPy array, with protocol 5 out of band."""
    try:
        array = to_numpy(self)
    except TypeError as error:
        raise TypeError(f'cannot pickle this dlpack.Tensor: {error}') from None
    if array.dtype.kind == 'V' and array.dtype.type.__module__ != 'ml_dtypes':
        raise TypeError('cannot pickle a dlpack.Tensor of this dtype, which NumPy does not have; cast it first')
    # The array of a copy is read-only, but what arrives in another process is its own.
    return (array.copy() if self._fields()[4] & COPIED else array).__reduce_ex__(protocol)

def count_first(self):
    if self.shape == ():
        raise TypeError('Expected an axis for len() but this tensor has none')
    return self.shape[0]

def set_item(self, key, value):
    if self._fields()[4] & COPIED:
        raise BufferError(f'Expected memory that JavaScript and Python share but {COPY}')
    to_numpy(self)[key] = value

def explain_attribute(self, name):
    """Only for attributes that do not exist, or that raise AttributeError themselves."""
    if name.startswith('__'):  # libraries look for these
        return object.__getattribute__(self, name)
    raise AttributeError(
        f"A dlpack.Tensor, which is a tensor of JavaScript, has no {name!r}; make an object of the library that has it: "
        'torch.from_dlpack(x), numpy.from_dlpack(x), jax.numpy.from_dlpack(x)')

def written_by_torch(function, args, kwargs):
    """The arguments into which a function of PyTorch writes, as its name and its keywords tell: tensors and lists of them."""
    written = [kwargs.get('out')]
    name = getattr(function, '__name__', '')
    if kwargs.get('inplace') or (name.endswith('_') and not name.endswith('__')):
        written += args[:1]
    return [value for one in written for value in (one if isinstance(one, (list, tuple)) else [one])]

def torch_function(cls, function, types, args=(), kwargs=None):
    """Calls a function of PyTorch that has a dlpack.Tensor among its arguments."""
    for value in written_by_torch(function, args, kwargs or {}):
        if type(value) is Tensor and value._fields()[4] & COPIED:
            raise BufferError(f'Expected memory that JavaScript and Python share but {COPY}')
    def convert(value):
        if type(value) is Tensor:
            return to_torch(value)
        if type(value) in (list, tuple):
            return type(value)(map(convert, value))
        if type(value) is dict:
            return {key: convert(item) for key, item in value.items()}
        return value
    return function(*convert(tuple(args)), **convert(dict(kwargs or {})))

def warn_of_copy():
    """Warns, once for each line, that a library gets a copy as memory to which it can write. What the functions of PyTorch
    write to is known: torch_function has refused such a copy."""
    frame, level = sys._getframe(), 1
    while frame is not None:
        if frame.f_code is torch_function.__code__:
            return
        if frame.f_globals is not globals() and library_of(frame) not in ('torch', 'tvm_ffi'):
            break
        frame, level = frame.f_back, level + 1
    import warnings
    warnings.warn(f'The library can write to the tensor that it gets, but {COPY}', stacklevel=level)

def teach_jax(jax):
    """Functions of JAX are compiled for their arguments, and look at these as trees of arrays: here a tree of one."""
    try:
        jax.tree_util.register_pytree_node(Tensor, lambda x: ((to_jax(x),), None), lambda _, arrays: arrays[0])
    except Exception:
        pass  # a JAX that was loaded twice knows it already

class JaxFinder:
    """Finds jax as the other finders do, and teaches it our tensors when it has been loaded."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != 'jax':
            return None
        found = (other.find_spec(name, path, target) for other in sys.meta_path if other is not cls)
        spec = next((spec for spec in found if spec is not None), None)
        load = getattr(spec and spec.loader, 'exec_module', None)
        if load is not None:
            def exec_module(module):
                load(module)
                teach_jax(module)
            spec.loader.exec_module = exec_module
        return spec

if 'jax' in sys.modules:
    teach_jax(sys.modules['jax'])
else:
    sys.meta_path.insert(0, JaxFinder)

Tensor.shape = property(lambda self: self._fields()[1], doc='Lengths of the axes.')
Tensor.dtype = property(name_dtype, doc="The name of the dtype, as in JavaScript: 'float32'.")
Tensor.device = property(name_device, doc="The name of the device, as in JavaScript: 'cpu', 'cuda:0'.")
Tensor.ndim = property(lambda self: len(self.shape), doc='How many axes there are.')
Tensor.size = property(count_elements, doc='How many elements there are.')
Tensor.nbytes = property(count_bytes, doc='The bytes of all elements.')
Tensor.numpy = to_numpy
Tensor.torch = to_torch
Tensor.jax = Tensor.__jax_array__ = to_jax
Tensor.tolist = lambda self: to_numpy(self).tolist()
Tensor.item = lambda self: to_numpy(self).item()
Tensor.__array__ = to_array
Tensor.__reduce_ex__ = reduce_tensor
Tensor.__repr__ = represent_tensor
Tensor.__len__ = count_first
Tensor.__iter__ = lambda self: iter(to_numpy(self))
Tensor.__getitem__ = lambda self, key: to_numpy(self)[key]
Tensor.__setitem__ = set_item
Tensor.__bytes__ = lambda self: self.tobytes()
Tensor.__bool__ = lambda self: bool(to_numpy(self))
Tensor.__int__ = lambda self: int(to_numpy(self))
Tensor.__float__ = lambda self: float(to_numpy(self))
Tensor.__getattr__ = explain_attribute
Tensor.__torch_function__ = classmethod(torch_function)
)python";

#endif  // DLPACK_NODE_PYTHON_TENSORS_TENSOR_PY_H_
