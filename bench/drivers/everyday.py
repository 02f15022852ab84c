"""Everyday operations in NumPy: nanoseconds for each sample, as JSON. The names are those of everyday.ts."""
import json
import platform
import sys
import time

import ml_dtypes
import numpy as np
import torch

small = np.arange(6, dtype=np.float32).reshape(2, 3)
million = (np.arange(1_000_000, dtype=np.float32) % 2048).reshape(1000, 1000)
bits = million.astype(ml_dtypes.bfloat16)
image = np.full((224, 224, 3), 124, np.uint8)
mean, std = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
picture = torch.from_numpy(image)
mean_of, std_of = (torch.from_numpy(each).view(3, 1, 1) for each in (mean, std))
large = np.zeros(16 * 2**20, dtype=np.float32)
large[:] = 1
flat = np.arange(6, dtype=np.float32)
turned = small.transpose()
part = np.zeros((2, 6), dtype=np.float32)[:, 0:6:2]
nested_small = [[1, 2, 3], [4, 5, 6]]
nested_million = million.tolist()
values = np.arange(1000, dtype=np.float64)


def iterate(array):
    for _ in array:
        pass


rows = {
    "empty, 6 elements": lambda: np.empty((2, 3), np.float32),
    "zeros, 6 elements": lambda: np.zeros((2, 3), np.float32),
    "from nested arrays, 6 elements": lambda: np.array(nested_small, np.float32),
    "from a typed array, 6 elements": lambda: np.array(flat),
    "copy, 6 elements": lambda: small.copy(),
    "copy of the transpose, 6 elements": lambda: np.ascontiguousarray(turned),
    "astype('float64'), 6 elements": lambda: small.astype(np.float64),
    "astype('float64') of a slice, 6 elements": lambda: part.astype(np.float64),
    "transpose": lambda: small.transpose(),
    "slice": lambda: small[0:1, 1:3],
    "reshape": lambda: small.reshape(3, 2),
    "broadcast": lambda: np.broadcast_to(small, (4, 2, 3)),
    "get": lambda: small.item(1, 2),
    "set": lambda: small.__setitem__((1, 2), 7),
    "to nested arrays, 6 elements": lambda: small.tolist(),
    "iterate over 1000 numbers": lambda: iterate(values),
    "iterate over the .data of 1000 numbers": lambda: iterate(values.data),
    "the memory of an array, again": lambda: small.data,
    "text of 6 elements": lambda: str(small),
    "empty, 1 M elements": lambda: np.empty((1000, 1000), np.float32),
    "zeros, 1 M elements": lambda: np.zeros((1000, 1000), np.float32),
    "from nested arrays, 1 M elements": lambda: np.array(nested_million, np.float32),
    "to nested arrays, 1 M elements": lambda: million.tolist(),
    "copy, 1 M elements": lambda: million.copy(),
    "copy of the transpose, 1 M elements": lambda: np.ascontiguousarray(million.T),
    "astype('float64'), 1 M elements": lambda: million.astype(np.float64),
    "astype('int32'), 1 M elements": lambda: million.astype(np.int32),
    "astype('float16'), 1 M elements": lambda: million.astype(np.float16),
    "bfloat16 to float32, 1 M elements": lambda: bits.astype(np.float32),
    "fill, 1 M elements": lambda: million.fill(1),
    "empty, 64 MiB": lambda: np.empty(large.shape, np.float32),
    "zeros, 64 MiB": lambda: np.zeros(large.shape, np.float32),
    "copy, 64 MiB": lambda: large.copy(),
    "an image: (x / 255 - mean) / std, channels first": lambda: np.ascontiguousarray(
        ((image / np.float32(255) - mean) / std).transpose(2, 0, 1)),
    "astype('float64'), 64 MiB": lambda: large.astype(np.float64),
    "fill, 64 MiB": lambda: large.fill(1),
}

# What ToTensor and Normalize of torchvision do.
torch_rows = {
    "an image: (x / 255 - mean) / std, channels first": lambda: picture.permute(2, 0, 1).contiguous().to(
        torch.float32).div(255).sub_(mean_of).div_(std_of),
}

# As everyday.ts: each row runs for about this time, after a warm-up of the same time.
ROW_MS = 50
SAMPLES = 7
only = sys.argv[1] if len(sys.argv) > 1 else ""


def batch(run, n):
    start = time.perf_counter_ns()
    for _ in range(n):
        run()
    return time.perf_counter_ns() - start


def samples(run):
    spent, count, n = 0, 0, 1
    while spent < ROW_MS * 1e6:
        spent += batch(run, n)
        count += n
        n *= 2
    n = max(1, round(ROW_MS * 1e6 / SAMPLES / (spent / count)))
    return [batch(run, n) / n for _ in range(SAMPLES)]


out, beside = ({name: samples(run) for name, run in each.items() if only in name} for each in (rows, torch_rows))
versions = {"Python": platform.python_version(), "NumPy": np.__version__, "ml_dtypes": ml_dtypes.__version__,
            "PyTorch": torch.__version__}
print(json.dumps({"times": out, "torch": beside, "versions": versions}))
