"""The peers of bench/values.bench.ts: NumPy, ml_dtypes, PyTorch and torchvision where they can be imported, memcpy and
memset of libc.

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
try:
    import torchvision
    from torchvision.transforms.v2 import functional
except ImportError:
    torchvision = None

warnings.simplefilter("ignore")
libc = ctypes.CDLL(None)
libc.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
libc.memcpy.restype = ctypes.c_void_p
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
libc.memset.restype = ctypes.c_void_p


# Arrays of which only the address is used.
KEPT = []


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def values_of(op):
    return (np.arange(op["count"], dtype=np.float32) % 13 - 6).reshape(op.get("shape", op["count"]))


def libc_action(op, threads, size, part):
    """part(target, offset, nbytes) on every thread, over a result of `size` bytes for each element."""
    total = op["count"] * size
    nbytes = total // threads
    pool = ThreadPoolExecutor(threads)

    def write(address):
        if threads == 1:
            part(address, 0, total)
        else:
            # ctypes lets go of the interpreter lock for the call.
            list(pool.map(lambda i: part(address + i * nbytes, i * nbytes, nbytes), range(threads)))

    def write_fresh():
        target = np.empty(total, np.uint8)
        write(target.ctypes.data)

    if op["fresh"]:
        return write_fresh
    kept = np.zeros(total, np.uint8)
    KEPT.append(kept)
    address = kept.ctypes.data
    return lambda: write(address)


def memcpy(op, threads):
    source = values_of(op)
    KEPT.append(source)
    start = source.ctypes.data
    return libc_action(op, threads, 4, lambda target, offset, nbytes: libc.memcpy(target, start + offset, nbytes))


def memset(op, threads):
    size = op["writtenBits"] // 8
    return libc_action(op, threads, size, lambda target, offset, nbytes: libc.memset(target, 1, nbytes))


MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def numpy_action(op):
    source = values_of(op).astype(dtype_of(op["from"]))
    if op["kind"] == "images":
        mean, std = np.array(MEAN, np.float32), np.array(STD, np.float32)
        scaled = np.float32(255)
        return lambda: np.ascontiguousarray(((source / scaled - mean) / std).transpose(op["axes"]))
    if op["fresh"]:
        return lambda: source.astype(dtype_of(op["to"]), copy=True)
    if op["kind"] == "permute":
        source = source.transpose(op["axes"])
    target = np.zeros(source.shape, dtype_of(op["to"]))
    return lambda: np.copyto(target, source, casting="unsafe")


def torchvision_action(op):
    if torchvision is None:
        return None
    source = torch.from_numpy(values_of(op).astype(np.uint8)).permute(op["axes"])

    def normalise():
        # Made contiguous first, as bytes, which is the fastest order.
        floats = functional.to_dtype(source.contiguous(), torch.float32, scale=True)
        return functional.normalize(floats, MEAN, STD, inplace=True)

    return normalise


def torch_action(op):
    if op["kind"] == "images":
        return torchvision_action(op)
    if torch is None or not {op["from"], op["to"]} <= {"float32", "bfloat16", "float16", "float8_e4m3fn"}:
        return None
    to = getattr(torch, op["to"])
    source = torch.from_numpy(values_of(op)).to(getattr(torch, op["from"]))
    if op["fresh"]:
        return lambda: source.to(to, copy=True)
    if op["kind"] == "permute":
        source = source.permute(op["axes"])
    target = torch.zeros(source.shape, dtype=torch.float32).to(to)
    return lambda: target.copy_(source)


def action_of(peer, op, threads):
    if peer in ("memcpy", "memset"):
        return (memcpy if peer == "memcpy" else memset)(op, threads)
    return numpy_action(op) if peer == "numpy" else torch_action(op)


def main():
    threads = int(sys.argv[1])
    if torch is not None:
        torch.set_num_threads(threads)
    versions = {"python": sys.version.split()[0], "numpy": np.__version__, "ml_dtypes": ml_dtypes.__version__}
    versions["torch"] = "absent" if torch is None else torch.__version__
    versions["torchvision"] = "absent" if torchvision is None else torchvision.__version__
    print(json.dumps(versions), flush=True)
    known = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = (request["peer"], json.dumps(request["op"]))
        # One operation at a time keeps its arrays: all together would not fit everywhere.
        if key not in known:
            if not any(k[1] == key[1] for k in known):
                known = {}
                KEPT.clear()
            known[key] = action_of(request["peer"], request["op"], threads)
        action, seconds = known[key], []
        for _ in range(request["repetitions"] if action is not None else 0):
            start = time.perf_counter()
            for _ in range(request["op"]["times"]):
                action()
            seconds.append((time.perf_counter() - start) / request["op"]["times"])
        print(json.dumps(seconds if action is not None else None), flush=True)


main()
