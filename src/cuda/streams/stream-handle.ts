/**
 * The handles of streams, our own and those of other libraries. Below stream.ts and event.ts, which use each other's
 * objects.
 */

import { privateWeakMap } from '../../base/primordials.js';
import { type StreamArgument, streamHandle } from '../../base/stream.js';
import type { DeviceInfo } from '../../device.js';
import { ArgumentTypeError, ArgumentValueError, DisposedError } from '../../errors.js';
import { checkHandle, currentHandle, streamOfNumber } from './current.js';
import type { Owned } from './owned.js';

/** The private data of a `Stream`. */
export class StreamState {
  constructor(
    readonly device: DeviceInfo,
    private readonly handle: bigint,
    readonly owned: Owned | null,
  ) {}

  /** Not the property `handle` of the stream, which a program can override: the driver crashes on a wrong handle. */
  liveHandle(): bigint {
    if (this.owned?.isDisposed === true) throw new DisposedError('Expected a live stream but it was disposed');
    return this.handle;
  }
}

/** Private, because a patched method could return another state. */
const states = privateWeakMap<object, StreamState>();

/** Makes the state of a new `Stream` known. */
export function rememberStream(stream: object, state: StreamState): StreamState {
  states.set(stream, state);
  return state;
}

/** The state of a `Stream`; null for anything else. */
export function stateOf(value: unknown): StreamState | null {
  return typeof value === 'object' && value !== null ? (states.get(value) ?? null) : null;
}

/** The handle of a stream that a program passed for a device. */
export function handleOn(device: DeviceInfo, stream: StreamArgument): bigint {
  if (stream === undefined || stream === null) return currentHandle(device.id);
  const state = stateOf(stream);
  if (state === null) return numberOn(stream);
  const handle = state.liveHandle();
  if (state.device === device) return handle;
  throw new ArgumentValueError('stream', `a stream of '${device.name}'`, state.device.name);
}

/** Numbers, and objects of other libraries that have a `handle`. Their device is unknown. */
function numberOn(stream: StreamArgument): bigint {
  const handle = streamOfNumber(streamHandle(stream));
  if (handle === null) throw new ArgumentValueError('stream', 'a stream to wait on', -1n);
  return handle;
}

/** An attribute, or undefined if it does not exist. Python objects throw for an attribute that does not exist. */
function attribute(source: object, name: string): unknown {
  try {
    return (source as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** The CUDA stream protocol (cuda.core, CuPy 14, PyTorch 2.10): a method that returns version 0 and the handle. */
function byProtocol(source: object): unknown {
  if (typeof attribute(source, '__cuda_stream__') !== 'function') return undefined;
  const [version, handle] = (source as { __cuda_stream__(): Iterable<unknown> }).__cuda_stream__();
  return version === 0 || version === 0n ? handle : undefined;
}

/** `cuda_stream` is PyTorch's name, `ptr` CuPy's, `handle` ours and cuda.core's. */
const names = ['cuda_stream', 'ptr', 'handle'] as const;

/** The handle of a stream, given as a bigint or as a stream object of another library. */
export function foreignHandle(stream: unknown): bigint {
  if (typeof stream === 'bigint') return checkHandle(stream);
  if ((typeof stream === 'object' && stream !== null) || typeof stream === 'function') {
    let handle = byProtocol(stream);
    for (let i = 0; i < names.length && !isNumber(handle); i++) handle = attribute(stream, names[i] as string);
    if (isNumber(handle)) return checkHandle(BigInt(handle));
  }
  throw new ArgumentTypeError(
    'stream',
    `a bigint, or an object with __cuda_stream__, ${names.join(', ').replace(/, (\w+)$/, ' or $1')}`,
    stream,
  );
}

function isNumber(value: unknown): value is bigint | number {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value));
}
