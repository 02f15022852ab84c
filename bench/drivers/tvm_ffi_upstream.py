"""The rows of tests/scripts/benchmark_dlpack.py and benchmark_pycallback.py of apache/tvm-ffi that need no GPU, under the
names they have there. Each is a function that runs its operation n times.
"""
import numpy as np
import torch
import tvm_ffi


def times3(function, x, y, z):
    def batch(n):
        for _ in range(n):
            function(x, y, z)

    return batch


def converted(function, convert, x, y, z):
    def batch(n):
        for _ in range(n):
            function(convert(x), convert(y), convert(z))

    return batch


def once(function, *args):
    def batch(n):
        for _ in range(n):
            function(*args)

    return batch


def dlpack(x):
    def batch(n):
        for _ in range(n):
            x.__dlpack__()

    return batch


def dlpack_versioned(x):
    def batch(n):
        for _ in range(n):
            x.__dlpack__(max_version=(1, 1))

    return batch


def add(function, x, y, z):
    def batch(n):
        for _ in range(n):
            function(x, y, out=z)

    return batch


def rows(nop, invoke_times):
    arrays = [np.arange(1) for _ in range(3)]
    tensors = [torch.arange(1) for _ in range(3)]
    own = [tvm_ffi.from_dlpack(torch.arange(1)) for _ in range(3)]
    wrappers = [tvm_ffi.core.DLTensorTestWrapper(x) for x in own]
    to_dlpack = torch.utils.dlpack.to_dlpack
    from_dlpack = tvm_ffi.from_dlpack

    def ignore(a, b, c):
        pass

    def take(a, b, c):
        torch.from_dlpack(a)
        torch.from_dlpack(b)
        torch.from_dlpack(c)

    as_torch = tvm_ffi.convert_func(ignore, tensor_cls=torch.Tensor)
    as_own = tvm_ffi.convert_func(take)
    return {
        "numpy.add": add(np.add, *arrays),
        "torch.add[cpu]": add(torch.add, *tensors),
        "tvm_ffi.nop+from_dlpack(torch)": converted(nop, from_dlpack, *tensors),
        "tvm_ffi.nop+from_dlpack(numpy)": converted(nop, from_dlpack, *arrays),
        "tvm_ffi.nop+from_dlpack(tvm)": converted(nop, from_dlpack, *own),
        "tvm_ffi.nop+from_dlpack(torch.utils)": converted(nop, lambda x: from_dlpack(to_dlpack(x)), *tensors),
        "tvm_ffi.nop.autodlpack(torch[cpu])": times3(nop, *tensors),
        "tvm_ffi.nop.autodlpack(numpy)": times3(nop, *arrays),
        "tvm_ffi.nop.autodlpack(DLTensorTestWrapper[cpu])": times3(nop, *wrappers),
        "tvm_ffi.nop.autodlpack(NamedTuple[cpu])": once(nop, tuple(tensors)),
        "tvm_ffi.nop": times3(nop, *own),
        "torch.utils.dlpack.to_dlpack": once(to_dlpack, tensors[0]),
        "torch.__dlpack__": dlpack(tensors[0]),
        "numpy.__dlpack__": dlpack(arrays[0]),
        "tvm.__dlpack__": dlpack(own[0]),
        "torch.__dlpack__(max_version=(1,1))": dlpack_versioned(tensors[0]),
        "numpy.__dlpack__(max_version=(1,1))": dlpack_versioned(arrays[0]),
        "tvm.__dlpack__(max_version=(1,1))": dlpack_versioned(own[0]),
        "pycallback[tensor_cls=torch.Tensor]": lambda n: invoke_times(as_torch, n, *tensors),
        "pycallback+from_dlpack": lambda n: invoke_times(as_own, n, *tensors),
    }
