/** Tasks and actors. */

import { checkObject, checkOptions, type OptionNames } from '../base/options.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { callAsync, isPyObject, type PyArgument, type PyObject } from '../python/index.js';
import { outsideScopes } from '../storage/scoped.js';
import { workerCommand } from './command.js';
import { type ActorHandle, actorOf, type RemoteArguments, type RemoteFunction, resultsOf } from './handle.js';
import { load } from './helpers.js';
import { moduleUrl } from './module.js';
import type { ObjectRef } from './object-ref.js';
import { type ActorOptions, actorOptions, type TaskOptions, taskOptions, toKeywords } from './options.js';

/** A class whose objects run on the cluster. */
// biome-ignore lint/suspicious/noExplicitAny: the author of a typed form of a class chooses its types
export type ActorClass = new (...args: any[]) => any;

/** The arguments with which a function or class runs on the cluster. */
export type StartArguments<F> = F extends ActorClass
  ? RemoteArguments<ConstructorParameters<F>>
  : F extends RemoteFunction
    ? RemoteArguments<Parameters<F>>
    : never;

/** A reference to the result of a function, or an actor of a class. */
export type StartedBy<F> = F extends ActorClass
  ? ActorHandle<InstanceType<F>>
  : F extends RemoteFunction
    ? ObjectRef<Awaited<ReturnType<F>>>
    : never;

/** A function or class, written in Python or JavaScript, that runs on the cluster. */
export interface Remote<F extends RemoteFunction | ActorClass> {
  /**
   * Starts a task; for a class, starts an actor. Another thread copies the
   * arguments into the object store. Calls that have not resolved may start in another order.
   *
   * @param args - The arguments of the function or the class, or references to them.
   * @returns A reference to the result, or the actor.
   * @throws PythonError if Ray refuses an argument.
   */
  remote(...args: StartArguments<F>): Promise<StartedBy<F>>;
  /**
   * Starts it as `remote` does, but blocks this thread until Ray has copied the arguments.
   *
   * @param args - The arguments of the function or the class, or references to them.
   * @returns A reference to the result, or the actor.
   */
  remoteSync(...args: StartArguments<F>): StartedBy<F>;
  /**
   * Returns the same function or class with other options.
   *
   * @param options - What differs from the options so far.
   */
  options(options: F extends ActorClass ? ActorOptions : TaskOptions): Remote<F>;
}

/** An actor class written in JavaScript. */
export interface RemoteClass<C extends ActorClass> {
  /**
   * Imports the module here, to learn the methods of the class, and starts an actor.
   *
   * @param args - The arguments of the constructor, or references to them.
   * @returns The actor.
   * @throws ArgumentValueError if the module exports no such class.
   */
  remote(...args: RemoteArguments<ConstructorParameters<C>>): Promise<ActorHandle<InstanceType<C>>>;
  /**
   * Returns the same class with other options.
   *
   * @param options - What differs from the options so far.
   */
  options(options: ActorOptions): RemoteClass<C>;
}

type Options = TaskOptions & ActorOptions;
type Names = typeof taskOptions | typeof actorOptions;

const example = '{ numCpus: 1 }';

/** Ray's options of a task or an actor; `names` are the options that it may have. */
function withOptions(target: PyObject, options: Options, names: Names): PyObject {
  checkOptions(options, names as OptionNames<Options>, example);
  const { maxCalls, ...others } = options;
  const made = maxCalls === undefined ? target : load().helpers.with_max_calls(target, maxCalls);
  return made.options(toKeywords(others, names as OptionNames<Options>, example));
}

function makeRemote<F extends RemoteFunction | ActorClass>(target: PyObject, given: Options, names: Names): Remote<F> {
  checkObject(given, example);
  const options = { ...given }; // read once, because getters may return different values
  const start = outsideScopes(() => withOptions(target, options, names).remote) as PyObject;
  const toResult = names === actorOptions ? actorOf : (started: PyObject) => resultsOf(started, options.numReturns);
  return {
    remote: async (...args: PyArgument[]) => toResult(await callAsync(start, ...args)),
    remoteSync: (...args: PyArgument[]) => toResult(start(...args)),
    options: (more: Options) => makeRemote(target, { ...options, ...more }, names),
  } as unknown as Remote<F>;
}

/**
 * Makes a task or an actor class of a Python function or class, as Python's `ray.remote(target)` does.
 *
 * @param target - The function or the class, in a module that the workers can import.
 * @param options - What it needs and how often Ray starts it again; Ray's own defaults when absent.
 * @returns What starts it on the cluster.
 * @throws ArgumentTypeError for anything but a Python object and known options, and LoadError without Python or Ray.
 * @example
 * ```ts no-run: needs Ray
 * import { python } from 'dlpack/python';
 * import * as ray from 'dlpack/ray';
 * const sum = ray.remote<(values: number[]) => number>(python().import('builtins').sum, { numCpus: 1 });
 * console.log(await ray.get(await sum.remote([1, 2]))); // 3
 * ```
 */
