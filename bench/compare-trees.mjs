/**
 * Compares the speed of two built trees of this package.
 *
 *   node bench/compare-trees.mjs OLD NEW [--rounds 8] [--python PATH] [--only TEXT]
 *
 * Each folder needs `dist` and `prebuilds`. The trees take turns, each turn in a new process. Rows with foreign tensors
 * or deleters in C need `build/native/peer.node` of either tree. TVM-FFI calls need apache-tvm-ffi, and Python rows need
 * NumPy and PyTorch, in the virtual environment of the executable PATH (by default `.venv` of either tree or of the
 * current folder). CUDA rows need a GPU and CuPy there, too. Rows whose counterpart is missing are left out.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** One row: the operation as code, over the names of its group. */
const exchange = {
  'exportManaged, importManaged, dispose': 'importManaged(exportManaged(x)).dispose()',
  'exportManaged, releaseManaged': 'releaseManaged(exportManaged(x))',
  'fromDLPack(tensor), dispose': 'fromDLPack(x).dispose()',
  'Tensor.empty, dispose': "Tensor.empty([2, 3], 'float32').dispose()",
  'Tensor.empty, data, dispose': "const made = Tensor.empty([2, 3], 'float32'); made.data; made.dispose()",
  'Tensor.from(nested array), dispose': "Tensor.from([[1, 2, 3], [4, 5, 6]], { dtype: 'float32' }).dispose()",
  '1,000 layouts in turns: exportManaged, importManaged, dispose':
    'importManaged(exportManaged(layouts[i % 1000])).dispose()',
  // As a model that generates text: each tensor is one longer than the one before, and no layout comes back.
  'token by token: broadcastTo, exportManaged, importManaged, dispose': `
    const longer = element.broadcastTo([++tokens.count, 1]);
    importManaged(exportManaged(longer)).dispose();`,
};
const calls = {
  'nop()': 'nop()',
  'nop(3 tensors)': 'nop(x, x, x)',
  'nop(3 wrapped)': 'nop(wrapped, wrapped, wrapped)',
  'nop(3 views)': 'nop(view, view, view)',
  'nop(array of 3)': 'nop([x, x, x])',
  'echo(int)': 'echo(i)',
  'echo(float)': 'echo(0.5)',
  'echo(string 5)': "echo('hello')",
  'echo(string 25)': "echo('a string of 24 characters')",
  'echo(tensor)': 'echo(x).dispose()',
  'echo(array of 3 ints)': 'echo([1, 2, 3])',
  'echo(map of 3)': 'echo(map)',
  'callback(int)': 'apply(identity, i)',
  'nop(Tensor.wrap), disposed': 'const w = Tensor.wrap(array); nop(w); w.dispose()',
  'nop(object of the JavaScript protocol)': 'nop(producer)',
};
const python = {
  'fromDLPack(torch tensor), dispose': 'fromDLPack(t).dispose()',
  'fromDLPack(NumPy array), dispose': 'fromDLPack(a).dispose()',
  'py.tensor(x, torch.Tensor), released': 'py.tensor(x, TorchTensor)[release]()',
  'py.tensor(x, np.ndarray), released': 'py.tensor(x, ndarray)[release]()',
  'torch.from_dlpack(x), released': 'fromTorch(x)[release]()',
  'np.from_dlpack(x), released': 'fromNumpy(x)[release]()',
  'py.callTensor(torch.add, t, t), dispose': 'py.callTensor(torchAdd, t, t).dispose()',
  'py.callTensor(np.add, a, a), dispose': 'py.callTensor(npAdd, a, a).dispose()',
  'second(t, t) of Python code, released': 'second(t, t)[release]()',
  'py.callTensor(second, x, x), dispose': 'py.callTensor(second, x, x).dispose()',
};

