"""Peers with a command of their own, `npm run test:peers`: most of them are large, and few programs have all of them.

A peer without __dlpack__ gives and takes by the way that its users have: `give` returns the object that fromDLPack takes.
"""

import ctypes
import importlib
import os

import numpy as np
from blocks import find, np_dtype, number
from synthetic import find_struct


class Absent(Exception):
    """The peer itself cannot hold such a tensor."""


def need(condition):
    if not condition:
        raise Absent()


def over(address, dtype, shape, strides):
    """An array over memory that a peer names. Strides count elements."""
    dtype = np_dtype(dtype)
    if 0 in shape:
        return np.zeros(shape, dtype)
    low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides)) * dtype.itemsize
    high = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides)) * dtype.itemsize
    raw = (ctypes.c_uint8 * (high - low + dtype.itemsize)).from_address(address + low)
    return np.ndarray(shape, dtype, raw, -low, [s * dtype.itemsize for s in strides])


def compact(shape):
    strides, step = [], 1
    for length in reversed(shape):
        strides.insert(0, step)
        step *= length
    return strides


KINDS = {0: "int", 1: "uint", 2: "float", 5: "complex"}
OTHERS = {(4, 16): "bfloat16", (6, 8): "bool", (10, 8): "float8_e4m3fn", (12, 8): "float8_e5m2", (18, 32): "bcomplex32"}


def by_capsule(tensor):
    """A tensor by its own word: some of these dtypes have no other way out of their library."""
    capsule = tensor.__dlpack__()
    view = find_struct(id(capsule)).tensor
    name = OTHERS.get((view.code, view.bits)) or f"{KINDS[view.code]}{view.bits}"
    shape = [view.shape[i] for i in range(view.ndim)]
    strides = [view.strides[i] for i in range(view.ndim)] if view.strides else compact(shape)
    address = (view.data or 0) + view.byte_offset
    return described(over(address, name, shape, strides), None, address=address, dtype=name)


