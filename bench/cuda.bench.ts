/**
 * dlpack/cuda against PyTorch and CuPy, in one process on one GPU: `npm run bench -- cuda` on a machine with a GPU, or
 * sh .gpu/run.sh after `npm run gpu -- pack` and then ./node --expose-gc build/bench/cuda.bench.js there.
 */

import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fromDLPack, Tensor } from 'dlpack';
import { asCudaArray, CudaEvent, devices, synchronize } from 'dlpack/cuda';
import { type PyObject, python } from 'dlpack/python';
import { describeMachine } from './machine.js';
import { sample, summarise, type Timing } from './measure.js';

const ROUNDS = 9;

const [gpu] = devices();
if (gpu === undefined) {
  console.log('left out: no CUDA device here; see docs/design/gpu-tests.md');
  process.exit(0);
}

const py = python({ executable: process.env.DLPACK_PYTHON ?? 'python3' });
py.exec(`
import time, torch, cupy as cp, numpy as np, platform

def timed(action, n):
    start = time.perf_counter_ns()
    for _ in range(n): action()
    return (time.perf_counter_ns() - start) / n

torch_tensor = torch.zeros(16, device='cuda')
cupy_array = cp.zeros(16, dtype=cp.float32)
torch_from_torch = lambda: torch.from_dlpack(torch_tensor)
torch_from_cupy = lambda: torch.from_dlpack(cupy_array)
cupy_from_torch = lambda: cp.from_dlpack(torch_tensor)
cupy_from_cupy = lambda: cp.from_dlpack(cupy_array)
torch_as_tensor = lambda: torch.as_tensor(cupy_array)
torch_empty = lambda: torch.empty(16, device='cuda')

def copy_bandwidth(bytes, kind, rounds=10):
    "What cudaMemcpyAsync reaches, GB/s: 1 to the device, 2 to the host, 3 on the device (read and written)."
    here = cp.cuda.alloc_pinned_memory(bytes) if kind != 3 else cp.cuda.alloc(bytes)
    there = cp.cuda.alloc(bytes)
    source, target = (here.ptr, there.ptr) if kind != 2 else (there.ptr, here.ptr)
    best = 0
    for _ in range(rounds):
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        cp.cuda.runtime.memcpyAsync(target, source, bytes, kind, 0)
        end.record()
        end.synchronize()
        best = max(best, bytes / cp.cuda.get_elapsed_time(start, end) / 1e6)
    return best * (2 if kind == 3 else 1)

mean, std = (torch.tensor(each, device='cuda').view(3, 1, 1) for each in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))

def normalised(batch, n):
    "Nanoseconds for images as a model takes them, with the operations of torchvision's ToTensor and Normalize."
    images = torch.full((batch, 224, 224, 3), 124, dtype=torch.uint8, device='cuda')
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(n): images.permute(0, 3, 1, 2).contiguous().to(torch.float32).div(255).sub_(mean).div_(std)
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - start) / n
`);
const main = py.import('__main__');

interface Row {
  readonly what: string;
  readonly ours: Timing;
  readonly peers: Record<string, Timing>;
  readonly goal: string;
}

/** Runs ours and Python's in turns, so that both see the same machine. */
function compare(what: string, ours: () => void, peers: Record<string, string>, goal: string): Row {
  const times: number[] = [];
  const theirs = new Map<string, number[]>(Object.keys(peers).map((name) => [name, []]));
  const batch = (n: number) => {
    for (let i = 0; i < n; i++) ours();
  };
  batch(2000);
  for (let round = 0; round < ROUNDS; round++) {
    times.push(...sample(batch, 2000, 3));
    for (const [name, action] of Object.entries(peers)) {
      theirs.get(name)?.push(main.timed((main as Record<string, PyObject>)[action], 500));
    }
  }
  synchronize();
  return {
    what,
    ours: summarise(times),
    peers: Object.fromEntries([...theirs].map(([name, list]) => [name, summarise(list)])),
    goal,
  };
}

const torchTensor = main.torch_tensor;
const cupyArray = main.cupy_array;
const torchClass = main.torch.Tensor;
const cupyClass = main.cp.ndarray;
const { torch, cp: cupy } = main;
const x = Tensor.zeros([16], 'float32', { device: 'cuda:0' });

