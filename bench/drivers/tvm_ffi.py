"""What tvm_ffi in Python takes for calls into the same libraries: nanoseconds for each sample, as JSON.

Run with -I: this file has the name of the package it imports.
"""
import json
import pathlib
import platform
import sys
import time

import numpy as np
import tvm_ffi

testing, kernels, probe = (tvm_ffi.load_module(path) for path in sys.argv[1:])
nop = tvm_ffi.get_global_func("testing.nop")
echo = tvm_ffi.get_global_func("testing.echo")
apply = tvm_ffi.get_global_func("testing.apply")

array = np.arange(6, dtype=np.float32).reshape(2, 3)
x = tvm_ffi.from_dlpack(array.copy())
vector = tvm_ffi.from_dlpack(np.arange(6, dtype=np.float32))
identity = tvm_ffi.convert(lambda value: value)


def samples(batch, n=20_000, count=5):
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        batch(n)
        times.append((time.perf_counter_ns() - start) / n)
    return times


def nop_tensors(n):
    for _ in range(n):
        nop(x, x, x)


def nop_arrays(n):
    for _ in range(n):
        nop(array, array, array)


def nop_empty(n):
    for _ in range(n):
        nop()


def echo_int(n):
    for i in range(n):
        echo(i)


def echo_float(n):
    for _ in range(n):
        echo(0.5)


def echo_short(n):
    for _ in range(n):
        echo("hello")


def echo_string(n):
    for _ in range(n):
        echo("a string of 24 characters")


def echo_tensor(n):
    for _ in range(n):
        echo(x)


def make_tensor(n):
    make = probe.make_tensor
    for _ in range(n):
        make(6)


def add_one(n):
    add = kernels.add_one
    for _ in range(n):
        add(vector, vector)


def callback(n):
    for i in range(n):
        apply(identity, i)


operations = {
    "nop()": nop_empty,
    "nop(3 tensors)": nop_tensors,
    "nop(3 arrays of the host language)": nop_arrays,
    "add_one(tensor, tensor)": add_one,
    "echo(int)": echo_int,
    "echo(float)": echo_float,
    "echo(string of 5)": echo_short,
    "echo(string of 25)": echo_string,
    "echo(tensor)": echo_tensor,
    "make_tensor(6): a native tensor": make_tensor,
    "callback(int) from native code": callback,
}
try:
    import torch

    t = torch.arange(6, dtype=torch.float32).reshape(2, 3)

    def nop_torch(n):
        for _ in range(n):
            nop(t, t, t)

    operations["nop(3 torch tensors)"] = nop_torch
    sys.path.append(str(pathlib.Path(__file__).parent))
    from tvm_ffi_upstream import rows

    upstream = rows(nop, probe.invoke_times)
except ImportError:
    torch = None
    upstream = {}

for batch in [*operations.values(), *upstream.values()]:
    batch(5_000)
versions = {"Python": platform.python_version(), "tvm_ffi": tvm_ffi.__version__, "NumPy": np.__version__}
if torch is not None:
    versions["torch"] = torch.__version__
measured = {
    "times": {name: samples(batch) for name, batch in operations.items()},
    "upstream": {name: samples(batch) for name, batch in upstream.items()},
    "versions": versions,
}
print(json.dumps(measured))
