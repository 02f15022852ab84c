"""The peers of the conformance table: how each makes, describes, changes and takes tensors.

Under every tensor of a peer lies one block of memory, a NumPy array of bytes: its address and its bytes are the witness, and
its end shows that the peer let go.
"""

import ctypes
import gc
import json

import numpy as np
from blocks import Block, base_name, blocks, find, ml, np_dtype, number
from more_peers import MORE_PEERS, Absent, need, over
from synthetic import Forward, OnlyInterface, OnlyLegacy, unknown_deletions

torch = jax = tvm_ffi = pa = None
NUMPY1 = np.__version__.startswith("1.")


class NumPy:
    immutable = False

    def make(self, block):
        need(block.lanes == 1 and len(block.shape) <= (32 if NUMPY1 else 64))
        return block.array(np_dtype(block.dtype))

    def describe(self, a):
        return dict(
            address=a.__array_interface__["data"][0],
            dtype=a.dtype.name,
            shape=a.shape,
            strides=[s // a.itemsize for s in a.strides],
            readonly=not a.flags.writeable,
            values=[number(v) for v in a.ravel().tolist()],
        )

    def write(self, a, index, value):
        a[tuple(index)] = value

    def take(self, x, route, copy):
        need(not NUMPY1 or copy is None or "from_dlpack" not in route)
        if route == "from_dlpack":
            return np.from_dlpack(x) if copy is None else np.from_dlpack(x, copy=copy)
        if route == "from_dlpack, legacy":
            return np.from_dlpack(OnlyLegacy(x)) if copy is None else np.from_dlpack(OnlyLegacy(x), copy=copy)
        source = x if route == "asarray" else OnlyInterface(x)
        if NUMPY1:
            return np.array(source, copy=copy is True)
        return np.asarray(source) if copy is None else np.asarray(source, copy=copy)


class MlDtypes(NumPy):
    def take(self, x, route, copy):
        if route == "from_dlpack":
            return super().take(x, route, copy)
        return super().take(x, "asarray", copy).view(np_dtype(taking["dtype"]))


class Torch:
    immutable = False

    def dtype(self, name):
        name = "float4_e2m1fn_x2" if name == "float4_e2m1fnx2" else name
        need(hasattr(torch, name) and not name.startswith(("int4", "uint4", "int2", "uint2", "int1_", "uint1_")))
        return getattr(torch, name)

    def make(self, block):
        need(not block.readonly and all(s >= 0 for s in block.strides))
        dtype = self.dtype(block.dtype)
        base = torch.frombuffer(block.owner, dtype=torch.uint8)[block.start : block.start + block.length].view(dtype)
        return base.as_strided(block.shape, block.strides, base.storage_offset() + block.offset)

    def describe(self, t):
        name = str(t.dtype)[6:]
        return dict(
            address=t.data_ptr(),
            dtype="float4_e2m1fnx2" if name == "float4_e2m1fn_x2" else name,
            shape=list(t.shape),
            strides=list(t.stride()),
            readonly=None,
            values=self.values(t, name),
        )

    def values(self, t, name):
        if name == "float4_e2m1fn_x2":
            raw = t.contiguous().view(torch.uint8).reshape(-1).tolist()
            return [number(v) for b in raw for v in np.array([b & 15, b >> 4], np.uint8).view(ml.float4_e2m1fn)]
        if name.startswith(("float8", "bfloat")):
            t = t.to(torch.float32)
        if name in ("complex32", "bcomplex32"):
            t = t.to(torch.complex64)
        return [number(v) for v in t.reshape(-1).tolist()]

    def write(self, t, index, value):
        if t.dtype is torch.float4_e2m1fn_x2:
            t = t.view(torch.uint8)
        t[tuple(index)] = value

    def take(self, x, route, copy):
        source = OnlyLegacy(x) if route == "from_dlpack, legacy" else x
        if route == "as_tensor":
            need(copy is None)
            return torch.as_tensor(source)
        return torch.from_dlpack(source) if copy is None else torch.from_dlpack(source, copy=copy)


class Jax:
    immutable = True

    def make(self, block):
        need(not block.readonly)
        try:
            a = jax.numpy.from_dlpack(block.producer(versioned=False))
        except Exception as error:
            raise Absent() from error
        need(self.describe(a)["dtype"] == block.dtype and (a.size == 0 or a.unsafe_buffer_pointer() == block.address))
        return a

    def describe(self, a):
        # From memory: JAX remembers what it read, because its arrays never change.
        array = self.memory(a)
        return dict(
            address=a.unsafe_buffer_pointer(),
            dtype=a.dtype.name,
            shape=a.shape,
            strides=[s // array.itemsize for s in array.strides],
            readonly=None,
            values=[number(v) for v in array.ravel().tolist()],
        )

    def memory(self, a):
        read = np.asarray(a)
        if a.size == 0:
            return read
        raw = (ctypes.c_uint8 * read.nbytes).from_address(a.unsafe_buffer_pointer())
        return np.ndarray(read.shape, read.dtype, raw, 0, read.strides)

    def take(self, x, route, copy):
        a = jax.numpy.from_dlpack(x) if copy is None else jax.numpy.from_dlpack(x, copy=copy)
        assert np.asarray(a).tobytes() == self.memory(a).tobytes()
        return a


class TvmFfi:
    immutable = False

    def make(self, block):
        need(not block.readonly)
        return tvm_ffi.from_dlpack(block.producer(versioned=False))

    def describe(self, t):
        bits, lanes, name = t.dtype.bits, t.dtype.lanes, str(t.dtype)
        strides = list(t.strides)
        size = 1
        for n in t.shape:
            size *= n
        values = []
        if size > 0 and bits * lanes % 8 == 0:
            low = sum(min(0, (n - 1) * s) for n, s in zip(t.shape, strides))
            high = sum(max(0, (n - 1) * s) for n, s in zip(t.shape, strides))
            item = bits * lanes // 8
            raw = (ctypes.c_uint8 * ((high - low + 1) * item)).from_address(t.data_ptr() + low * item)
            element = np_dtype(name) if lanes == 1 else np.uint8
            array = np.ndarray(list(t.shape), element, raw, -low * item, [s * item for s in strides])
            values = [v for element in array.ravel().tolist() for v in self.lanes(element, bits, lanes, name)]
        elif size > 0:
            raw = ctypes.string_at(t.data_ptr(), (size * bits + 7) // 8)
            values = self.lanes(int.from_bytes(raw, "little"), bits, size, name)
        return dict(
            address=t.data_ptr() or 0,
            dtype=name,
            shape=list(t.shape),
            strides=strides,
            readonly=None,
            values=values,
        )

    def lanes(self, packed, bits, count, name):
        """Values of `count` packed elements; one that is not packed is its own value."""
        if bits >= 8:
            return [number(packed)]
        codes = [(packed >> (i * bits)) & ((1 << bits) - 1) for i in range(count)]
        return [number(v) for v in np.array(codes, np.uint8).view(np_dtype(base_name(name)))]

    def take(self, x, route, copy):
        need(copy is None)
        return tvm_ffi.from_dlpack(OnlyLegacy(x) if route == "from_dlpack, legacy" else x)


class ArrowTensor:
    immutable = False

    def make(self, block):
        need(block.lanes == 1 and block.bits >= 8 and block.dtype != "bool")
        try:
            array = block.array(np_dtype(block.dtype))
            tensor = pa.Tensor.from_numpy(array)
        except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
            raise Absent() from error
        return tensor

    def describe(self, t):
        found = NumPy().describe(t.to_numpy())
        found["readonly"] = not t.is_mutable
        return found

    def write(self, t, index, value):
        t.to_numpy()[tuple(index)] = value

    def take(self, x, route, copy):
        return pa.Tensor.from_dlpack(x) if copy is None else pa.Tensor.from_dlpack(x, copy=copy)


class ArrowArray:
    immutable = True

    def make(self, block):
        need(len(block.shape) == 1 and block.strides == [1])
        need(block.lanes == 1 and block.bits >= 8 and block.dtype != "bool")
        need(block.readonly is False)
        try:
            kind = pa.from_numpy_dtype(np_dtype(block.dtype))
        except (pa.ArrowException, TypeError) as error:
            raise Absent() from error
        return pa.Array.from_buffers(kind, block.shape[0], [None, pa.py_buffer(block.bytes())], offset=block.offset)

    def describe(self, a):
        item = a.type.bit_width // 8
        return dict(
            address=a.buffers()[1].address + a.offset * item,
            dtype=np.dtype(a.type.to_pandas_dtype()).name,
            shape=[len(a)],
            strides=[1],
            readonly=None,
            values=[number(v) for v in a.to_pylist()],
        )

    def take(self, x, route, copy):
        return pa.Array.from_dlpack(x) if copy is None else pa.Array.from_dlpack(x, copy=copy)


PEERS = {
    "NumPy": NumPy(),
    "NumPy 1": NumPy(),
    "ml_dtypes": MlDtypes(),
    "PyTorch": Torch(),
    "JAX": Jax(),
    "TVM-FFI": TvmFfi(),
    "Arrow Tensor": ArrowTensor(),
    "Arrow Array": ArrowArray(),
    **MORE_PEERS,
}
NAMES = {
    "NumPy": "numpy",
    "NumPy 1": "numpy",
    "ml_dtypes": "ml_dtypes",
    "PyTorch": "torch",
    "JAX": "jax",
    "TVM-FFI": "tvm_ffi",
    "Arrow Tensor": "pyarrow",
    "Arrow Array": "pyarrow",
    **{name: peer.module for name, peer in MORE_PEERS.items()},
}
taking = {}


class Made:
    """A tensor of a peer over a block."""

    def __init__(self, peer, case):
        self.peer = PEERS[peer]
        self.block = Block(case)
        self.object = self.peer.make(self.block)
        self.given = self.peer.give(self.object) if hasattr(self.peer, "give") else self.object

    def first(self):
        """The bytes of the first element."""
        return over(witness(self), "uint8", [self.block.item], [1])


def make(peer, case):
    """None when the peer cannot hold such a tensor."""
    try:
        return Made(peer, case)
    except Absent:
        return None


def offer(made, route):
    """What JavaScript gets, so that it takes this route."""
    if route == "__dlpack__()":
        return OnlyLegacy(made.given)
    has_table = hasattr(type(made.given), "__dlpack_c_exchange_api__")
    return Forward(made.given) if has_table and route != "exchange API" else made.given


def witness(made):
    """The address, by nobody's word but the block's, if the peer's tensor lies there."""
    return made.peer.describe(made.object)["address"] if getattr(made.peer, "has_own_memory", False) else made.block.address


def flip_first(made):
    """Changes the first element in memory: nobody's API is involved."""
    made.first()[0] ^= 1


def first_bytes(made):
    return made.first().tobytes()


def describe(peer, tensor):
    return json.dumps(peer.describe(tensor), default=int)


def take(peer, x, route, copy, dtype):
    """None when the peer has no such request; the exception in words when it refuses: a traceback costs more than a cell."""
    taking["dtype"] = dtype
    try:
        return PEERS[peer].take(x, route, copy)
    except Absent:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def describe_taken(peer, tensor):
    return describe(PEERS[peer], tensor)


def write(peer, tensor, index, value):
    """False for a peer that has no writes."""
    if not hasattr(PEERS[peer], "write"):
        return False
    return PEERS[peer].write(tensor, index, complex(*value) if isinstance(value, list) else value) is not False


def itself(peer, case, route):
    """Whether the peer takes its own tensor: 'shared', 'copied', or the exception."""
    try:
        made = Made(peer, case)
        taking["dtype"] = made.block.dtype
        back = made.peer.take(made.object, route, None)
    except Absent:
        return "absent"
    except Exception as error:
        return f"refused: {type(error).__name__}"
    if 0 in made.block.shape:
        return "empty"
    return "shared" if made.peer.describe(back)["address"] == made.block.address else "copied"


def load(peers):
    """Imports what some peers need. The names of those that are missing."""
    global torch, jax, tvm_ffi, pa
    modules = {NAMES[peer]: MORE_PEERS[peer].load() if peer in MORE_PEERS else find(NAMES[peer]) for peer in peers}
    torch, jax = modules.get("torch"), modules.get("jax")
    tvm_ffi, pa = modules.get("tvm_ffi"), modules.get("pyarrow")
    # Existing objects stay, so collections need not scan them again.
    gc.collect()
    gc.freeze()
    return [peer for peer in peers if modules[NAMES[peer]] is None]


def version(peer):
    if peer in MORE_PEERS:
        return MORE_PEERS[peer].version()
    return find(NAMES[peer]).__version__.split("+")[0]


def live():
    return blocks.count() + len(unknown_deletions) * 1000


def collect():
    gc.collect()
    if jax is not None:
        jax.numpy.zeros(1).block_until_ready()  # JAX releases kept objects when it is used again
