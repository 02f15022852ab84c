/**
 * Streams of other libraries, by the attributes in which they keep their `cudaStream_t`.
 *
 * @module
 */

import { ArgumentTypeError } from '../errors.js';
import { checkHandle } from './current.js';

/** An attribute, or undefined if it does not exist, for which Python objects throw. */
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
