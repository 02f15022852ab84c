/**
 * Tasks and actors on a Ray cluster, over the Python in this process.
 *
 * @module
 */

export type { AsyncOptions } from '../base/signal.js';
export { type Connection, init, shutdown } from './cluster.js';
export { RemoteError } from './error.js';
export {
  type ActorHandle,
  getActor,
  getActorSync,
  kill,
  killSync,
  type RemoteArguments,
  type RemoteFunction,
  type RemoteMethod,
} from './handle.js';
export type { ObjectRef } from './object-ref.js';
export { get, getSync, put, putSync, type Values } from './objects.js';
export type { ActorOptions, InitOptions, MethodOptions, PlacementOptions, RuntimeEnv, TaskOptions } from './options.js';
export {
  type ActorClass,
  actor,
  type Remote,
  type RemoteClass,
  remote,
  type StartArguments,
  type StartedBy,
  task,
} from './remote.js';
