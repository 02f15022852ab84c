/**
 * Tasks and actors on a Ray cluster, over the Python in this process.
 *
 * @module
 */

export { type Connection, init, shutdown } from './cluster.js';
export { RemoteError } from './error.js';
export { type GetOptions, get, getSync, type ObjectRef, put, putAsync, type Values } from './objects.js';
export type { ActorOptions, InitOptions, PlacementOptions, RuntimeEnv, TaskOptions } from './options.js';
export {
  type ActorHandle,
  actor,
  getActor,
  kill,
  type Remote,
  type RemoteArguments,
  type RemoteClass,
  type RemoteMethod,
  remote,
  task,
} from './remote.js';
