# Run once in each Pyodide, by attach.ts, with the functions of exports.ts in the namespace. It reaches the C API through
# ctypes, which is public, so that no private name of Pyodide is needed for it. Addresses are integers.
import ctypes, sys
from ctypes import POINTER, PYFUNCTYPE, Structure, addressof, byref, c_char_p, c_int, c_ssize_t, c_void_p, py_object

def function(name, result, *arguments):
    return PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))

class Buffer(Structure):
    """Py_buffer, then the place of the dtype in NAMES, and room for the shape and the strides of 64 axes."""

    _fields_ = [
        ('buf', c_void_p), ('obj', c_void_p), ('len', c_ssize_t), ('itemsize', c_ssize_t), ('readonly', c_int),
        ('ndim', c_int), ('format', c_void_p), ('shape', c_void_p), ('strides', c_void_p), ('suboffsets', c_void_p),
        ('internal', c_void_p), ('dtype', c_int), ('integers', c_ssize_t * 128),
    ]

is_valid = function('PyCapsule_IsValid', c_int, py_object, c_char_p)
get_pointer = function('PyCapsule_GetPointer', c_void_p, py_object, c_char_p)
set_name = function('PyCapsule_SetName', c_int, py_object, c_char_p)
new_capsule = function('PyCapsule_New', py_object, c_void_p, c_char_p, c_void_p)
get_buffer = function('PyObject_GetBuffer', c_int, py_object, POINTER(Buffer), c_int)
release_buffer = function('PyBuffer_Release', None, POINTER(Buffer))
view_of = function('PyMemoryView_FromBuffer', py_object, POINTER(Buffer))
malloc = function('PyMem_RawMalloc', c_void_p, ctypes.c_size_t)
free = function('PyMem_RawFree', None, c_void_p)
Deleter = PYFUNCTYPE(None, c_void_p)

# Capsules keep pointers to these names, so they are never freed.
OLD, NEW = b'dltensor', b'dltensor_versioned'
USED_OLD, USED_NEW = b'used_dltensor', b'used_dltensor_versioned'
STRIDES_AND_FORMAT = 0x1C  # PyBUF_RECORDS_RO: read-only memory is welcome, pointers to pointers are not
VERSIONED, READONLY, BUFFER = 1, 2, 4  # what `take` returns beside the address

# The dtypes that buffers can have, and their formats in the module struct and in NumPy.
NAMES = 'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128'.split()
FORMATS = [ctypes.create_string_buffer(text) for text in b'? b h i q B H I Q e f d Zf Zd'.split()]
KINDS = {'bool': ['?'], 'int': [*'bhilqn'], 'uint': [*'BHILQNPc'], 'float': [*'efdg'], 'complex': ['Zf', 'Zd', 'Zg', 'F', 'D']}

buffers = {}

def take(source):
    """The address of the memory's description times eight, and what it is. JavaScript owns it."""
    if not hasattr(type(source), '__dlpack__'):
        return take_buffer(source)
    try:
        capsule = export(source)
    except BufferError as error:
        # NumPy before 2.1 does not export read-only arrays, and no version exports some dtypes that buffers have.
        try:
            return take_buffer(source)
        except (TypeError, BufferError):
            raise error from None
    if is_valid(capsule, NEW):
        return take_capsule(capsule, NEW, USED_NEW, VERSIONED)
    if is_valid(capsule, OLD):
        # The old struct cannot say that memory is read-only. Some producers of it export such memory all the same.
        return take_capsule(capsule, OLD, USED_OLD, READONLY if is_readonly(source) else 0)
    raise TypeError(f'Expected an unused capsule from __dlpack__ but received {capsule!r}')

unversioned = set()  # classes that are older than the argument

def export(source):
    if type(source) in unversioned:
        return source.__dlpack__()
    try:
        return source.__dlpack__(max_version=(1, 3))
    except TypeError:
        capsule = source.__dlpack__()
        unversioned.add(type(source))
        return capsule

def take_capsule(capsule, name, used, kind):
    address = get_pointer(capsule, name)
    taken = False
    try:
        # An interrupt may come after each call. Until the capsule has its new name, its own destructor frees the tensor.
        set_name(capsule, used)
        taken = True
        return address * 8 + kind
    except BaseException:
        if taken or is_valid(capsule, used):
            delete(address, kind)
        raise

