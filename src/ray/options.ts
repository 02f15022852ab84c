/** Options of Ray: their JavaScript names, and the names that Ray has for them. */

import { checkOptions, type OptionNames } from '../base/options.js';
import { type Keywords, kwargs, type PyObject } from '../python/index.js';

/** Ray's `runtime_env`, with Ray's own names: `{ env_vars: { ... }, working_dir: '...' }`. */
export type RuntimeEnv = Readonly<Record<string, unknown>>;

/** Where a task or an actor runs, and what it needs there. */
export interface PlacementOptions {
  /** The CPUs that it occupies while it runs. */
  numCpus?: number;
  numGpus?: number;
  /** Bytes of memory that the scheduler reserves. */
  memory?: number;
  /** Resources that nodes declare: `{ fastDisk: 0.5 }`. */
  resources?: Readonly<Record<string, number>>;
  acceleratorType?: string;
  /** `'DEFAULT'`, `'SPREAD'`, or an object of `ray.util.scheduling_strategies`, such as a node affinity. */
  schedulingStrategy?: 'DEFAULT' | 'SPREAD' | PyObject;
  labelSelector?: Readonly<Record<string, string>>;
  runtimeEnv?: RuntimeEnv;
  name?: string;
}

export interface TaskOptions extends PlacementOptions {
  /** How often Ray runs the task again when its worker or node dies; 3 by default, -1 for no limit. */
  maxRetries?: number;
  /** Also run it again when it throws: true, or a Python list of the exception classes. */
  retryExceptions?: boolean | PyObject;
  /** How many results it has. With more than one, `remote()` returns an array of references. */
  numReturns?: number;
  /** The worker ends after so many calls of this function. */
  maxCalls?: number;
}

export interface ActorOptions extends PlacementOptions {
  /** How often Ray starts the actor again when its process or node dies; 0 by default, -1 for no limit. */
  maxRestarts?: number;
  /** How often Ray calls a method again after a restart; 0 by default, -1 for no limit. */
  maxTaskRetries?: number;
  /** How many calls run at once; 1 by default. */
  maxConcurrency?: number;
  maxPendingCalls?: number;
  namespace?: string;
  /** `'detached'`: the actor outlives the program that made it. */
  lifetime?: 'detached' | 'non_detached';
  /** Return the actor with this name if it exists. */
  getIfExists?: boolean;
}

export interface InitOptions {
  /**
   * The address of a cluster. Without one, Ray uses `RAY_ADDRESS` or a cluster that runs on this machine, and otherwise
   * starts a cluster. `'local'` always starts a cluster, and `'auto'` never does.
   */
  address?: string;
  numCpus?: number;
  numGpus?: number;
  resources?: Readonly<Record<string, number>>;
  labels?: Readonly<Record<string, string>>;
  /** The size of this node's object store in bytes. */
  objectStoreMemory?: number;
  namespace?: string;
  runtimeEnv?: RuntimeEnv;
  includeDashboard?: boolean;
  dashboardHost?: string;
  dashboardPort?: number;
  /** `'info'`, `'warning'` or `'error'`. */
  loggingLevel?: string;
  /** Print what workers write. */
  logToDriver?: boolean;
  ignoreReinitError?: boolean;
  nodeIpAddress?: string;
  tempDir?: string;
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
