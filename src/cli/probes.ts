/** Real exchanges with the libraries on this machine: each probe writes on one side and reads on the other. */

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { adapt } from '../adapters/index.js';
import { devices, loadDriver } from '../cuda/index.js';
import { isDLPackError } from '../errors.js';
import { fromDLPack, Tensor } from '../index.node.js';
import { exportManaged } from '../native/exchange/export.js';
import { importManaged } from '../native/exchange/import.js';
import { findInstalled } from '../native/load/installed.js';
import { loadRuntime, loadSession } from '../onnxruntime/index.js';
import { python } from '../python/index.js';
import { findExecutable, hasEnvironment } from '../python/interpreter/executable.js';
import { getGlobalFunc, loadLibrary, registerGlobalFunc } from '../tvm-ffi/index.js';
import { divide, installCommand, quote } from './remedies.js';
import { type Check, check, type State } from './report.js';

/** How each library of Python imports a tensor. Libraries with immutable arrays are only read from. */
const pythonLibraries = {
  numpy: { module: 'numpy', writes: true },
  torch: { module: 'torch', writes: true },
  jax: { module: 'jax.numpy', writes: false },
};

/** How each library of JavaScript makes an object with the elements 1, 2, 3 that `adapt` takes. */
// biome-ignore lint/suspicious/noExplicitAny: the libraries are not dependencies, so their types are unknown
const javaScriptLibraries: Record<string, (library: any) => object | Promise<object>> = {
  'onnxruntime-node': ({ Tensor }) => new Tensor('float32', new Float32Array([1, 2, 3]), [3]),
  sharp: ({ default: sharp }) =>
    sharp(new Uint8Array([1, 2, 3]), { raw: { width: 1, height: 1, channels: 3 } })
      .raw()
      .toBuffer({ resolveWithObject: true }),
  '@huggingface/transformers': ({ Tensor }) => new Tensor('float32', new Float32Array([1, 2, 3]), [3]),
};

/** Each probe runs in a separate process. */
const all: Readonly<Record<string, () => Check[] | Promise<Check[]>>> = {
  native: probeNative,
  python: probePython,
  ...Object.fromEntries(Object.keys(pythonLibraries).map((name) => [name, () => [probePythonLibrary(name)]])),
  'tvm-ffi': probeTvmFfi,
  cuda: probeCuda,
  onnxruntime: probeOnnxRuntime,
  ...Object.fromEntries(Object.keys(javaScriptLibraries).map((name) => [name, () => probeJavaScriptLibrary(name)])),
};

export type Probe = string;
export const probes: readonly Probe[] = Object.keys(all);
export const isProbe = (name: string): name is Probe => Object.hasOwn(all, name);
export const isPythonLibrary = (name: string): name is keyof typeof pythonLibraries => name in pythonLibraries;

/** Runs a probe. An unexpected error counts as a problem of the probed library. */
export async function runProbe(probe: Probe): Promise<Check[]> {
  try {
    return await (all[probe] as () => Check[])();
  } catch (error) {
    return [failed(probe, 'problem', error)];
  }
}

/** A check that succeeds if the other side has received what one side wrote. */
function judge(name: string, hasArrived: boolean, good: string, bad: string): Check {
  return hasArrived ? check(name, 'ok', good) : check(name, 'problem', bad);
}

/** A failed check with the first line of an error and its suggestions. `remedies`: where these contain no command. */
function failed(name: string, state: State, error: unknown, remedies: readonly string[] = []): Check {
  const [line] = (error instanceof Error ? error.message : String(error)).split('\n');
  if (!isDLPackError(error, 'LoadError')) return check(name, state, line as string, remedies);
  const divided = divide(error.suggestions);
  const commands = divided.remedies.length > 0 ? divided.remedies : remedies;
  return check(name, state, `${line} (${error.tried[0] ?? ''})`, commands, divided.advice);
}

/** True when both sides see the same memory: the library writes through `write`, then we read. */
function isShared(x: Tensor, write: () => void): boolean {
  write();
  return x.get(0) === 42;
}

function probeNative(): Check[] {
  using x = Tensor.zeros([3], 'float32');
  using y = importManaged(exportManaged(x));
  const shared = isShared(x, () => y.set(0, 42));
  return [judge('exchange', shared, 'managed tensors, without a copy', 'what was written is not there')];
}

/** The variables that change what Python loads, with their values. */
const pythonVariables = () => ['PYTHONHOME', 'PYTHONPATH'].filter((name) => process.env[name]);