const cuda = {
  'fromDLPack(PyTorch tensor), dispose': 'fromDLPack(torchThere).dispose()',
  'fromDLPack(CuPy array), dispose': 'fromDLPack(cupyThere).dispose()',
  'asCudaArray(CuPy array), dispose': 'asCudaArray(cupyThere).dispose()',
  'py.tensor(x, torch.Tensor), released': 'py.tensor(there, TorchTensor)[release]()',
  'torch.from_dlpack(x), released': 'fromTorch(there)[release]()',
  'py.tensor(x, cupy.ndarray), released': 'py.tensor(there, CupyArray)[release]()',
  'cupy.from_dlpack(x), released': 'fromCupy(there)[release]()',
  'Tensor.empty, dispose': "Tensor.empty([16], 'float32', { device: 'cuda:0' }).dispose()",
  'copyFrom of 16 elements': 'there.copyFrom(other); synchronize()',
};
const copies = {
  'pinned memory to the device, 256 MiB': 'block.copyFrom(pinned)',
  'the device to pinned memory, 256 MiB': 'pinned.copyFrom(block)',
  'a block of 256 MiB': 'block.copyFrom(block2); synchronize()',
  '8192 x 8192 float32 transposed': 'square.copyFrom(turned); synchronize()',
  '16384 x 16384 uint8 transposed': 'bytes.copyFrom(turnedBytes); synchronize()',
  '256 x 1024 x 256 float32, axes 2, 0, 1': 'rotated.copyFrom(cube); synchronize()',
};

/** The least nanoseconds for one operation, over many short samples. */
function measure(operation, n = 2000) {
  const run = () => {
    const start = process.hrtime.bigint();
    operation(n);
    return Number(process.hrtime.bigint() - start) / n;
  };
  for (let i = 0; i < 100; i++) run();
  let least = run();
  for (let i = 0; i < 200; i++) least = Math.min(least, run());
  return least;
}

/** As `measure`, for imports of tensors that `make` makes while the clock stands. */
function measureImports(make, importManaged) {
  const addresses = new Array(100).fill(0n);
  const run = () => {
    for (let i = 0; i < addresses.length; i++) addresses[i] = make();
    const start = process.hrtime.bigint();
    for (let i = 0; i < addresses.length; i++) importManaged(addresses[i]).dispose();
    return Number(process.hrtime.bigint() - start) / addresses.length;
  };
  for (let i = 0; i < 1000; i++) run();
  let least = run();
  for (let i = 0; i < 2000; i++) least = Math.min(least, run());
  return least;
}

/** Measures the rows of one tree, in this process. */
class Turn {
  constructor(tree, only) {
    this.tree = tree;
    this.only = only;
    this.names = {};
    this.result = {};
  }

  load(path) {
    return import(pathToFileURL(join(this.tree, 'dist', path)).href);
  }

  row(group, name, run) {
    if (name.includes(this.only) || group.includes(this.only)) this.result[`${group}|${name}`] = run();
  }

  wants(group, table) {
    return [group, ...Object.keys(table)].some((name) => name.includes(this.only));
  }

  /** Each row gets its own loop, so that what V8 learns in one row does not slow down another. */
  rows(group, table, n) {
    for (const [name, code] of Object.entries(table)) {
      const make = new Function(
        ...Object.keys(this.names),
        `return (n) => { for (let i = 0; i < n; i++) { ${code} } }`,
      );
      this.row(group, name, () => measure(make(...Object.values(this.names)), n));
    }
  }

