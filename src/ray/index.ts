/**
 * Tasks and actors on a Ray cluster, over the Python in this process.
 *
 * @module
 */

export type { AsyncOptions } from '../base/signal.js';
export { type Connection, init, shutdown } from './cluster.js';
export { RemoteError } from './error.js';
export { get, getSync, type ObjectRef, put, putSync, type Values } from './objects.js';
export type { ActorOptions, InitOptions, PlacementOptions, RuntimeEnv, TaskOptions } from './options.js';
export {
  type ActorClass,
  type ActorHandle,
  actor,
  getActor,
  kill,
  type Remote,
  type RemoteArguments,
  type RemoteClass,
  type RemoteFunction,
  type RemoteMethod,
  remote,
  type StartArguments,
  type StartedBy,
  task,
} from './remote.js';