def described(array, readonly, values=None, address=None, dtype=None):
    return dict(
        address=array.__array_interface__["data"][0] if address is None else address,
        dtype=array.dtype.name if dtype is None else dtype,
        shape=list(array.shape),
        strides=[s // array.itemsize for s in array.strides],
        readonly=readonly,
        values=[number(v) for v in (array.ravel().tolist() if values is None else values)],
    )


class Peer:
    """`module` is loaded when a run asks for the peer."""

    module = ""
    # It does not take memory of others: the block is only what its values come from.
    has_own_memory = False

    def load(self):
        self.library = find(self.module)
        return self.library

    def version(self):
        return self.library.__version__.split("-")[0]

    def give(self, tensor):
        return tensor

    def describe(self, tensor):
        return by_capsule(tensor)

    def take(self, x, route, copy):
        need(copy is None)
        return self.library.from_dlpack(x)

    def whole(self, block):
        """The block as a row-major array of bytes' own width."""
        need(block.lanes == 1 and block.bits >= 8 and len(block.shape) <= 64)
        array = block.array(np_dtype(block.dtype))
        need(array.flags.c_contiguous)
        return array

    def column(self, block):
        need(len(block.shape) == 1 and block.strides == [1])
        return self.whole(block)

    def absent_if_refused(self, make, *arguments, **keywords):
        """What a peer does not take from NumPy or a sound capsule, it cannot hold."""
        try:
            return make(*arguments, **keywords)
        except Exception as error:
            raise Absent() from error

    def over_block(self, tensor, block):
        """A peer that copied the block has no tensor over it."""
        found = self.absent_if_refused(self.describe, tensor)
        need(found["dtype"] == block.dtype and (0 in block.shape or found["address"] == block.address))
        return tensor


class OrtValue(Peer):
    module = "onnxruntime"
    names = {"float": "float32", "double": "float64", "float16": "float16", "bfloat16": "bfloat16"}

    def make(self, block):
        need(not block.readonly)
        return self.absent_if_refused(self.library.OrtValue.ortvalue_from_numpy, self.whole(block))

    def describe(self, value):
        name = value.data_type()[7:-1]
        name = self.names.get(name, name.replace("float8", "float8_"))
        shape = value.shape()
        return described(over(value.data_ptr(), name, shape, compact(shape)), None)

    def write(self, value, index, number):
        if value.data_type() == "tensor(bfloat16)":  # not in NumPy
            return False
        array = value.numpy()
        array[tuple(index)] = number
        value.update_inplace(array)
        return True

    def take(self, x, route, copy):
        need(copy is None)
        return self.library.OrtValue.from_dlpack(x)


class TensorFlow(Peer):
    module = "tensorflow"

    def load(self):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        return super().load()

    def make(self, block):
        need(not block.readonly)
        capsule = block.producer(versioned=False).capsule()
        return self.over_block(self.absent_if_refused(self.library.experimental.dlpack.from_dlpack, capsule), block)

    def take(self, x, route, copy):
        need(copy is None)
        return self.library.experimental.dlpack.from_dlpack(x.__dlpack__())


class Paddle(Peer):
    """It never calls the deleter of a struct whose manager_ctx is NULL, so the blocks say something there."""

    module = "paddle"

    def make(self, block):
        need(not block.readonly)
        producer = block.producer(versioned=False, context=1)
        return self.over_block(self.absent_if_refused(self.library.from_dlpack, producer), block)

    def take(self, x, route, copy):
        return self.library.from_dlpack(x) if copy is None else self.library.from_dlpack(x, copy=copy)


class Mlx(Peer):
    module = "mlx.core"

    has_own_memory = True

    def make(self, block):
        need(not block.readonly)
        array = self.absent_if_refused(self.library.from_dlpack, block.producer(versioned=False))
        self.library.eval(array)
        need(self.describe(array)["dtype"] == block.dtype)
        return array


class Warp(Peer):
    module = "warp"

    def load(self):
        if super().load() is not None:
            self.library.config.quiet = True
            self.library.init()
        return self.library

    def make(self, block):
        need(not block.readonly)
        producer = block.producer(versioned=False)
        return self.over_block(self.absent_if_refused(self.library.from_dlpack, producer), block)

    def view(self, array):
        # Its numpy() copies arrays with gaps, for which it compiles a kernel.
        item = self.library.types.type_size_in_bytes(array.dtype)
        return over(array.ptr or 0, array.dtype.__name__, list(array.shape), [s // item for s in array.strides])

    def describe(self, array):
        return described(self.view(array), None, address=array.ptr or 0)

    def write(self, array, index, value):
        self.view(array)[tuple(index)] = value


class Nanoarrow(Peer):
    module = "nanoarrow"

    def make(self, block):
        need(not block.readonly)
        array = self.column(block)
        buffer = self.absent_if_refused(self.library.c_buffer, array)
        return self.over_block(buffer, block)

    def give(self, buffer):
        """Views of an array's buffers have __dlpack__, buffers themselves do not."""
        kind = getattr(self.library, self.name(buffer))()
        return self.library.c_array_from_buffers(kind, len(buffer), [None, buffer]).view().buffer(1)

    def name(self, buffer):
        return {"half_float": "float16", "float": "float32", "double": "float64"}.get(buffer.data_type, buffer.data_type)

    def describe(self, buffer):
        return described(np.asarray(memoryview(buffer)), None, dtype=self.name(buffer))

    def take(self, x, route, copy):
        need(copy is None)
        return self.library.c_buffer(x) if route == "c_buffer" else type(self.library.c_buffer(b"")).from_dlpack(x)


class CudaCore(Peer):
    """Without a device its views still describe host memory."""

    module = "cuda.core"

    def make(self, block):
        producer = block.producer(flags=1 if block.readonly else 0)
        view = importlib.import_module("cuda.core.utils").StridedMemoryView
        return self.over_block(self.absent_if_refused(view.from_dlpack, producer, stream_ptr=-1), block)

    def describe(self, view):
        strides = compact(view.shape) if view.strides is None else view.strides
        name = np.dtype(view.dtype).name
        return described(over(view.ptr, name, list(view.shape), list(strides)), view.readonly, address=view.ptr)

    def take(self, x, route, copy):
        need(copy is None)
        return importlib.import_module("cuda.core.utils").StridedMemoryView.from_dlpack(x, stream_ptr=-1)


class OpenVino(Peer):
    module = "openvino"

    def make(self, block):
        need(not block.readonly)
        return self.over_block(self.absent_if_refused(self.library.Tensor, self.whole(block), shared_memory=True), block)

    def give(self, tensor):
        return tensor.data

    def describe(self, tensor):
        return described(tensor.data, None)

    def write(self, tensor, index, value):
        tensor.data[tuple(index)] = value

    def take(self, x, route, copy):
        need(copy is None)
        return self.library.Tensor(np.asarray(x), shared_memory=True)


class Tinygrad(Peer):
    """On the device that is Python itself: the other one of this machine needs clang."""

    module = "tinygrad"

    def load(self):
        os.environ["DEV"] = "PYTHON"
        return super().load()

    def version(self):
        return importlib.import_module("importlib.metadata").version("tinygrad")

    def make(self, block):
        need(not block.readonly and 0 not in block.shape)  # no data, no shape
        tensor = self.absent_if_refused(lambda: self.library.Tensor(self.whole(block)).realize())
        need(self.absent_if_refused(self.describe, tensor)["dtype"] == block.dtype)
        return tensor

    def give(self, tensor):
        return tensor.data()

    def describe(self, tensor):
        return described(tensor.numpy(), None)

    def take(self, x, route, copy):
        need(copy is None and x.dtype != "bool")  # bool needs clang here, too
        return self.library.Tensor(np.asarray(x)).realize()


class Polars(Peer):
    module = "polars"

    def make(self, block):
        need(not block.readonly)
        return self.over_block(self.absent_if_refused(self.library.Series, self.column(block)), block)

    def give(self, series):
        return series.to_numpy(allow_copy=False)

    def describe(self, series):
        array = series.to_numpy()
        return described(array, None, values=series.to_list())

    def take(self, x, route, copy):
        need(copy is None and x.ndim == 1)
        if route == "Series(np.asarray(x))":
            return self.library.Series(np.asarray(x))
        return self.library.Series(importlib.import_module("pyarrow").Array.from_dlpack(x))


class Pandas(Peer):
    module = "pandas"

    def make(self, block):
        need(not block.readonly)
        return self.over_block(self.absent_if_refused(self.library.Series, self.column(block), copy=False), block)

    def give(self, series):
        return series.to_numpy()

    def describe(self, series):
        view = series.values  # a read-only view of the column
        return described(view, not view.base.flags.writeable, values=series.tolist())

    def write(self, series, index, value):
        series.iloc[index[0]] = series.dtype.type(value)

    def take(self, x, route, copy):
        need(copy is None and x.ndim == 1)
        return self.library.Series(np.asarray(x), copy=False)


class DuckDb(Peer):
    """A query reads columns where they are; what it returns is new memory that nobody else has."""

    module = "duckdb"

    has_own_memory = True

    def make(self, block):
        need(not block.readonly)
        return self.absent_if_refused(self.read, self.column(block))

    def read(self, array):
        # The query finds it by its name.
        columns = {"x": array}  # noqa: F841
        values = self.library.sql("select x from columns").fetchnumpy()["x"]
        if values.dtype != array.dtype:
            raise TypeError("another dtype")
        return values

    def describe(self, array):
        """The values by a query. Its memory is the array's if a query sees what was written to that."""
        return described(array, not array.flags.writeable, values=self.read(array).tolist())

    def take(self, x, route, copy):
        need(copy is None and x.ndim == 1)
        array = np.asarray(x)
        self.read(array)
        return array


MORE_PEERS = {
    "OrtValue": OrtValue(),
    "TensorFlow": TensorFlow(),
    "PaddlePaddle": Paddle(),
    "MLX": Mlx(),
    "Warp": Warp(),
    "cuda.core": CudaCore(),
    "OpenVINO": OpenVino(),
    "tinygrad": Tinygrad(),
    "nanoarrow": Nanoarrow(),
    "polars": Polars(),
    "pandas": Pandas(),
    "DuckDB": DuckDb(),
}
