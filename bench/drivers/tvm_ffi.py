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


@tvm_ffi.dataclasses.c_class("testing.TestIntPair")
class Pair(tvm_ffi.Object):
    a: int
    b: int


pair = Pair(1, 2)
items = tvm_ffi.List([1, 2, 3])
view = tvm_ffi.Array([1, 2, 3])
table = tvm_ffi.Dict({"key": 1})


def field(n):
    for _ in range(n):
        pair.a  # noqa: B018 measured


def method(n):
    for _ in range(n):
        pair.sum()


def construct(n):
    for _ in range(n):
        Pair(1, 2)


def echo_object(n):
    for _ in range(n):
        echo(pair)


def echo_list(n):
    for _ in range(n):
        echo(items)


def echo_function(n):
    for _ in range(n):
        echo(identity)


def list_get(n):
    for _ in range(n):
        items[1]


def list_set(n):
    for i in range(n):
        items[1] = i


def array_get(n):
    for _ in range(n):
        view[1]


def dict_get(n):
    for _ in range(n):
        table["key"]


objects = {
    "pair.a: a field": field,
    "pair.sum(): a method": method,
    "Pair(1, 2): a new object": construct,
    "echo(pair): an object there and back": echo_object,
    "echo(list): a list there and back": echo_list,
    "echo(function): a function there and back": echo_function,
    "an element of a list": list_get,
    "an element of a list, set": list_set,
    "an element of an array": array_get,
    "a value of a dict": dict_get,
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

for batch in [*operations.values(), *objects.values(), *upstream.values()]:
    batch(5_000)
versions = {"Python": platform.python_version(), "tvm_ffi": tvm_ffi.__version__, "NumPy": np.__version__}
if torch is not None:
    versions["torch"] = torch.__version__
measured = {
    "times": {name: samples(batch) for name, batch in operations.items()},
    "objects": {name: samples(batch) for name, batch in objects.items()},
    "upstream": {name: samples(batch) for name, batch in upstream.items()},
    "versions": versions,
}
print(json.dumps(measured))
