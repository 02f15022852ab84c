"""Everyday operations in NumPy: nanoseconds for each sample, as JSON. The names are those of everyday.ts."""
import json
import platform
import sys
import time

import numpy as np

small = np.arange(6, dtype=np.float32).reshape(2, 3)
million = np.arange(1_000_000, dtype=np.float32).reshape(1000, 1000)
bits = (million.view(np.uint32) >> 16).astype(np.uint16)
large = np.zeros(16 * 2**20, dtype=np.float32)
large[:] = 1
nested_small = [[1, 2, 3], [4, 5, 6]]
nested_million = million.tolist()
values = np.arange(1000, dtype=np.float64)


def iterate(array):
    for _ in array:
        pass


rows = {
    "empty, 6 elements": (100_000, lambda: np.empty((2, 3), np.float32)),
    "zeros, 6 elements": (100_000, lambda: np.zeros((2, 3), np.float32)),
    "from nested arrays, 6 elements": (50_000, lambda: np.array(nested_small, np.float32)),
    "copy, 6 elements": (100_000, lambda: small.copy()),
    "astype('float64'), 6 elements": (100_000, lambda: small.astype(np.float64)),
    "transpose": (100_000, lambda: small.transpose()),
    "slice": (100_000, lambda: small[0:1, 1:3]),
    "reshape": (100_000, lambda: small.reshape(3, 2)),
    "broadcast": (20_000, lambda: np.broadcast_to(small, (4, 2, 3))),
    "get": (100_000, lambda: small.item(1, 2)),
    "set": (100_000, lambda: small.__setitem__((1, 2), 7)),
    "to nested arrays, 6 elements": (100_000, lambda: small.tolist()),
    "iterate over 1000 numbers": (1000, lambda: iterate(values)),
    "the memory of an array, again": (100_000, lambda: small.data),
    "text of 6 elements": (1000, lambda: str(small)),
    "empty, 1 M elements": (20_000, lambda: np.empty((1000, 1000), np.float32)),
    "zeros, 1 M elements": (2000, lambda: np.zeros((1000, 1000), np.float32)),
    "from nested arrays, 1 M elements": (2, lambda: np.array(nested_million, np.float32)),
    "to nested arrays, 1 M elements": (2, lambda: million.tolist()),
    "copy, 1 M elements": (100, lambda: million.copy()),
    "copy of the transpose, 1 M elements": (20, lambda: np.ascontiguousarray(million.T)),
    "astype('float64'), 1 M elements": (50, lambda: million.astype(np.float64)),
    "astype('int32'), 1 M elements": (50, lambda: million.astype(np.int32)),
    "astype('float16'), 1 M elements": (20, lambda: million.astype(np.float16)),
    "bfloat16 to float32, 1 M elements": (50, lambda: (bits.astype(np.uint32) << 16).view(np.float32)),
    "fill, 1 M elements": (50, lambda: million.fill(1)),
    "empty, 64 MiB": (10_000, lambda: np.empty(large.shape, np.float32)),
    "zeros, 64 MiB": (1000, lambda: np.zeros(large.shape, np.float32)),
    "copy, 64 MiB": (4, lambda: large.copy()),
    "astype('float64'), 64 MiB": (2, lambda: large.astype(np.float64)),
    "fill, 64 MiB": (4, lambda: large.fill(1)),
}

out = {}
for name, (n, run) in rows.items():
    for _ in range(min(n, 1000)):
        run()
    samples = []
    for _ in range(int(sys.argv[1])):
        start = time.perf_counter_ns()
        for _ in range(n):
            run()
        samples.append((time.perf_counter_ns() - start) / n)
    out[name] = samples
print(json.dumps({"times": out, "versions": {"Python": platform.python_version(), "NumPy": np.__version__}}))
