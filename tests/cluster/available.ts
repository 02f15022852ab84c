/** Python with Ray, from the environment that `npm run test:cluster` makes. */

import { isDLPackError } from 'dlpack';
import { type PyObject, type Python, PythonError, python } from 'dlpack/python';
import { type Connection, type InitOptions, init } from 'dlpack/ray';

process.env.RAY_USAGE_STATS_ENABLED ??= '0';
process.env.RAY_DISABLE_IMPORT_WARNING ??= '1';
/** A busy machine may start a worker slowly, and Ray would start another one; or the server of the cluster. */
process.env.RAY_worker_register_timeout_seconds ??= '120';
process.env.RAY_gcs_server_port_wait_time_s ??= '120';

let interpreter: Python | null = null;
let rayMissing: string | false = false;
try {
  interpreter = python({ exitTimeout: 600_000 }); // exit functions that end processes take long on a busy machine
  interpreter.import('ray');
} catch (error) {
  rayMissing = isDLPackError(error) ? error.message : String(error);
}

export const py = interpreter as Python;
export { rayMissing };

/** Small, so that the suite runs on a small machine: two CPUs and 256 MiB of object store, without a dashboard. */
export const small = {
  address: 'local', // not a cluster that happens to run on this machine
  numCpus: 2,
  objectStoreMemory: 256 * 2 ** 20,
  includeDashboard: false,
  loggingLevel: 'error',
  logToDriver: false,
} as const;

/** Starts a small cluster. Ray waits 30 seconds for its processes, which is not enough on a very busy machine. */
export async function start(options: InitOptions = {}): Promise<Connection> {
  for (let left = 3; ; left--) {
    try {
      return await init({ ...small, ...options });
    } catch (error) {
      if (left === 0 || !String(error).includes('timed out during startup')) throw error;
    }
  }
}

/** Runs statements and returns what they leave under the names. */
export function define(code: string, ...names: string[]): PyObject[] {
  py.exec(code);
  return names.map((name) => py.eval(name));
}

export async function rejection(promise: Promise<unknown>): Promise<PythonError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof PythonError) return error;
    throw error;
  }
  throw new Error('expected a rejection');
}

/** The error of a call that fails sooner or later, such as one of an actor that is being killed. */
export async function failure(call: () => Promise<unknown>): Promise<PythonError> {
  for (;;) {
    try {
      await call();
    } catch (error) {
      if (error instanceof PythonError) return error;
      throw error;
    }
  }
}
