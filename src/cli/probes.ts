/** Real exchanges with the libraries on this machine: each probe writes on one side and reads on the other. */

import { devices, loadDriver } from '../cuda/index.js';
import { isDLPackError } from '../errors.js';
import { fromDLPack, Tensor } from '../index.node.js';
import { exportManaged } from '../native/export.js';
import { importManaged } from '../native/import.js';
import { findExecutable } from '../python/find.js';
import { python } from '../python/index.js';
import { getGlobalFunc, loadLibrary, registerGlobalFunc } from '../tvm-ffi/index.js';
import { divide, installCommand, quote } from './remedies.js';
import { type Check, check, type State } from './report.js';

/** Each probe runs in a separate process. */
const all = { native: probeNative, python: probePython, 'tvm-ffi': probeTvmFfi, cuda: probeCuda };

export type Probe = keyof typeof all;
export const probes = Object.keys(all) as Probe[];
export const isProbe = (name: string): name is Probe => Object.hasOwn(all, name);

/** Runs a probe. An unexpected error counts as a problem of the probed library. */
export function runProbe(probe: Probe): Check[] {
  try {
    return all[probe]();
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

/** How each library imports a tensor. Libraries with immutable arrays are only read from. */
const libraries: Record<string, { module: string; take: string; writes: boolean }> = {
  numpy: { module: 'numpy', take: 'from_dlpack', writes: true },
  torch: { module: 'torch', take: 'from_dlpack', writes: true },
  jax: { module: 'jax.numpy', take: 'from_dlpack', writes: false },
};

function probePython(): Check[] {
  let py: ReturnType<typeof python>;
  try {
    py = python();
  } catch (error) {
    return [failed('python', 'absent', error, ['VIRTUAL_ENV=/path/to/venv npx dlpack doctor'])];
  }
  const sys = py.import('sys');
  const version = String(sys.version).split(' ')[0];
  const checks = [check('python', 'ok', `${version}, ${String(sys.executable)}`)];
  const find = py.import('importlib.util').find_spec;
  for (const [name, { module, take, writes }] of Object.entries(libraries)) {
    try {
      if (find(name) === null) {
        checks.push(check(name, 'absent', 'not installed', [installCommand(py, name)]));
        continue;
      }
      const library = py.import(module);
      using x = Tensor.from([1, 2, 3], { dtype: 'float32' });
      const array = library[take](x);
      const arrived = writes
        ? isShared(x, () => array.__setitem__(0, 42))
        : String(fromDLPack(array).toArray()) === '1,2,3';
      const found = String(py.import(name).__version__);
      const how = writes ? 'without a copy' : 'there and back';
      checks.push(judge(name, arrived, `${found}, ${how}`, `${found}: what was written did not arrive`));
    } catch (error) {
      checks.push(failed(name, 'problem', error));
    }
  }
  return checks;
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
