/**
 * A worker process of Ray that runs JavaScript. Ray starts it in place of Python. Ray's task loop runs on a thread of
 * Python, and tasks call JavaScript on the event loop.
 */

import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { node } from '../native/load/node-modules.js';
import { PythonError, python } from '../python/index.js';
import { takeJS } from '../python/values/to-js.js';
import type { Tensor } from '../tensor.js';
import { adoptActor } from './handle.js';
import { type Helpers, load } from './helpers.js';

const { existsSync } = node.fs;

type Body = (...args: unknown[]) => unknown;

/** The actor of this process. */
let instance: Record<string, Body> | null = null;

async function exported(url: unknown, name: unknown): Promise<unknown> {
  const found = ((await import(url as string)) as Record<string, unknown>)[name as string];
  if (typeof found === 'function') return found;
  throw new ArgumentValueError('name', `a function or class that ${url} exports`, name);
}

const requests: Record<string, (...args: unknown[]) => unknown> = {
  async construct(url, name, ...args) {
    const Class = (await exported(url, name)) as new (...args: unknown[]) => Record<string, Body>;
    instance = new Class(...args);
    return null;
  },
  method(name, ...args) {
    if (instance === null) throw new ArgumentTypeError('actor', 'an instance', null);
    return (instance[name as string] as Body)(...args);
  },
  async task(url, name, ...args) {
    return ((await exported(url, name)) as Body)(...args);
  },
};

/**
 * Runs a request of Python. The Tensors among the arguments belong to the call, so that the object store can release
 * their memory as soon as the call ends.
 */
async function run(helpers: Helpers, request: unknown, args: unknown[]): Promise<unknown> {
  const made: Tensor[] = [];
  try {
    const values = args.map((value) => takeJS(value, made, adoptActor));
    const result = await (requests[request as string] as Body)(...values);
    if (made.length === 0 || typeof result !== 'object') return result;
    // Becomes a Python object before the arguments are disposed, because it may share their memory.
    const { py } = load();
    const holder = py.tuple(result);
    try {
      return py.getItem(holder, 0);
    } finally {
      // The holder refers to the result, whose memory would otherwise wait for the garbage collector.
      holder[Symbol.dispose]();
    }
  } catch (error) {
    throw toPython(helpers, error);
  } finally {
    for (const tensor of made) tensor.dispose();
  }
}

/** An exception that other processes can load, with the stack. An exception of Python stays what it is. */
function toPython(helpers: Helpers, error: unknown): PythonError {
  if (error instanceof PythonError) return error;
  const { name, message, stack } =
    error instanceof Error ? error : { name: 'Error', message: String(error), stack: '' };
  const text = stack === '' || stack === undefined ? `${name}: ${message}` : stack;
  return new PythonError('JavaScriptError', message, '', helpers.make_error(name, message, text));
}

/** Runs until Ray ends the worker. Returns the exit code. */
export async function runWorker(args: readonly string[]): Promise<number> {
  const executable = args.find((arg) => arg.startsWith('--python='))?.slice('--python='.length) ?? '';
  // On another node the path may not exist; then the Python of that node's environment is used.
  python(existsSync(executable) ? { executable } : {});
  const { py, module, helpers } = load();
  module.invoke = py.callable((request: unknown, ...rest: unknown[]) => run(helpers, request, rest));
  process.on('SIGTERM', () => process.exit(1));
  const first = args.findIndex((arg) => !arg.startsWith('-'));
  try {
    // When Ray has connected, a call of JavaScript restores the signal handlers that it replaced.
    await py.callAsync(helpers.work, args.slice(first), () => null);
    return 0;
  } catch (error) {
    if (!(error instanceof PythonError) || error.type !== 'SystemExit') throw error;
    return Number((error.exception as { code?: unknown } | null)?.code ?? 0) || 0;
  }
}
