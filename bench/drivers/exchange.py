"""What NumPy takes for an exchange with itself: nanoseconds for each sample, as JSON."""
import json
import platform
import time

import numpy as np

array = np.arange(6, dtype=np.float32).reshape(2, 3)


def samples(batch, n=50_000, count=5):
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        batch(n)
        times.append((time.perf_counter_ns() - start) / n)
    return times


def from_dlpack(n):
    take = np.from_dlpack
    for _ in range(n):
        take(array)


def export(n):
    give = array.__dlpack__
    for _ in range(n):
        give(max_version=(1, 0))


from_dlpack(20_000)
print(
    json.dumps(
        {
            "times": {
                "np.from_dlpack(array)": samples(from_dlpack),
                "array.__dlpack__(max_version=(1, 0)), capsule dropped": samples(export),
            },
            "versions": {"Python": platform.python_version(), "NumPy": np.__version__},
        }
    )
)