  async exchange(peerFile) {
    const { Tensor, fromDLPack } = await this.load('index.node.js');
    const { exportManaged, importManaged, releaseManaged } = await this.load('native/index.js');
    const x = Tensor.from(new Float32Array(6), { shape: [2, 3] });
    const four = Tensor.from(new Float32Array(24), { shape: [1, 2, 3, 4] });
    Object.assign(this.names, { Tensor, fromDLPack, exportManaged, importManaged, releaseManaged, x });
    const layouts = Array.from({ length: 1000 }, (_, k) => Tensor.empty([2, k + 1], 'float32'));
    Object.assign(this.names, { layouts, element: Tensor.zeros([1, 1], 'float32'), tokens: { count: 0 } });
    if (peerFile !== '') {
      const peer = createRequire(import.meta.url)(peerFile);
      const batch = new BigUint64Array(64);
      for (const [name, tensor] of Object.entries({ exportManaged: x, 'exportManaged 4 axes': four })) {
        const exportAll = (n) => {
          for (let i = 0; i < n; i += batch.length) {
            for (let k = 0; k < batch.length; k++) batch[k] = exportManaged(tensor);
            peer.deleteAll(batch);
          }
        };
        this.row('Exchange', `${name}, deleter called from C`, () => measure(exportAll, 64 * 32));
      }
      this.row('Exchange', 'importManaged (foreign), dispose', () => measureImports(peer.makeLean, importManaged));
    }
    const own = { 'our own': () => exportManaged(x), 'our own 4 axes': () => exportManaged(four) };
    for (const [name, make] of Object.entries(own)) {
      this.row('Exchange', `importManaged (${name}), dispose`, () => measureImports(make, importManaged));
    }
    this.rows('Exchange', exchange);
  }

  async calls(environment) {
    const testing = filesIn(environment, 'tvm_ffi/lib/libtvm_ffi_testing.so')[0];
    if (testing === undefined) return;
    process.env.VIRTUAL_ENV = environment;
    const { Tensor, x } = this.names;
    const { loadModule, getGlobalFunc, toFunction } = await this.load('tvm-ffi/index.js');
    loadModule(testing);
    const [nop, echo, apply] = ['testing.nop', 'testing.echo', 'testing.apply'].map((name) => getGlobalFunc(name));
    const array = new Float32Array(6);
    const producer = {
      [Symbol.for('dlpack')]: () => ({
        version: [1, 3],
        flags: 0,
        data: array.buffer,
        byteOffset: 0,
        shape: [6],
        strides: [1],
        dtype: { code: 2, bits: 32, lanes: 1 },
        device: { type: 1, id: 0 },
      }),
      [Symbol.for('dlpack.device')]: () => ({ type: 1, id: 0 }),
    };
    const identity = toFunction((value) => value);
    const map = new Map([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ]);
    const wrapped = Tensor.wrap(array, { shape: [2, 3] });
    Object.assign(this.names, { nop, echo, apply, array, producer, identity, map, wrapped, view: x.view() });
    this.rows('Calls through TVM-FFI', calls);
  }

  async python(environment) {
    if (filesIn(environment, 'numpy').length === 0 || filesIn(environment, 'torch').length === 0) return;
    const { python: start } = await this.load('python/index.js');
    const py = start({ venv: environment });
    py.exec(`
import numpy as np
import torch
array = np.arange(6, dtype=np.float32).reshape(2, 3)
tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
def second(a, b):
    return b
`);
    const { tensor: t, array: a, second } = py.import('__main__');
    const { from_dlpack: fromNumpy, add: npAdd, ndarray } = py.import('numpy');
    const { from_dlpack: fromTorch, add: torchAdd, Tensor: TorchTensor } = py.import('torch');
    const release = Symbol.dispose;
    const taken = { t, a, second, fromNumpy, npAdd, ndarray, fromTorch, torchAdd, TorchTensor };
    Object.assign(this.names, { py, release, ...taken });
    this.rows('Python', python, 500);
  }

  async cuda(environment) {
    if (!existsSync('/dev/nvidiactl') || filesIn(environment, 'cupy').length === 0) return;
    const { asCudaArray, synchronize } = await this.load('cuda/index.js');
    const { Tensor, py } = this.names;
    py.exec(`
import cupy
torch_there = torch.zeros(16, device='cuda')
cupy_there = cupy.zeros(16, dtype=cupy.float32)
`);
    const { torch_there: torchThere, cupy_there: cupyThere } = py.import('__main__');
    const { from_dlpack: fromCupy, ndarray: CupyArray } = py.import('cupy');
    const make = (...shape) => Tensor.empty(shape, 'float32', { device: 'cuda:0' });
    const bytes = Tensor.empty([16384, 16384], 'uint8', { device: 'cuda:0' });
    const taken = { asCudaArray, synchronize, torchThere, cupyThere, fromCupy, CupyArray };
    const small = { there: Tensor.zeros([16], 'float32', { device: 'cuda:0' }), other: make(16) };
    const large = {
      pinned: Tensor.zeros([2 ** 26], 'float32', { device: 'cuda_host' }),
      block: make(2 ** 26),
      block2: make(2 ** 26),
      square: make(8192, 8192),
      turned: make(8192, 8192).transpose(),
      bytes,
      turnedBytes: Tensor.empty([16384, 16384], 'uint8', { device: 'cuda:0' }).transpose(),
      rotated: make(256, 256, 1024),
      cube: make(256, 1024, 256).transpose([2, 0, 1]),
    };
    Object.assign(this.names, taken, small, large);
    this.rows('CUDA', cuda, 200);
    this.rows('CUDA', copies, 1);
  }
}