const rows: Row[] = [
  compare(
    'a PyTorch tensor into JavaScript, and dispose',
    () => fromDLPack(torchTensor).dispose(),
    { 'cupy.from_dlpack(torch)': 'cupy_from_torch', 'torch.from_dlpack(torch)': 'torch_from_torch' },
    'at most 0.1',
  ),
  compare(
    'a CuPy array into JavaScript by the CUDA Array Interface, and dispose',
    () => asCudaArray(cupyArray).dispose(),
    { 'torch.as_tensor(cupy)': 'torch_as_tensor' },
    'at most 0.25',
  ),
  compare(
    'a CuPy array into JavaScript by DLPack, and dispose',
    () => fromDLPack(cupyArray).dispose(),
    { 'torch.from_dlpack(cupy)': 'torch_from_cupy', 'cupy.from_dlpack(cupy)': 'cupy_from_cupy' },
    '',
  ),
  compare(
    'a JavaScript tensor into PyTorch: py.tensor(x, torch.Tensor), and dispose',
    () => py.tensor(x, torchClass)[Symbol.dispose](),
    { 'torch.from_dlpack(torch)': 'torch_from_torch', 'torch.from_dlpack(cupy)': 'torch_from_cupy' },
    'at most 0.5',
  ),
  compare(
    'a JavaScript tensor into PyTorch: torch.from_dlpack(x), and dispose',
    () => torch.from_dlpack(x)[Symbol.dispose](),
    { 'torch.from_dlpack(torch)': 'torch_from_torch' },
    'at most 0.5',
  ),
  compare(
    'a JavaScript tensor into CuPy: py.tensor(x, cupy.ndarray), and dispose',
    () => py.tensor(x, cupyClass)[Symbol.dispose](),
    { 'cupy.from_dlpack(torch)': 'cupy_from_torch', 'cupy.from_dlpack(cupy)': 'cupy_from_cupy' },
    'at most 0.5',
  ),
  compare(
    'a JavaScript tensor into CuPy: cupy.from_dlpack(x), and dispose',
    () => cupy.from_dlpack(x)[Symbol.dispose](),
    { 'cupy.from_dlpack(torch)': 'cupy_from_torch', 'cupy.from_dlpack(cupy)': 'cupy_from_cupy' },
    'at most 0.5',
  ),
  compare(
    'Tensor.empty of 16 floats on the device, and dispose',
    () => Tensor.empty([16], 'float32', { device: 'cuda:0' }).dispose(),
    { 'torch.empty': 'torch_empty' },
    'at most 1',
  ),
];

/** Bandwidth of an action on the device, read and written, in GB/s; the best of several runs. */
function bandwidth(bytes: number, action: () => void): number {
  let best = 0;
  for (let round = 0; round < 10; round++) {
    const start = new CudaEvent({ timing: true }).record();
    action();
    const end = new CudaEvent({ timing: true }).record();
    end.synchronize();
    best = Math.max(best, bytes / end.elapsed(start) / 1e6);
    start.dispose();
    end.dispose();
  }
  return best;
}

interface Band {
  readonly what: string;
  readonly ours: number;
  readonly peer: number;
  readonly goal: string;
}

const GIB = 2 ** 30;
const onDevice = { device: 'cuda:0' } as const;
const bands: Band[] = [];
{
  const pinned = Tensor.empty([GIB], 'uint8', { device: 'cuda_host' });
  const there = Tensor.empty([GIB], 'uint8', onDevice);
  pinned.data.fill(1);
  // The time of the whole call: queued, finished, returned.
  const wall = (action: () => void): number => {
    action();
    return GIB / Math.min(...sample(action, 1, 10));
  };
  bands.push({
    what: 'pinned memory to the device, 1 GiB',
    ours: wall(() => there.copyFrom(pinned)),
    peer: main.copy_bandwidth(GIB, 1),
    goal: 'at least 0.95',
  });
  bands.push({
    what: 'the device to pinned memory, 1 GiB',
    ours: wall(() => pinned.copyFrom(there)),
    peer: main.copy_bandwidth(GIB, 2),
    goal: 'at least 0.95',
  });
  pinned.dispose();
  there.dispose();
}
const onCard = main.copy_bandwidth(GIB, 3) as number;
function band(
  what: string,
  make: () => { bytes: number; action: () => void; all: Tensor[] },
  goal = 'at least 0.8',
): void {
  const { bytes, action, all } = make();
  bands.push({ what, ours: bandwidth(2 * bytes, action), peer: onCard, goal });
  for (const tensor of all) tensor.dispose();
}
band(
  'on the device, a block of 1 GiB',
  () => {
    const [a, b] = [Tensor.empty([GIB], 'uint8', onDevice), Tensor.empty([GIB], 'uint8', onDevice)];
    return { bytes: GIB, action: () => b.copyFrom(a), all: [a, b] };
  },
  '',
);
for (const [dtype, n] of [
  ['uint8', 32768],
  ['float16', 16384],
  ['float32', 16384],
  ['float64', 8192],
  ['complex128', 8192],
] as const) {
  band(`on the device, ${n} x ${n} ${dtype} transposed`, () => {
    const [a, b] = [Tensor.empty([n, n], dtype, onDevice), Tensor.empty([n, n], dtype, onDevice)];
    const turned = a.transpose();
    return { bytes: a.nbytes, action: () => b.copyFrom(turned), all: [a, b, turned] };
  });
}
for (const axes of [
  [1, 0, 2],
  [0, 2, 1],
  [2, 0, 1],
  [2, 1, 0],
]) {
  band(`on the device, 512 x 1024 x 512 float32, axes ${axes.join(', ')}`, () => {
    const a = Tensor.empty([512, 1024, 512], 'float32', onDevice);
    const turned = a.transpose(axes);
    const b = Tensor.empty([...turned.shape], 'float32', onDevice);
    return { bytes: a.nbytes, action: () => b.copyFrom(turned), all: [a, b, turned] };
  });
}
band('on the device, 16384 rows of 16384 float32 out of rows of 16400', () => {
  const a = Tensor.empty([16384, 16400], 'float32', onDevice);
  const part = a.slice(null, [0, 16384]);
  const b = Tensor.empty([16384, 16384], 'float32', onDevice);
  return { bytes: b.nbytes, action: () => b.copyFrom(part), all: [a, b, part] };
});

