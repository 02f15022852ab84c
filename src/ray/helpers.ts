/** Ray in the Python of this process, and the Python code of this module. */

import { type PyArgument, type PyObject, type Python, python } from '../python/index.js';
import { loadSource } from '../python/interpreter/source-module.js';
import { loadFutures } from '../python/threads/futures.js';
import { outsideScopes } from '../storage/scoped.js';
import SOURCE from './helpers.py';

/** The name under which all JavaScript threads of a process, and the methods of an actor in helpers.py, find that code. */
const MODULE = '_dlpack_ray';

export interface Helpers {
  get(reference: unknown): unknown;
  put(value: PyArgument): PyObject;
  actor_class(name: string, methods: readonly string[], url: string): PyObject;
  task_function(name: string, url: string): PyObject;
  with_max_calls(task: PyObject, maxCalls: number): PyObject;
  is_actor(value: PyObject): boolean;
  is_method(value: PyObject): boolean;
  partial(method: PyObject, ...args: readonly PyArgument[]): PyObject;
  make_error(name: string, message: string, stack: string): PyObject;
  thrown(exception: PyObject): Iterable<string> | null;
  init: PyObject;
  watch(awaitable: PyObject, settle: PyObject): PyObject;
  Group(count: number, settle: PyObject): PyObject;
  collect(group: PyObject, awaitables: readonly PyObject[]): void;
  add(group: PyObject, first: number, end: number): void;
  stop: PyObject;
  stop_waiting: PyObject;
  work: PyObject;
}

const names: readonly (keyof Helpers)[] = [
  'get',
  'put',
  'actor_class',
  'task_function',
  'with_max_calls',
  'is_actor',
  'is_method',
  'partial',
  'make_error',
  'thrown',
  'init',
  'watch',
  'Group',
  'collect',
  'add',
  'stop',
  'stop_waiting',
  'work',
];

export interface Ray {
  readonly py: Python;
  /** Ray itself. */
  readonly ray: PyObject;
  /** The Python code of this module. */
  readonly module: PyObject;
  /** Its functions. */
  readonly helpers: Helpers;
}

let loaded: Ray | null = null;

/** Ray in the Python that runs in this process, or that `python()` finds. Throws a LoadError if it is not installed. */
export function load(): Ray {
  loaded ??= outsideScopes(() => loadRay(python()));
  return loaded;
}

function loadRay(py: Python): Ray {
  const ray = py.import('ray');
  loadFutures(py.import);
  const module = loadSource(py.import, MODULE, SOURCE);
  // Looked up once, because each lookup takes the GIL and leaves an object to the garbage collector.
  const helpers = Object.fromEntries(names.map((name) => [name, module[name]])) as unknown as Helpers;
  return { py, ray, module, helpers };
}
