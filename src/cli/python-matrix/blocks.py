"""The memory of a cell: the bytes of its values, and the layout over them. Under every tensor of a peer lies such a block."""

import functools
import importlib
import json
import weakref

import numpy as np
from synthetic import Producer


def find(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


ml = find("ml_dtypes")


def np_dtype(name):
    if ml is not None and hasattr(ml, name):
        return np.dtype(getattr(ml, name))
    return np.dtype(name)


def base_name(dtype):
    return dtype.split("x2")[0]


def encode(dtype, values, bits, padded):
    """Bytes of the values as DLPack wants them; narrow types packed unless `padded`, first element lowest."""
    numbers = [complex(*v) if isinstance(v, list) else v for v in values]
    array = np.array(numbers).astype(np_dtype(base_name(dtype)))
    if bits >= 8 or padded:
        return array.tobytes()
    packed = 0
    for i, byte in enumerate(array.view(np.uint8).tolist()):
        packed |= (byte & ((1 << bits) - 1)) << (i * bits)
    return packed.to_bytes((len(numbers) * bits + 7) // 8, "little")


def number(value):
    if isinstance(value, (complex, np.complexfloating)) or type(value).__name__ in ("complex32", "bcomplex32"):
        value = complex(value)
        return [value.real, value.imag]
    return float(value)


@functools.lru_cache(maxsize=None)
def parse(text):
    """A cell, with the bytes of its values."""
    case = json.loads(text)
    return case, encode(case["dtype"], case["values"], case["bits"], case["padded"])


class Block:
    """Aligned memory that holds the values of a cell, and a layout over it."""

    def __init__(self, text):
        case, raw = parse(text)
        self.dtype, self.bits, self.code = case["dtype"], case["bits"], case["code"]
        self.lanes = case["lanes"]
        self.shape, self.strides, self.offset = case["shape"], case["strides"], case["offset"]
        self.readonly = case["readonly"]
        self.owner = np.zeros(len(raw) + 64, np.uint8)
        self.start = -self.owner.ctypes.data % 64
        self.length = len(raw)
        self.owner[self.start : self.start + len(raw)] = np.frombuffer(raw, np.uint8)
        blocks.add(self.owner)

    @property
    def item(self):
        return self.bits * self.lanes // 8 or 1

    @property
    def address(self):
        return self.owner.ctypes.data + self.start + self.offset * self.item

    def bytes(self):
        return self.owner[self.start : self.start + self.length]

    def array(self, dtype):
        view = np.ndarray(
            self.shape,
            dtype,
            buffer=self.owner,
            offset=self.start + self.offset * self.item,
            strides=[s * self.item for s in self.strides],
        )
        if self.readonly:
            view.flags.writeable = False
        return view

    def producer(self, **fields):
        triple = (self.code, self.bits, self.lanes)
        return Producer(self.owner, self.address, triple, self.shape, self.strides, **fields)


class BlockSet:
    """NumPy arrays have no hash: a list of weak references."""

    def __init__(self):
        self.references = []

    def add(self, owner):
        self.references.append(weakref.ref(owner))

    def count(self):
        self.references = [r for r in self.references if r() is not None]
        return len(self.references)


blocks = BlockSet()