function probePython(): Check[] {
  const variables = pythonVariables().map((name) => `${name}=${process.env[name]}`);
  try {
    const py = python();
    const { version, executable } = py.import<{ version: string; executable: string }>('sys');
    return [check('python', 'ok', [version.split(' ')[0], executable, ...variables].join(', '))];
  } catch (error) {
    const { VIRTUAL_ENV } = process.env;
    const isNamed = Boolean(VIRTUAL_ENV) || hasEnvironment();
    const isMissing = (error as { cause?: { code?: string } }).cause?.code === 'ENOENT';
    const remedies = [VIRTUAL_ENV ? 'unset VIRTUAL_ENV' : hasEnvironment() ? 'uv venv --clear' : 'uv venv'];
    const found = failed('python', isMissing && !isNamed ? 'absent' : 'problem', error, remedies);
    const advice = variables.map((text) => `${text} is set: is it meant for this Python?`);
    return [{ ...found, advice: [...found.advice, ...advice] }];
  }
}

function probePythonLibrary(name: string): Check {
  const { module, writes } = pythonLibraries[name as keyof typeof pythonLibraries];
  const py = python();
  if (py.import('importlib.util').find_spec(name) === null) {
    return check(name, 'absent', 'not installed', [installCommand(py, name)]);
  }
  const library = py.import(module);
  using x = Tensor.from([1, 2, 3], { dtype: 'float32' });
  const array = library.from_dlpack(x);
  const arrived = writes
    ? isShared(x, () => array.__setitem__(0, 42))
    : String(fromDLPack(array).toArray()) === '1,2,3';
  const found = String(py.import(name).__version__);
  const how = writes ? 'without a copy' : 'there and back';
  return judge(name, arrived, `${found}, ${how}`, `${found}: what was written did not arrive`);
}

/** A library of the working folder's project. Nothing about one that it does not have. */
async function probeJavaScriptLibrary(name: string): Promise<Check[]> {
  const path = findInstalled(name, resolve('package.json'));
  if (path === null) return [];
  const library = await import(pathToFileURL(path).href);
  const make = javaScriptLibraries[name] as (library: unknown) => object | Promise<object>;
  using tensor = adapt(await make({ ...library.default, ...library }));
  const arrived = String(tensor.toArray()) === '1,2,3';
  return [judge(name, arrived, `${path}, read as a tensor`, 'its elements did not arrive')];
}

function probeTvmFfi(): Check[] {
  let path: string;
  try {
    path = loadLibrary();
  } catch (error) {
    const remedies = [`${quote(findExecutable())} -m pip install apache-tvm-ffi`];
    return [{ ...failed('tvm-ffi', 'absent', error), remedies }];
  }
  using x = Tensor.zeros([3], 'float32');
  registerGlobalFunc('dlpack.doctor', (y) => {
    (y as Tensor).set(0, 42);
  });
  const call = getGlobalFunc('dlpack.doctor');
  const arrived = isShared(x, () => call(x));
  return [judge('tvm-ffi', arrived, `${path}, without a copy`, 'what was written did not arrive')];
}

/** A model with y = max(x, 0) for three elements. */
const relu = 'CAo6NwoMCgF4EgF5IgRSZWx1EgVncmFwaFoPCgF4EgoKCAgBEgQKAggDYg8KAXkSCgoICAESBAoCCANCBAoAEA0=';

async function probeOnnxRuntime(): Promise<Check[]> {
  let text: string;
  try {
    const { version, path, from } = loadRuntime();
    text = `${version}, ${path}, from ${from}`;
  } catch (error) {
    if (!process.env.DLPACK_ONNXRUNTIME) return [failed('onnxruntime', 'absent', error)];
    return [{ ...failed('onnxruntime', 'problem', error), remedies: ['unset DLPACK_ONNXRUNTIME'] }];
  }
  using session = await loadSession(Buffer.from(relu, 'base64'));
  using x = Tensor.from([42, -1, 2], { dtype: 'float32' });
  using y = Tensor.zeros([3], 'float32');
  await session.run({ x }, { outputs: { y } });
  return [
    judge('onnxruntime', y.get(0) === 42, `${text}, without a copy`, `${text}: a model did not write its output`),
  ];
}

function probeCuda(): Check[] {
  try {
    loadDriver();
  } catch (error) {
    return [{ ...failed('cuda', 'absent', error), remedies: ['nvidia-smi'] }];
  }
  const found = devices();
  if (found.length === 0) return [check('cuda', 'absent', 'a driver without devices', ['nvidia-smi'])];
  return found.map((device, i) => {
    using x = Tensor.from([1, 2, 3], { dtype: 'float32' });
    using there = x.to(`cuda:${i}`);
    using back = there.to('cpu');
    const arrived = String(back.toArray()) === '1,2,3';
    const text = `${(device as { name?: string }).name ?? 'device'}, there and back`;
    return judge(`cuda:${i}`, arrived, text, 'what was copied did not come back');
  });
}
