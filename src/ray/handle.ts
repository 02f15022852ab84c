/** Running actors: Ray's own handles, with methods that do not block. */

import { checkOptions } from '../base/options.js';
import { callAsync, isPyObject, kwargs, type PyArgument, type PyObject } from '../python/index.js';
import { outsideScopes, replaceInScope } from '../storage/scoped.js';
import { load } from './helpers.js';
import type { ObjectRef } from './object-ref.js';
import { type MethodOptions, methodOptions, toKeywords } from './options.js';

/** A function that runs on the cluster. */
// biome-ignore lint/suspicious/noExplicitAny: the author of a typed form of a function chooses its types
export type RemoteFunction = (...args: any[]) => any;

/** Arguments of a remote call: each may be a reference to its value. */
export type RemoteArguments<A extends readonly unknown[]> = { [I in keyof A]: A[I] | ObjectRef<A[I]> };

/** A method of an actor. */
export interface RemoteMethod<F extends RemoteFunction> {
  /**
   * Calls the method and returns a reference to its result. Another thread copies the arguments into the object store. The
   * actor gets the calls of one handle in the order in which the program made them.
   *
   * @param args - The arguments of the method, or references to them.
   * @returns A promise of the reference, or of the references where the method has several results.
   * @throws PythonError if Ray refuses an argument, or the actor has ended.
   */
  remote(...args: RemoteArguments<Parameters<F>>): Promise<ObjectRef<Awaited<ReturnType<F>>>>;
  /**
   * Calls the method as `remote` does, but blocks this thread until Ray has copied the arguments. It does not wait for
   * calls of `remote`.
   *
   * @param args - The arguments of the method, or references to them.
   * @returns The reference, or the references where the method has several results.
   * @throws As `remote` does.
   */
  remoteSync(...args: RemoteArguments<Parameters<F>>): ObjectRef<Awaited<ReturnType<F>>>;
  /**
   * Returns the same method with options.
   *
   * @param options - How many results it has, and more.
   * @throws ArgumentTypeError for an unknown option.
   */
  options(options: MethodOptions): RemoteMethod<F>;
}

/** A running actor. It can be passed to tasks and other actors, and to Python, which gets Ray's own ActorHandle. */
export type ActorHandle<T> = {
  readonly [M in keyof T as T[M] extends RemoteFunction ? M : never]: T[M] extends RemoteFunction
    ? RemoteMethod<T[M]>
    : never;
} & Disposable;

/** The reference that a call returned, or the references if it has another number of results than one. */
export function resultsOf(started: PyObject, numReturns = 1): PyObject | PyObject[] {
  return numReturns === 1 ? started : [...((started ?? []) as Iterable<PyObject>)]; // Ray has None for no results
}

/** The calls of one handle that Ray has not got yet. Threads of the pool alone would not keep their order. */
class Line {
  private waiting = 0;
  private last: Promise<unknown> = Promise.resolve();

  async start(remote: PyObject, args: readonly PyArgument[]): Promise<PyObject> {
    const started = this.waiting === 0 ? callAsync(remote, ...args) : this.startLater(remote, args);
    this.waiting++;
    this.last = started.catch(() => {});
    try {
      return await started;
    } finally {
      this.waiting--;
    }
  }

  /** Converts the arguments now, because the program may dispose or change them before it is their turn. */
  private async startLater(remote: PyObject, args: readonly PyArgument[]): Promise<PyObject> {
    const call = outsideScopes(() => load().helpers.partial(remote, ...args));
    await this.last;
    try {
      return await callAsync(call);
    } finally {
      call[Symbol.dispose]();
    }
  }
}

class Method implements RemoteMethod<RemoteFunction> {
  private readonly start: PyObject;

  constructor(
    private readonly line: Line,
    /** Ray's ActorMethod, or what its `options` returned. */
    private readonly target: PyObject,
    private readonly numReturns = 1,
  ) {
    this.start = outsideScopes(() => target.remote);
  }

  async remote(...args: PyArgument[]): Promise<PyObject> {
    return resultsOf(await this.line.start(this.start, args), this.numReturns);
  }

  remoteSync(...args: PyArgument[]): PyObject {
    return resultsOf(this.start(...args), this.numReturns);
  }