def is_readonly(source):
    try:
        return memoryview(source).readonly
    except (TypeError, BufferError, ValueError):
        return False

def take_buffer(source):
    buffer = Buffer()
    try:
        # An interrupt may come after each call. PyBuffer_Release does nothing for a buffer that was not filled.
        get_buffer(source, byref(buffer), STRIDES_AND_FORMAT)
        buffer.dtype = dtype_of(buffer)
        address = addressof(buffer)
        buffers[address] = buffer
        return address * 8 + BUFFER
    except BaseException:
        buffers.pop(addressof(buffer), None)
        release_buffer(byref(buffer))
        raise

def dtype_of(buffer):
    """By the size of an element and not by the letter alone: 'l' has four bytes here, and eight elsewhere."""
    text = ctypes.string_at(buffer.format).decode() if buffer.format else 'B'
    letter = text.lstrip('@=<')
    for kind, letters in KINDS.items():
        name = kind if kind == 'bool' else f'{kind}{buffer.itemsize * 8}'
        if letter in letters and name in NAMES:
            return NAMES.index(name)
    raise BufferError(f'Expected a buffer of numbers in the byte order of this machine but its format is {text!r}')

def delete(address, kind):
    """Gives back what `take` returned."""
    if kind & BUFFER:
        release_buffer(byref(buffers.pop(address)))
        return
    # Where the deleter is in DLManagedTensorVersioned and in DLManagedTensor, with pointers of four bytes.
    deleter = c_void_p.from_address(address + (12 if kind & VERSIONED else 44)).value
    if deleter:
        Deleter(deleter)(address)

def add_function(action):
    """A function pointer for a function of JavaScript, where its own way to one is not known."""
    made = Deleter(action)
    buffers[id(made)] = made
    return ctypes.cast(made, c_void_p).value

# Capsules that a consumer may not have taken. A capsule has no weak references, and Python code in its destructor would
# run while an error is on its way and replace it. So they are looked through here and when a tensor goes.
offered = []

def references(index):
    return sys.getrefcount(offered[index])

offered.append(object())
UNREACHABLE = references(0)
offered.clear()

def sweep():
    for index in reversed(range(len(offered))):
        capsule = offered[index]
        for name, kind in ((NEW, VERSIONED), (OLD, 0)):  # noqa: B007 (used after the loop)
            if is_valid(capsule, name):
                break
        else:
            del offered[index]  # its consumer calls the deleter
            continue
        address = get_pointer(capsule, name)
        del capsule
        if references(index) <= UNREACHABLE:
            del offered[index]
            delete(address, kind)

class Tensor:
    """A tensor of JavaScript in the memory of Python: `numpy.from_dlpack(x)`, `numpy.asarray(x)`, `memoryview(x)`."""

    __slots__ = ('__weakref__', '_key')

    def __init__(self, key):
        self._key = key

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None:
            raise BufferError('Expected stream None for host memory')
        if dl_device is not None and tuple(dl_device) != (1, 0):
            raise BufferError(f'Expected dl_device (1, 0) for host memory but received {dl_device!r}')
        versioned = max_version is not None and max_version[0] >= 1
        sweep()
        # An interrupt may come after each call, and would lose a result, so JavaScript writes the address here.
        address, capsule = c_void_p(), None
        try:
            manage(self._key, versioned, bool(copy), addressof(address))
            if not address.value:
                raise BufferError('Expected max_version (1, 0) or newer: an older capsule cannot say that memory is read-only')
            capsule = new_capsule(address.value, NEW if versioned else OLD, None)
            offered.append(capsule)
            return capsule
        except BaseException:
            if address.value and not any(capsule is one for one in offered):
                delete(address.value, VERSIONED if versioned else 0)
            raise

    def __dlpack_device__(self):
        return (1, 0)

    def __buffer__(self, flags):
        buffer = Buffer()
        describe(self._key, addressof(buffer))
        if buffer.dtype < 0:
            raise BufferError(f'Expected a dtype that buffers have ({", ".join(NAMES)}); consume this tensor by __dlpack__')
        buffer.format = addressof(FORMATS[buffer.dtype])  # a memoryview keeps this pointer, and copies the rest
        return view_of(byref(buffer))

    def __repr__(self):
        return f'<dlpack tensor {text(self._key)}>'

    def __del__(self):
        drop(self._key)
        sweep()

Tensor.__module__ = 'dlpack'
