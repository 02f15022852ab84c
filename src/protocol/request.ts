/** A consumer's request, read and checked: docs/spec.md, section 2. */

import { checkObject } from '../base/options.js';
import { type DeviceInfo, DeviceType, deviceFromType, deviceOfGPU, isGPUDevice } from '../device.js';
import { ArgumentTypeError, BufferError, isUsable, LoadError, UnsupportedDeviceError } from '../errors.js';
import { isVersion } from './fields.js';
import { DLPACK_VERSION, type DLPackRequest } from './managed.js';

/** A request without absent fields. */
export interface Wanted {
  /** Where the consumer wants the data; null: where it is. */
  readonly device: DeviceInfo | null;
  /** False for WebGPU without a GPUDevice: then the number of `device` means nothing. */
  readonly isDeviceKnown: boolean;
  readonly copy: boolean | null;
  readonly stream: bigint | null;
  readonly native: boolean | 'only';
  /** The consumer follows a WebAssembly memory that grows. */
  readonly memory: boolean;
}

/**
 * Reads each field once, because getters may return different values. A wrong value throws: `copy: 1` would otherwise
 * share memory with a consumer that wants a copy.
 */
export function readRequest(request: DLPackRequest | null | undefined): Wanted {
  if (request !== undefined && request !== null) checkObject(request, '{ copy: true }', 'request');
  const { maxVersion, device, gpuDevice, copy = null, stream = null, native, memory } = request ?? {};
  if (maxVersion !== undefined && maxVersion !== null) checkVersion(maxVersion);
  if (copy !== null && typeof copy !== 'boolean') throw new ArgumentTypeError('copy', 'a boolean or null', copy);
  if (stream !== null && typeof stream !== 'bigint') throw new ArgumentTypeError('stream', 'a bigint or null', stream);
  if (native !== undefined && native !== null && native !== 'only' && typeof native !== 'boolean') {
    throw new ArgumentTypeError('native', "a boolean or 'only'", native);
  }
  if (memory !== undefined && memory !== null && typeof memory !== 'boolean') {
    throw new ArgumentTypeError('memory', 'a boolean', memory);
  }
  const named = device === undefined || device === null ? null : readDevice(device);
  const isGPU = named?.kind === 'webgpu' && gpuDevice !== undefined && gpuDevice !== null;
  return {
    device: isGPU ? readGPUDevice(gpuDevice) : named,
    isDeviceKnown: isGPU || named?.type !== DeviceType.webgpu,
    copy,
    stream,
    native: native ?? false,
    memory: memory ?? false,
  };
}

function checkVersion(maxVersion: readonly [number, number]): void {
  if (!isVersion(maxVersion)) throw new ArgumentTypeError('maxVersion', '[major, minor]', maxVersion);
  const [major, minor] = maxVersion;
  if (major < DLPACK_VERSION[0]) {
    throw new BufferError(
      `Expected a consumer of DLPack ${DLPACK_VERSION[0]}.x but it takes at most ${major}.${minor}`,
    );
  }
}

function readDevice(device: unknown): DeviceInfo {
  const { type, id } = (isUsable(device) ? device : {}) as { type?: unknown; id?: unknown };
  if (!Number.isSafeInteger(type) || !Number.isSafeInteger(id)) {
    throw new ArgumentTypeError('device', 'the integers { type, id }', device);
  }
  return asBufferError(() => deviceFromType(type as number, id as number));
}

function readGPUDevice(gpuDevice: object): DeviceInfo {
  if (!isUsable(gpuDevice) || !isGPUDevice(gpuDevice)) {
    throw new ArgumentTypeError('gpuDevice', 'a GPUDevice', gpuDevice);
  }
  return deviceOfGPU(gpuDevice);
}

/** Runs a part of an export. Other libraries know the errors of the protocol, not this package's errors for a device. */
export function asBufferError<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    if (cause instanceof UnsupportedDeviceError || cause instanceof LoadError)
      throw new BufferError(cause.message, { cause });
    throw cause;
  }
}
