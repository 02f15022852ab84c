"""The peers of bench/values.bench.ts: NumPy, ml_dtypes, PyTorch where it can be imported, and memcpy of libc.

Reads one request in JSON per line, answers each with one line: seconds of every repetition, or null for what is absent.
"""
import ctypes
import json
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np

try:
    import torch
except ImportError:
    torch = None

warnings.simplefilter("ignore")
libc = ctypes.CDLL(None)
libc.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
libc.memcpy.restype = ctypes.c_void_p


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def values_of(op):
    return (np.arange(op["count"], dtype=np.float32) % 13 - 6).reshape(op.get("shape", op["count"]))


def memcpy(op, threads):
    source, target = values_of(op), np.zeros(op["count"], np.float32)
    step = source.nbytes // threads
    pool = ThreadPoolExecutor(threads)

    def part(i):
        # ctypes lets go of the interpreter lock for the call.
        libc.memcpy(target.ctypes.data + i * step, source.ctypes.data + i * step, step)

    if threads == 1:
        return lambda: part(0)
    return lambda: list(pool.map(part, range(threads)))


def numpy_action(op):
    if op["kind"] == "copy":
        source, target = values_of(op), np.zeros(op["count"], np.float32)
        return lambda: np.copyto(target, source)
    if op["kind"] == "fresh":
        source = values_of(op)
        return lambda: source.astype(dtype_of(op["to"]), copy=True)
    if op["kind"] == "permute":
        source = values_of(op).transpose(op["axes"])
        target = np.zeros(source.shape, np.float32)
        return lambda: np.copyto(target, source)
    source = values_of(op).astype(dtype_of(op["from"]))
    target = np.zeros(op["count"], dtype_of(op["to"]))
    return lambda: np.copyto(target, source, casting="unsafe")


def torch_action(op):
    kinds = {"float32", "bfloat16", "float16", "float8_e4m3fn"}
    if torch is None or not {op.get("from", "float32"), op.get("to", "float32")} <= kinds:
        return None
    values = torch.from_numpy(values_of(op))
    if op["kind"] == "copy":
        target = torch.zeros(op["count"])
        return lambda: target.copy_(values)
    if op["kind"] == "fresh":
        to = getattr(torch, op["to"])
        return lambda: values.to(to, copy=True)
    if op["kind"] == "permute":
        source = values.permute(op["axes"])
        target = torch.zeros(source.shape)
        return lambda: target.copy_(source)
    source = values.to(getattr(torch, op["from"]))
    target = torch.zeros(op["count"], dtype=torch.float32).to(getattr(torch, op["to"]))
    return lambda: target.copy_(source)


def action_of(peer, op, threads):
    if peer == "memcpy":
        # What is short is over before a second thread has begun.
        return memcpy(op, threads if op["times"] == 1 else 1)
    return numpy_action(op) if peer == "numpy" else torch_action(op)


def main():
    threads = int(sys.argv[1])
    if torch is not None:
        torch.set_num_threads(threads)
    versions = {"python": sys.version.split()[0], "numpy": np.__version__, "ml_dtypes": ml_dtypes.__version__}
    versions["torch"] = "absent" if torch is None else torch.__version__
    print(json.dumps(versions), flush=True)
    known = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = (request["peer"], json.dumps(request["op"]))
        # One operation at a time keeps its arrays: all together would not fit everywhere.
        if key not in known:
            known = {k: v for k, v in known.items() if k[1] == key[1]}
            known[key] = action_of(request["peer"], request["op"], threads)
        action, seconds = known[key], []
        for _ in range(request["repetitions"] if action is not None else 0):
            start = time.perf_counter()
            for _ in range(request["op"]["times"]):
                action()
            seconds.append((time.perf_counter() - start) / request["op"]["times"])
        print(json.dumps(seconds if action is not None else None), flush=True)


main()
