/** The stops of the demo, in the order of the table. Each writes or reads an element of its own. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { devices, loadDriver } from '../../cuda/index.js';
import { ForeignError, isDLPackError } from '../../errors.js';
import { openNpy, writeNpy } from '../../files/node/index.js';
import { addressOf } from '../../native/index.js';
import { loadRuntime, loadSession } from '../../onnxruntime/index.js';
import { type PyObject, type Python, python } from '../../python/index.js';
import { describeTensor, openTensor } from '../../shared/index.js';
import { Tensor } from '../../tensor.js';
import { divide, installCommand } from '../remedies.js';
import { NotHere, type Stop, timed } from './stop.js';

/** Runs `load`. If that fails because something is missing, says so with the first command that would help. */
function orNotHere<T>(load: () => T, otherwise: string): T {
  try {
    return load();
  } catch (error) {
    if (!isDLPackError(error, 'LoadError')) throw error;
    const [line = ''] = error.message.split('\n');
    throw new NotHere(line, divide(error.suggestions).remedies[0] ?? otherwise);
  }
}

const makeEnvironment =
  process.platform === 'win32'
    ? 'python -m venv .venv && .venv\\Scripts\\python -m pip install numpy torch'
    : 'python3 -m venv .venv && .venv/bin/python -m pip install numpy torch';

const startPython = (): Python => orNotHere(() => python(), makeEnvironment);

/** NumPy or PyTorch: `element` is theirs, and `address` how the library names its memory. */
function pythonLibrary(name: string, module: string, element: number, address: (array: PyObject) => unknown): Stop {
  return {
    name,
    call: `${module === 'numpy' ? 'np' : module}.from_dlpack(x)`,
    run(x) {
      const py = startPython();
      if (py.import('importlib.util').find_spec(module) === null) {
        throw new NotHere(`${name} is not installed`, installCommand(py, module));
      }
      const library = py.import(module);
      const array = library.from_dlpack(x);
      py.setItem(array, element, element);
      const arrived = x.get(element) === element;
      return {
        address: BigInt(address(array) as number),
        arrived,
        micros: timed(() => library.from_dlpack(x) as Disposable),
      };
    },
  };
}

/** A model with y = max(x, 0) for three elements. */
const relu = 'CAo6NwoMCgF4EgF5IgRSZWx1EgVncmFwaFoPCgF4EgoKCAgBEgQKAggDYg8KAXkSCgoICAESBAoCCANCBAoAEA0=';

const onnxruntime: Stop = {
  name: 'ONNX Runtime',
  call: 'session.run(inputs, { outputs: { y: x } })',
  async run(x) {
    orNotHere(() => loadRuntime(), 'npm install onnxruntime-node');
    using session = await loadSession(Buffer.from(relu, 'base64'));
    using input = x.slice([8, 11]);
    using output = x.slice([0, 3]);
    for (const i of [0, 1, 2]) input.set(i, i + 8);
    await session.run({ x: input }, { outputs: { y: output } });
    return { address: addressOf(output), arrived: x.get(0) === 8 && x.get(2) === 10 };
  },
};

const file: Stop = {
  name: 'a file, mapped',
  call: "await openNpy('x.npy')",
  async run(x) {
    const folder = mkdtempSync(join(tmpdir(), 'dlpack-demo-'));
    try {
      const path = join(folder, 'x.npy');
      await writeNpy(path, x);
      const start = performance.now();
      using mapped = await openNpy(path);
      const micros = (performance.now() - start) * 1000;
      const arrived = mapped.get(0) === x.get(0) && mapped.size === x.size;
      return { address: addressOf(mapped), arrived, micros, note: 'the pages of the file itself' };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** `dlpack demo --child` is the second process: it opens the tensor, writes its element, and prints its address. */
export function runChild(description: string): void {
  using x = openTensor(JSON.parse(description), { dtype: 'float32' });
  x.set(20, 20);
  process.stdout.write(`${addressOf(x)}\n`);
}

const secondProcess: Stop = {
  name: 'a second process',
  call: 'openTensor(describeTensor(x))',
  run(x) {
    const runtimeArgs = 'deno' in process.versions ? ['run', '-A'] : process.execArgv;
    const description = JSON.stringify(describeTensor(x, { copy: false }));
    const args = [...runtimeArgs, process.argv[1] as string, 'demo', '--child', description];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    if (status !== 0) throw new ForeignError('the second process', `It ended with ${status}: ${stderr}`);
    return { address: BigInt(stdout.trim()), arrived: x.get(20) === 20, note: 'the same pages, under its own address' };
  },
};

const gpu: Stop = {
  name: 'a GPU',
  call: "x.to('cuda:0')",
  run(x) {
    orNotHere(() => loadDriver(), 'nvidia-smi');
    if (devices().length === 0) throw new NotHere('the driver of CUDA finds no GPU', 'nvidia-smi');
    using there = x.to('cuda:0');
    using back = there.to('cpu');
    return { address: addressOf(there), arrived: back.equals(x), note: 'one copy, into the memory of the GPU' };
  },
};

export const stops: readonly Stop[] = [
  pythonLibrary('NumPy', 'numpy', 12, (array) => array.ctypes.data),
  pythonLibrary('PyTorch', 'torch', 13, (array) => array.data_ptr()),
  onnxruntime,
  secondProcess,
  file,
  gpu,
];

/** The tensor of the demo: 4 MiB that other processes can open. */
export const makeTensor = (): Tensor<'float32'> => Tensor.zeros([2 ** 20], 'float32', { shareable: true });
