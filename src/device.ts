/** Devices: every device type of DLPack 1.3, as a string (`'cpu'`, `'cuda:1'`) and as `(type, id)`. */

import { ArgumentTypeError, describe, isUsable, UnsupportedDeviceError } from './errors.js';

/** `DLDeviceType` of dlpack.h 1.3. DLPack never assigned the numbers 5 and 6. */
export const DeviceType = {
  cpu: 1, // kDLCPU
  cuda: 2, // kDLCUDA
  cuda_host: 3, // kDLCUDAHost
  opencl: 4, // kDLOpenCL
  vulkan: 7, // kDLVulkan
  metal: 8, // kDLMetal
  vpi: 9, // kDLVPI
  rocm: 10, // kDLROCM
  rocm_host: 11, // kDLROCMHost
  ext_dev: 12, // kDLExtDev
  cuda_managed: 13, // kDLCUDAManaged
  oneapi: 14, // kDLOneAPI
  webgpu: 15, // kDLWebGPU
  hexagon: 16, // kDLHexagon
  maia: 17, // kDLMAIA
  trn: 18, // kDLTrn
} as const;

/** Names of device types. */
export type DeviceKind = keyof typeof DeviceType;
/**
 * A device: a kind and, where the kind has several devices, a number. `'cpu'`, pinned and managed memory have no
 * number, so `'cpu:1'` means `'cpu'`.
 */
export type Device = DeviceKind | `${DeviceKind}:${number}`;

/** The part of WebGPU's `GPUDevice` that identifies one. A real `GPUDevice` fits. */
export interface GPUDeviceLike {
  readonly queue: object;
  readonly lost: Promise<unknown>;
  createBuffer(descriptor: { size: number; usage: number }): object;
}

/** A device as functions take it: its name, or a GPUDevice. */
export type DeviceArgument = Device | GPUDeviceLike;

/** The two numbers of `DLDevice`. */
export interface DLDevice {
  readonly type: number;
  readonly id: number;
}

/** A device. There is one frozen object for each device. */
export interface DeviceInfo extends DLDevice {
  readonly name: Device;
  readonly kind: DeviceKind;
  /** The CPU can read and write this memory through its address. */
  readonly isHostAccessible: boolean;
}

/** Host, pinned and managed memory. It always has the device id 0 (dlpack.h), which the name omits. */
const hostAccessible: ReadonlySet<DeviceKind> = new Set(['cpu', 'cuda_host', 'rocm_host', 'cuda_managed']);

const kinds = Object.keys(DeviceType) as DeviceKind[];
const cache = new Map<string, DeviceInfo>();
const byType = new Map<number, DeviceInfo>();

function makeDevice(kind: DeviceKind, id: number): DeviceInfo {
  const isHostAccessible = hostAccessible.has(kind);
  const name: Device = isHostAccessible ? kind : `${kind}:${id}`;
  const known = cache.get(name);
  if (known !== undefined) return known;
  const info: DeviceInfo = Object.freeze({ name, kind, type: DeviceType[kind], id, isHostAccessible });
  cache.set(name, info);
  if (id < 2 ** 20) byType.set(info.type * 2 ** 20 + id, info);
  return info;
}

/** The device of a `DLDevice`. Throws an error that names the number if DLPack 1.3 does not define the type. */
export function deviceFromType(type: number, id: number): DeviceInfo {
  if (typeof type !== 'number' || typeof id !== 'number') {
    throw new ArgumentTypeError('device', 'the numbers type and id', [type, id]);
  }
  // A key is a small integer, which engines find faster. A negative, fractional or large id must not match another type.
  const known = (id & 0xfffff) === id ? byType.get(type * 2 ** 20 + id) : undefined;
  if (known !== undefined) return known;
  const kind = kinds.find((name) => DeviceType[name] === type);
  if (kind === undefined) {
    throw new UnsupportedDeviceError(
      `${type}:${id}`,
      `Expected a device type of DLPack 1.3 (1 to 4, 7 to 18) but received ${type} (device id ${id})`,
    );
  }
  if (!Number.isInteger(id) || id < 0 || id > 0x7fffffff) {
    throw new UnsupportedDeviceError(
      `${kind}:${id}`,
      `Expected a device id from 0 to 2147483647 for '${kind}' but received ${id}`,
    );
  }
  return makeDevice(kind, hostAccessible.has(kind) ? 0 : id);
}

const gpuDeviceInfo = new WeakMap<object, DeviceInfo>();
const gpuDevices: WeakRef<object>[] = [];

/** The device of a GPUDevice: each GPUDevice object gets the next number of 'webgpu', in the order of its first use. */
export function deviceOfGPU(gpuDevice: object): DeviceInfo {
  let info = gpuDeviceInfo.get(gpuDevice);
  if (info === undefined) {
    info = makeDevice('webgpu', gpuDevices.length);
    gpuDevices.push(new WeakRef(gpuDevice));
    gpuDeviceInfo.set(gpuDevice, info);
  }
  return info;
}

/** The GPUDevice of a device; null when there is none of this number or it was collected. */
export function gpuDeviceOf({ kind, id }: DeviceInfo): object | null {
  return kind === 'webgpu' ? (gpuDevices[id]?.deref() ?? null) : null;
}

function isGPUDevice(device: object): device is GPUDeviceLike {
  return 'queue' in device && 'lost' in device && 'createBuffer' in device;
}

/** A device given as a name (`'cuda'` means `'cuda:0'`), as `DLDevice` numbers, or as a GPUDevice. */
export function parseDevice(device: DeviceArgument | DLDevice): DeviceInfo {
  if (isUsable(device)) {
    if ('type' in device) return deviceFromType(device.type, device.id);
    if (isGPUDevice(device)) return deviceOfGPU(device);
  }
  const known = cache.get(device as string);
  if (known !== undefined) return known;
  if (typeof device !== 'string') {
    throw new ArgumentTypeError('device', 'a device such as "cpu" or "cuda:0", or a GPUDevice', device);
  }
  const match = /^([a-z_]+)(?::([0-9]{1,10}))?$/.exec(device);
  const kind = match?.[1];
  if (kind === undefined || !Object.hasOwn(DeviceType, kind)) {
    throw new UnsupportedDeviceError(
      String(device),
      `Expected a device but received ${describe(device)}; kinds are ${kinds.join(', ')}, each with a number such as "cuda:1"`,
    );
  }
  return deviceFromType(DeviceType[kind as DeviceKind], match?.[2] === undefined ? 0 : Number(match[2]));
}

/** The name of a `DLDevice`. */
export function formatDevice(device: DLDevice): Device {
  return parseDevice(device).name;
}

/** Plain host memory. */
export const cpu: DeviceInfo = makeDevice('cpu', 0);