  options(options: MethodOptions): Method {
    const given = { ...options }; // read once, because getters may return different values
    const keywords = toKeywords(given, methodOptions, '{ numReturns: 2 }');
    return new Method(
      this.line,
      outsideScopes(() => this.target.options(keywords)),
      given.numReturns,
    );
  }

  release(): void {
    for (const object of [this.start, this.target]) object[Symbol.dispose]();
  }
}

/** Ray's ActorHandle with methods that follow the rule of this package. Everywhere else it is the Python object. */
export function actorOf<T>(actor: PyObject): ActorHandle<T> {
  const line = new Line();
  const methods = new Map<string, Method>(); // looked up once, because each lookup takes the GIL
  const dispose = () => {
    for (const method of methods.values()) method.release();
    methods.clear();
    actor[Symbol.dispose]();
  };
  const get = (_: unknown, name: string | symbol): unknown => {
    if (name === Symbol.dispose) return dispose;
    const known = methods.get(name as string);
    if (known !== undefined) return known;
    const attribute = outsideScopes(() => actor[name]);
    if (typeof name === 'symbol' || !isPyObject(attribute) || !load().helpers.is_method(attribute)) return attribute;
    const method = new Method(line, attribute);
    methods.set(name, method);
    return method;
  };
  return replaceInScope<ActorHandle<T>>(actor, new Proxy(actor, { get }));
}

/** An actor's handle for Ray's own; another value stays as it is. */
export function adoptActor(value: unknown): unknown {
  return isPyObject(value) && load().helpers.is_actor(value) ? actorOf<unknown>(value) : value;
}

function nameKeywords(options: { namespace?: string }) {
  checkOptions(options, { namespace: true }, "{ namespace: 'jobs' }");
  return kwargs({ ...options });
}

/**
 * Returns the actor with this name, as Python's `ray.get_actor` does.
 *
 * @param name - The name that it was started with.
 * @param options - The namespace of the name (`namespace`); that of this program when absent.
 * @returns A promise of the actor.
 * @throws ArgumentTypeError for an unknown option, LoadError without Python or Ray, and PythonError if there is no such
 *   actor.
 * @example
 * ```ts no-run: needs Ray
 * import * as ray from 'dlpack/ray';
 * const counter = await ray.getActor<{ add(n: number): number }>('counter');
 * console.log(await ray.get(await counter.add.remote(1)));
 * ```
 */
export async function getActor<T = PyObject>(
  name: string,
  options: { namespace?: string } = {},
): Promise<ActorHandle<T>> {
  return actorOf<T>(await callAsync(load().ray.get_actor, name, nameKeywords(options)));
}

/**
 * Returns the actor with this name as {@link getActor} does, but blocks this thread until the cluster has answered.
 *
 * @param name - The name that it was started with.
 * @param options - As for {@link getActor}.
 * @returns The actor.
 * @throws As `getActor` does.
 */
export function getActorSync<T = PyObject>(name: string, options: { namespace?: string } = {}): ActorHandle<T> {
  return actorOf<T>(load().ray.get_actor(name, nameKeywords(options)));
}

function killKeywords(options: { restart?: boolean }) {
  checkOptions(options, { restart: 'boolean' }, '{ restart: true }');
  return kwargs({ no_restart: options.restart !== true });
}

/**
 * Ends an actor.
 *
 * @param handle - The actor.
 * @param options - With `restart: true`, Ray starts it again if its `maxRestarts` allows that; it ends for good when
 *   absent.
 * @returns A promise that resolves when Ray has the request.
 * @throws ArgumentTypeError for an unknown option, LoadError without Python or Ray, and PythonError if Ray refuses.
 * @example
 * ```ts no-run: needs Ray
 * import * as ray from 'dlpack/ray';
 * await ray.kill(await ray.getActor('counter'));
 * ```
 */
export async function kill(
  handle: ActorHandle<unknown> | PyObject,
  options: { restart?: boolean } = {},
): Promise<void> {
  await callAsync(load().ray.kill, handle, killKeywords(options));
}

/**
 * Ends an actor as {@link kill} does, but blocks this thread.
 *
 * @param handle - The actor.
 * @param options - As for {@link kill}.
 * @throws As `kill` does.
 */
export function killSync(handle: ActorHandle<unknown> | PyObject, options: { restart?: boolean } = {}): void {
  load().ray.kill(handle, killKeywords(options));
}
