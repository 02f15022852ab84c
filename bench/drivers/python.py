"""The other process of python.bench.ts: runs the batch that each line names, and answers with its nanoseconds per
operation.
"""
import sys
import time

import numpy as np
import torch

array = np.arange(6, dtype=np.float32).reshape(2, 3)
tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)


def second(a, b):
    return b


def one(f, x):
    def batch(n):
        for _ in range(n):
            f(x)

    return batch


def two(f, x):
    def batch(n):
        for _ in range(n):
            f(x, x)

    return batch


batches = {
    "np_from_torch": one(np.from_dlpack, tensor),
    "np_from_np": one(np.from_dlpack, array),
    "torch_from_np": one(torch.from_dlpack, array),
    "torch_add": two(torch.add, tensor),
    "np_add": two(np.add, array),
    "call_second": two(second, tensor),
}
count = int(sys.argv[1])
for batch in batches.values():
    batch(20_000)
for line in sys.stdin:
    batch = batches[line.strip()]
    start = time.thread_time_ns()
    batch(count)
    print((time.thread_time_ns() - start) / count, flush=True)