export function remote<F extends RemoteFunction | ActorClass = RemoteFunction>(
  target: PyObject,
  options?: F extends ActorClass ? ActorOptions : TaskOptions,
): Remote<F> {
  if (!isPyObject(target)) {
    throw new ArgumentTypeError(
      'target',
      'a Python function or class',
      target,
      'for JavaScript use task(url, name) or actor(url, name)',
    );
  }
  const { ray, py } = load();
  const isClass = py.import('inspect').isclass(target) as boolean;
  return makeRemote<F>(ray.remote(target), options ?? {}, isClass ? actorOptions : taskOptions);
}

/** The options of a JavaScript task or actor: its workers run this runtime. */
function inJavaScript(options: Options): Options {
  return { ...options, runtimeEnv: { ...options.runtimeEnv, py_executable: workerCommand() } };
}

/**
 * Makes a task of a JavaScript function that Ray runs in a worker: `task(import.meta.url, 'resize')`. The module must
 * export the function under this name, at the same path on every node.
 *
 * @param module - The URL of the module.
 * @param name - The name of the exported function.
 * @param options - What it needs and how often Ray starts it again; Ray's own defaults when absent.
 * @returns What starts it on the cluster. Ray is loaded by the first call.
 * @throws ArgumentTypeError or ArgumentValueError for anything but a module, a name and known options.
 * @example
 * ```ts no-run: needs Ray
 * import * as ray from 'dlpack/ray';
 * const resize = ray.task<(size: number) => number>(new URL('./resize.js', import.meta.url), 'resize');
 * console.log(await ray.get(await resize.remote(224)));
 * ```
 */
export function task<F extends RemoteFunction = RemoteFunction>(
  module: string | URL,
  name: string,
  options: TaskOptions = {},
): Remote<F> {
  checkOptions(options, taskOptions, example);
  const url = moduleUrl(module);
  checkName(name, 'function');
  // Made by the first call, so that a module can name its tasks where there is no Ray.
  let target: PyObject | null = null;
  const configure = (current: TaskOptions): Remote<F> => {
    target ??= outsideScopes(() => load().helpers.task_function(name, url));
    return makeRemote<F>(target, inJavaScript(current), taskOptions);
  };
  const make = (current: TaskOptions): Remote<F> => {
    let configured: Remote<F> | null = null;
    return {
      async remote(...args: Parameters<Remote<F>['remote']>) {
        configured ??= configure(current);
        return configured.remote(...args);
      },
      remoteSync(...args: Parameters<Remote<F>['remote']>) {
        configured ??= configure(current);
        return configured.remoteSync(...args);
      },
      options(more: TaskOptions) {
        checkOptions(more, taskOptions, example);
        return make({ ...current, ...more });
      },
    } as Remote<F>;
  };
  return make(options);
}

/**
 * Makes an actor class of a JavaScript class: `actor<typeof Counter>(import.meta.url, 'Counter')`. The module must
 * export the class under this name, at the same path on every node. Python programs call the methods as those of a
 * Python actor.
 *
 * @param module - The URL of the module.
 * @param name - The name of the exported class.
 * @param options - What an actor needs and how often Ray starts it again; Ray's own defaults when absent.
 * @returns What starts an actor on the cluster. Ray is loaded by the first call.
 * @throws ArgumentTypeError or ArgumentValueError for anything but a module, a name and known options.
 * @example
 * ```ts no-run: needs Ray
 * import * as ray from 'dlpack/ray';
 * class Counter {
 *   add(n: number): number { return n; }
 * }
 * const counter = await ray.actor<typeof Counter>(new URL('./counter.js', import.meta.url), 'Counter').remote();
 * console.log(await ray.get(await counter.add.remote(1)));
 * ```
 */
export function actor<C extends ActorClass = ActorClass>(
  module: string | URL,
  name: string,
  options: ActorOptions = {},
): RemoteClass<C> {
  checkOptions(options, actorOptions, example);
  const url = moduleUrl(module);
  checkName(name, 'class');
  let made: Promise<PyObject> | null = null;
  const classOf = async () => load().helpers.actor_class(name, await methodsOf(url, name), url);
  const make = (current: ActorOptions): RemoteClass<C> => ({
    async remote(...args) {
      made ??= classOf().catch((error: unknown) => {
        made = null; // the next call tries again, when Ray may be installed, or a file complete
        throw error;
      });
      const start = withOptions(await made, inJavaScript(current), actorOptions).remote as PyObject;
      return actorOf<InstanceType<C>>(await callAsync(start, ...args));
    },
    options(more) {
      checkOptions(more, actorOptions, example);
      return make({ ...current, ...more });
    },
  });
  return make(options);
}

function checkName(name: unknown, what: string): void {
  if (typeof name !== 'string') throw new ArgumentTypeError('name', `the name of an exported ${what}`, name);
}

/** The names of the methods of a class, and of the classes that it extends. */
async function methodsOf(url: string, name: string): Promise<string[]> {
  const exported: unknown = ((await import(url)) as Record<string, unknown>)[name];
  if (typeof exported !== 'function' || typeof exported.prototype !== 'object') {
    throw new ArgumentValueError('name', `the name of a class that ${url} exports`, name);
  }
  const names = new Set<string>();
  for (let of = exported.prototype; of !== null && of !== Object.prototype; of = Object.getPrototypeOf(of)) {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(of as object))) {
      if (typeof value === 'function' && key !== 'constructor' && !key.startsWith('_')) names.add(key);
    }
  }
  return [...names];
}
