// The methods of the protocol over the classes of the Rust library.

import { createRequire } from 'node:module';

const { RustTensor: Native, take: takeExternal } = createRequire(import.meta.url)(
  '../../../build/native/conformance_rust.node',
);

const isCount = (n) => Number.isSafeInteger(n) && n >= 0;

function refuse(tag, why) {
  throw Object.assign(new Error(why), { tag });
}

/** Checks the kinds of a request's fields (2.3) and reads each once. */
function readRequest(request) {
  if (request === undefined || request === null) return {};
  if (typeof request !== 'object') refuse('TypeError', 'a request is an object');
  const { maxVersion = null, device = null, copy = null, stream = null, native = null } = request;
  const isVersion = Array.isArray(maxVersion) && maxVersion.length === 2 && maxVersion.every(isCount);
  if (maxVersion !== null && !isVersion) refuse('TypeError', 'maxVersion is [major, minor]');
  if (device !== null && !(isCount(device.type) && isCount(device.id))) refuse('TypeError', 'device is { type, id }');
  if (copy !== null && typeof copy !== 'boolean') refuse('TypeError', 'copy is a boolean');
  if (stream !== null && typeof stream !== 'bigint') refuse('TypeError', 'stream is a bigint');
  if (![null, true, false, 'only'].includes(native)) refuse('TypeError', "native is a boolean or 'only'");
  return { maxVersion, device, copy, stream, native };
}

export class RustTensor {
  constructor(...args) {
    this.native = new Native(...args);
  }

  dispose() {
    this.native.dispose();
  }

  [Symbol.for('dlpack.device')]() {
    return { type: 1, id: 0 };
  }

  [Symbol.for('dlpack')](request) {
    const { maxVersion, device, copy, stream, native } = readRequest(request);
    if (this.native.isDisposed) refuse('BufferError', 'the tensor was disposed');
    if (maxVersion && maxVersion[0] < 1) refuse('BufferError', 'DLPack 1.x only');
    if (device && device.type !== 1) refuse('BufferError', 'host memory only');
    if (stream !== undefined && stream !== null) refuse('BufferError', 'host memory has no streams');
    if (!native) refuse('BufferError', 'native consumers only');
    return this.native.external(copy === true);
  }
}

/** Takes a tensor of another library, which must be a native external. */
export function take(producer, copy = null) {
  const method = producer?.[Symbol.for('dlpack')];
  if (typeof method !== 'function') refuse('TypeError', 'no producer');
  const answer = method.call(producer, { maxVersion: [1, 3], copy, native: 'only' });
  try {
    return takeExternal(answer, copy === false);
  } catch (error) {
    if (typeof answer?.deleter === 'function') answer.deleter(); // 7.7
    throw Object.assign(error, { tag: 'BufferError' });
  }
}
