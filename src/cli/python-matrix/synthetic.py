"""A DLPack producer made of ctypes: every field of its struct can be chosen, and its deleter counts."""

import ctypes


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
# An address, not an object, because ctypes would change the reference count of a capsule that is being destroyed.
Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
NAMES = {Legacy: b"dltensor", Versioned: b"dltensor_versioned"}


def function(name, result, *arguments):
    """A function of Python's C API. `ctypes.pythonapi.name` is one object for all, whose types other libraries set, too."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


new_capsule = function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
is_valid = function("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
get_pointer = function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)

# Managed tensors whose deleter was not called yet, by address: the struct, its arrays, and what owns the memory.
alive = {}
deletions = []
unknown_deletions = []


@Deleter
def delete(address):
    (deletions if alive.pop(address, None) is not None else unknown_deletions).append(address)


def find_struct(capsule):
    """The struct of the capsule at this address, or None when somebody consumed it."""
    for struct, name in NAMES.items():
        if is_valid(capsule, name):
            return struct.from_address(get_pointer(capsule, name))
    return None


@Destructor
def destroy(capsule):
    managed = find_struct(capsule)
    if managed is not None and managed.deleter:
        Deleter(managed.deleter)(ctypes.addressof(managed))


def integers(values):
    return None if values is None else (ctypes.c_int64 * max(len(values), 1))(*values)


class Producer:
    """`fields` replace what a sound producer would say: of the tensor, or of the struct around it."""

    def __init__(self, owner, data, dtype, shape, strides, versioned=True, name=None, **fields):
        self.made = (owner, data, dtype, shape, strides, versioned, name, fields)

    def capsule(self):
        owner, data, dtype, shape, strides, versioned, name, fields = self.made
        managed = (Versioned if versioned else Legacy)()
        if versioned:
            managed.major, managed.minor = 1, 3
        managed.deleter = ctypes.cast(delete, ctypes.c_void_p).value
        tensor = managed.tensor
        tensor.data, tensor.device_type = data, 1
        tensor.code, tensor.bits, tensor.lanes = dtype
        arrays = integers(shape), integers(strides)
        tensor.ndim = len(shape or [])
        for field, array in zip(("shape", "strides"), arrays):
            setattr(tensor, field, ctypes.cast(array, ctypes.POINTER(ctypes.c_int64)))
        for field, value in fields.items():
            setattr(tensor if hasattr(tensor, field) else managed, field, value)
        alive[ctypes.addressof(managed)] = (managed, arrays, owner)
        real = name.encode() if name else NAMES[type(managed)]
        names.append(real)
        return new_capsule(ctypes.addressof(managed), real, ctypes.cast(destroy, ctypes.c_void_p))

    def __dlpack__(self, **_):
        return self.capsule()

    def __dlpack_device__(self):
        return (1, 0)


# Capsules keep a pointer to their name.
names = list(NAMES.values())


class Forward:
    """Another object's __dlpack__ behind a type without an exchange table."""

    def __init__(self, target):
        self.target = target

    def __dlpack__(self, **keywords):
        return self.target.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.target.__dlpack_device__()


class OnlyLegacy(Forward):
    """As libraries before DLPack 1.0: no keywords, an old capsule."""

    def __dlpack__(self, stream=None):
        return self.target.__dlpack__()


class OnlyInterface:
    """Nothing but NumPy's array interface."""

    def __init__(self, target):
        self.__array_interface__ = target.__array_interface__
        self.target = target
