/** Options of Ray: their JavaScript names, and the names that Ray has for them. */

import { checkOptions, type OptionNames } from '../base/options.js';
import { type Keywords, kwargs, type PyObject } from '../python/index.js';

/** Ray's `runtime_env`, with Ray's own names: `{ env_vars: { ... }, working_dir: '...' }`. */
export type RuntimeEnv = Readonly<Record<string, unknown>>;

/** Where a task or an actor runs, and what it needs there. */
export interface PlacementOptions {
  /**
   * The CPUs that it occupies while it runs; by default 1 for a task, and for an actor that asks for GPUs, resources or
   * an accelerator, and 0 for other actors.
   */
  numCpus?: number;
  /** The GPUs that it occupies while it runs. Parts of a GPU are possible; none by default. */
  numGpus?: number;
  /** Bytes of memory that the scheduler reserves; none by default. */
  memory?: number;
  /** Resources that nodes declare: `{ fastDisk: 0.5 }`; none by default. */
  resources?: Readonly<Record<string, number>>;
  /** A kind of accelerator that the node must have, such as `'H200'`; any by default. */
  acceleratorType?: string;
  /**
   * `'DEFAULT'`, `'SPREAD'`, or an object of `ray.util.scheduling_strategies`, such as a node affinity. By default the
   * placement group of the task that starts it, if that captures what it starts, and otherwise `'DEFAULT'`.
   */
  schedulingStrategy?: 'DEFAULT' | 'SPREAD' | PyObject;
  /** Labels that the node must have; none by default. */
  labelSelector?: Readonly<Record<string, string>>;
  /** The environment of the worker; by default that of the program or task that starts it. */
  runtimeEnv?: RuntimeEnv;
  /**
   * A name: of a task in the dashboard, of an actor for `getActor`. By default a task has that of its function, and an
   * actor none.
   */
  name?: string;
}

/** Options of a task. */
export interface TaskOptions extends PlacementOptions {
  /** How often Ray runs the task again when its worker or node dies; 3 by default, -1 for no limit. */
  maxRetries?: number;
  /** Also run it again when it throws: true, or a Python list of the exception classes; false by default. */
  retryExceptions?: boolean | PyObject;
  /**
   * How many results it has; 1 by default, and for a Python generator as many as it yields. With more than one,
   * `remote()` returns an array of references.
   */
  numReturns?: number;
  /** The worker ends after so many calls of this function; no limit by default. */
  maxCalls?: number;
}

/** Options of an actor. */
export interface ActorOptions extends PlacementOptions {
  /** How often Ray starts the actor again when its process or node dies; 0 by default, -1 for no limit. */
  maxRestarts?: number;
  /** How often Ray calls a method again after a restart; 0 by default, -1 for no limit. */
  maxTaskRetries?: number;
  /** How many calls run at once; 1 by default, 1000 for a Python class with an `async def`. */
  maxConcurrency?: number;
  /** How many calls may wait; no limit by default. */
  maxPendingCalls?: number;
  /** The namespace of its name; by default that of this program. */
  namespace?: string;
  /** `'detached'`: the actor outlives the program that made it. The default is `'non_detached'`. */
  lifetime?: 'detached' | 'non_detached';
  /** Return the actor with this name if it exists. By default a name that is taken is an error. */
  getIfExists?: boolean;
}

/** Options of a call of an actor's method. */
export interface MethodOptions {
  /** A name for the dashboard; that of the method by default. */
  name?: string;
  /**
   * How many results it has; 1 by default, unless the Python class declares another number or the method is a
   * generator. With more than one here, `remote()` returns an array of references.
   */
  numReturns?: number;
  /**
   * How often Ray calls it again after a restart of the actor, -1 for no limit; by default as the Python class declares
   * for the method, otherwise as the actor's option says.
   */
  maxTaskRetries?: number;
  /**
   * Also call it again when it throws: true, or a Python list of the exception classes; false by default, unless the
   * Python class declares another value.
   */
  retryExceptions?: boolean | PyObject;
  /** The group of calls that run at once, as the class declares it; by default that of the method there. */
  concurrencyGroup?: string;
}