/** The files with this path in the site-packages of a virtual environment. */
function filesIn(environment, path) {
  const library = join(environment, 'lib');
  if (environment === '' || !existsSync(library)) return [];
  return readdirSync(library)
    .map((name) => join(library, name, 'site-packages', path))
    .filter(existsSync);
}

async function runTurn([tree, peerFile, environment, only]) {
  const turn = new Turn(tree, only);
  await turn.exchange(peerFile);
  if (turn.wants('Calls through TVM-FFI', calls)) await turn.calls(environment);
  if (turn.wants('Python', python) || turn.wants('CUDA', cuda)) await turn.python(environment);
  if (turn.wants('CUDA', { ...cuda, ...copies })) await turn.cuda(environment);
  process.stdout.write(`\n${JSON.stringify(turn.result)}\n`);
}

function compare(args) {
  const option = (name, fallback) => {
    const at = args.indexOf(name);
    return at < 0 ? fallback : args.splice(at, 2)[1];
  };
  const rounds = Number(option('--rounds', '8'));
  const executable = option('--python', '');
  const only = option('--only', '');
  const trees = args.map((folder) => resolve(folder));
  if (trees.length !== 2) throw new Error('Usage: node bench/compare-trees.mjs OLD NEW [--rounds 8] [--python PATH]');
  const peerFile = trees.map((tree) => join(tree, 'build/native/peer.node')).findLast(existsSync) ?? '';
  const environments = [...trees, process.cwd()].map((folder) => join(folder, '.venv'));
  const environment = executable === '' ? (environments.find(existsSync) ?? '') : dirname(dirname(resolve(executable)));

  const times = new Map();
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const turn = [fileURLToPath(import.meta.url), '--turn', trees[side], peerFile, environment, only];
      const output = execFileSync(process.execPath, turn, { encoding: 'utf8' });
      for (const [name, time] of Object.entries(JSON.parse(output.trimEnd().split('\n').at(-1)))) {
        if (!times.has(name)) times.set(name, [[], []]);
        times.get(name)[side].push(time);
      }
    }
  }
  print(times, rounds);
}

const least = (values) => Math.min(...values);
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

function print(times, rounds) {
  console.log(
    `${cpus()[0]?.model.trim()}, ${cpus().length} cores; Node ${process.versions.node}; ${rounds} turns of each tree.`,
  );
  console.log('Nanoseconds for one operation: the least of all turns (and the median of the least of each turn).');
  let shown = '';
  for (const [key, [before, after]] of times) {
    const [group, name] = key.split('|');
    if (group !== shown) {
      console.log(`\n## ${group}\n\n| operation | before | after | least | median |\n|---|---|---|---|---|`);
    }
    shown = group;
    if (before.length === 0 || after.length === 0) continue;
    const cell = (values) => `${least(values).toFixed(1)} (${median(values).toFixed(1)})`;
    const ratio = (of) => (of(after) / of(before)).toFixed(2);
    console.log(`| ${name} | ${cell(before)} | ${cell(after)} | ${ratio(least)} | ${ratio(median)} |`);
  }
}

const args = process.argv.slice(2);
if (args[0] === '--turn') await runTurn(args.slice(1));
else compare(args);