for (const [from, to] of [
  ['float32', 'float16'],
  ['float32', 'bfloat16'],
  ['float32', 'float8_e4m3fn'],
  ['float32', 'float8_e5m2'],
  ['float16', 'float32'],
  ['float16', 'bfloat16'],
  ['float16', 'float8_e4m3fn'],
  ['float16', 'float8_e5m2'],
  ['bfloat16', 'float32'],
  ['bfloat16', 'float16'],
  ['bfloat16', 'float8_e4m3fn'],
  ['float8_e4m3fn', 'float32'],
  ['float8_e4m3fn', 'float16'],
  ['float8_e4m3fn', 'bfloat16'],
  ['float8_e5m2', 'float16'],
  ['float8_e4m3fn', 'float8_e5m2'],
] as const) {
  const count = 2 ** 29;
  const a = Tensor.empty([count], from, onDevice);
  // Numbers as weights have them, and not zeros, because lookups of one value are faster.
  const block = Tensor.from(Float32Array.from({ length: 1 << 20 }, () => Math.random() * 4 - 2))
    .astype(from)
    .to('cuda:0');
  a.reshape([count >> 20, 1 << 20]).copyFrom(block.broadcastTo([count >> 20, 1 << 20]));
  const b = Tensor.empty([count], to, onDevice);
  b.copyFrom(a);
  bands.push({
    what: `on the device, ${from} to ${to}, 2^29 elements`,
    ours: bandwidth(a.nbytes + b.nbytes, () => b.copyFrom(a)),
    peer: onCard,
    goal: 'at least 0.8',
  });
  for (const tensor of [a, b, block]) tensor.dispose();
}

/** (x / 255 - mean) / std by channel, which a scale and an offset are. */
const normal = {
  scale: [0.229, 0.224, 0.225].map((std) => 1 / (255 * std)),
  offset: [-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225],
  axis: 1,
};
const images: Row[] = [1, 16].map((batch) => {
  const COUNT = 200;
  const pixels = Tensor.zeros([batch, 224, 224, 3], 'uint8', onDevice);
  const planes = pixels.transpose([0, 3, 1, 2]);
  const own = (n: number): number => {
    const start = process.hrtime.bigint();
    for (let i = 0; i < n; i++) planes.astype('float32', normal).dispose();
    synchronize();
    return Number(process.hrtime.bigint() - start) / n;
  };
  own(COUNT);
  main.normalised(batch, COUNT);
  const times = Array.from({ length: ROUNDS }, () => [own(COUNT), main.normalised(batch, COUNT) as number] as const);
  for (const tensor of [planes, pixels]) tensor.dispose();
  return {
    what: `(x / 255 - mean) / std, channels first, of ${batch} × 224 × 224 × 3 bytes`,
    ours: summarise(times.map(([ours]) => ours)),
    peers: { PyTorch: summarise(times.map(([, theirs]) => theirs)) },
    goal: '',
  };
});

const ns = ({ median, min }: Timing) => `${Math.round(median)} (${Math.round(min)})`;
const versions = [
  gpu.name,
  `Node ${process.versions.node}`,
  `PyTorch ${main.torch.__version__}`,
  `CuPy ${main.cp.__version__}`,
  `Python ${main.platform.python_version()}`,
  describeMachine(),
].join(', ');
const text = [
  '# CUDA',
  '',
  `\`npm run bench -- cuda\`, ${new Date().toISOString().slice(0, 10)}: ${versions}.`,
  '',
  'Nanoseconds for one operation, median (least), in one process and in turns with the peer. Ratios are of medians.',
  '',
  '| operation | here | peer | its time | ratio | goal |',
  '|---|---|---|---|---|---|',
  ...[...rows, ...images].flatMap(({ what, ours, peers, goal }) =>
    Object.entries(peers).map(
      ([name, theirs]) =>
        `| ${what} | ${ns(ours)} | \`${name}\` | ${ns(theirs)} | ${(ours.median / theirs.median).toFixed(2)} | ${goal} |`,
    ),
  ),
  '',
  'Bandwidth in GB/s, best of ten; on the device, bytes read and written. The peer is what `cudaMemcpyAsync` reaches in the same run.',
  '',
  '| copy | here | cudaMemcpyAsync | ratio | goal |',
  '|---|---|---|---|---|',
  ...bands.map(
    ({ what, ours, peer, goal }) =>
      `| ${what} | ${ours.toFixed(1)} | ${peer.toFixed(1)} | ${(ours / peer).toFixed(2)} | ${goal} |`,
  ),
  '',
].join('\n');
console.log(text);
const results = fileURLToPath(new URL('../../bench/results/', import.meta.url));
if (existsSync(results)) writeFileSync(`${results}cuda.md`, text);
