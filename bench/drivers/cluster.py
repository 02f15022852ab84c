"""The operations of cluster.ts in Python itself, on the cluster whose address is the first argument."""
import json, math, sys, time
import numpy, ray

MIB = 2**20
results = {}


def measure(name, samples, action):
    times = []
    for i in range(-math.ceil(samples / 5), samples):
        start = time.perf_counter()
        value = action()
        if i >= 0:
            times.append((time.perf_counter() - start) * 1e3)
        del value
    results[name] = times


@ray.remote
def nothing():
    return None


@ray.remote
def make():
    return numpy.ones(64 * MIB, 'float32')


@ray.remote
def first(x):
    return float(x[0])


@ray.remote(num_cpus=0)
class Actor:
    def nothing(self):
        return None


ray.init(address=sys.argv[1], logging_level='error', log_to_driver=False)
large = numpy.ones(64 * MIB, 'float32')
measure('put 256 MiB', 6, lambda: ray.put(large))
# Another process makes the object. A process holds an object that it put until the store answers, and get does not ask the
# store meanwhile.
ref = make.remote()
ray.get(ref)
measure('get 256 MiB', 100, lambda: ray.get(ref))  # noqa: F821 deleted only afterwards
del ref
ray.get(nothing.remote())
measure('task', 200, lambda: ray.get(nothing.remote()))
actor = Actor.remote()
ray.get(actor.nothing.remote())
measure('actor', 400, lambda: ray.get(actor.nothing.remote()))
ray.kill(actor)
part = numpy.full(MIB // 4, 2, 'float32')
for round in range(3):
    start = time.perf_counter()
    values = ray.get([first.remote(part) for i in range(1000)])
    seconds = time.perf_counter() - start
    assert all(value == 2 for value in values)
    if round > 0:
        results.setdefault('1000 tasks of 1 MiB, seconds', []).append(seconds)
ray.shutdown()
print(json.dumps(results))