/** How {@link init} finds or starts a cluster. */
export interface InitOptions {
  /**
   * The address of a cluster. Without one, Ray uses `RAY_ADDRESS` or a cluster that runs on this machine, and otherwise
   * starts a cluster. `'local'` always starts a cluster, and `'auto'` never does.
   */
  address?: string;
  /** The CPUs that this node offers; all of them by default. */
  numCpus?: number;
  /** The GPUs that this node offers; all of them by default. */
  numGpus?: number;
  /** Further resources that this node offers: `{ fastDisk: 1 }`; none by default. */
  resources?: Readonly<Record<string, number>>;
  /** Labels of this node; by default only those that Ray finds out, such as its kind of accelerator. */
  labels?: Readonly<Record<string, string>>;
  /**
   * The size of this node's object store in bytes; by default 30 % of the free memory, but at most 200 GB, what
   * `/dev/shm` holds, and 2 GB on macOS.
   */
  objectStoreMemory?: number;
  /** The namespace of named actors; by default one of this program's own. */
  namespace?: string;
  /** The environment of the workers; by default that of the node. */
  runtimeEnv?: RuntimeEnv;
  /** Start Ray's dashboard; only where its packages are installed by default. */
  includeDashboard?: boolean;
  /** The address that the dashboard listens on; only this machine by default. */
  dashboardHost?: string;
  /** The port of the dashboard; 8265 or the next free one by default. */
  dashboardPort?: number;
  /** `'info'`, `'warning'` or `'error'`; `'info'` by default. */
  loggingLevel?: string;
  /** Print what workers write; true by default. */
  logToDriver?: boolean;
  /** Do not throw if this program uses a cluster already. The default is false. */
  ignoreReinitError?: boolean;
  /** The address of this node, where the one that Ray chooses by default is wrong. */
  nodeIpAddress?: string;
  /** The folder for logs and sockets; by default `ray` in `RAY_TMPDIR`, in `TMPDIR` or in `/tmp`. */
  tempDir?: string;
  /** Ray's internal settings, for tests; none by default. */
  systemConfig?: Readonly<Record<string, unknown>>;
}

const placement = {
  numCpus: true,
  numGpus: true,
  memory: true,
  resources: true,
  acceleratorType: true,
  schedulingStrategy: true,
  labelSelector: true,
  runtimeEnv: true,
  name: true,
} as const;

export const taskOptions: OptionNames<TaskOptions> = {
  ...placement,
  maxRetries: true,
  retryExceptions: true,
  numReturns: true,
  maxCalls: true,
};

export const actorOptions: OptionNames<ActorOptions> = {
  ...placement,
  maxRestarts: true,
  maxTaskRetries: true,
  maxConcurrency: true,
  maxPendingCalls: true,
  namespace: true,
  lifetime: true,
  getIfExists: 'boolean',
};

export const methodOptions: OptionNames<MethodOptions> = {
  name: true,
  numReturns: true,
  maxTaskRetries: true,
  retryExceptions: true,
  concurrencyGroup: true,
};

export const initOptions: OptionNames<InitOptions> = {
  address: true,
  numCpus: true,
  numGpus: true,
  resources: true,
  labels: true,
  objectStoreMemory: true,
  namespace: true,
  runtimeEnv: true,
  includeDashboard: 'boolean',
  dashboardHost: true,
  dashboardPort: true,
  loggingLevel: true,
  logToDriver: 'boolean',
  ignoreReinitError: 'boolean',
  nodeIpAddress: true,
  tempDir: true,
  systemConfig: true,
};

/** Names that Ray marks as its own with an underscore. */
const marked = new Set(['nodeIpAddress', 'tempDir', 'systemConfig']);

function nameOf(option: string): string {
  const name = option.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return marked.has(option) ? `_${name}` : name;
}

/** Throws for an unknown option. Options that are undefined are left out. */
export function toKeywords<T extends object>(options: T, names: OptionNames<T>, example: string): Keywords {
  checkOptions(options, names, example);
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return kwargs(Object.fromEntries(entries.map(([name, value]) => [nameOf(name), value])));
}
