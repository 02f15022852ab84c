"""What Python takes to open files and to take their tensors: nanoseconds for each sample, as JSON."""
import json
import os
import platform
import sys
import time

import numpy as np
import safetensors
import safetensors.numpy
import safetensors.torch
import torch

model, array, folder = sys.argv[1:4]


def samples(action, count):
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        action()
        times.append(time.perf_counter_ns() - start)
    return times


def open_only():
    with safetensors.safe_open(model, "pt"):
        pass


def take(framework):
    with safetensors.safe_open(model, framework) as file:
        return [file.get_tensor(name) for name in file.keys()]


written = {"x": torch.zeros(256 << 20, dtype=torch.uint8)}
target = os.path.join(folder, "python.safetensors")
times = {
    "safe_open": samples(open_only, 30),
    "safe_open, get_tensor of all, torch": samples(lambda: take("pt"), 15),
    "safe_open, get_tensor of all, NumPy": samples(lambda: take("np"), 2),
    "np.load(mmap_mode='r')": samples(lambda: np.load(array, mmap_mode="r"), 30),
    "save_file, 256 MiB": samples(lambda: safetensors.torch.save_file(written, target), 5),
}
if torch.cuda.is_available():
    torch.zeros(1, device="cuda:0")

    def to_device(count):
        times = []
        for _ in range(count):
            start = time.perf_counter_ns()
            loaded = safetensors.torch.load_file(model, device="cuda:0")
            torch.cuda.synchronize()
            times.append(time.perf_counter_ns() - start)
            del loaded
        return times

    times["load_file(device='cuda:0'), 2 GiB"] = to_device(5)
versions = {"Python": platform.python_version(), "NumPy": np.__version__, "PyTorch": torch.__version__,
            "safetensors": safetensors.__version__}
print(json.dumps({"times": times, "versions": versions}))
