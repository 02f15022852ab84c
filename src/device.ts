/** Devices: every device type of DLPack, as a string (`'cpu'`, `'cuda:1'`) and as `(type, id)`. */

import { nearest } from './base/options.js';
import { ArgumentTypeError, describe, isUsable, UnsupportedDeviceError } from './errors.js';

/**
 * `DLDeviceType` of dlpack.h: those of version 1.3 and, from 19 on, those that its main branch has added. DLPack never assigned the
 * numbers 5 and 6.
 */
export const DeviceType = {
  /** Host memory. `kDLCPU`. */
  cpu: 1,
  /** Memory of an NVIDIA GPU. `kDLCUDA`. */
  cuda: 2,
  /** Host memory that CUDA has pinned. `kDLCUDAHost`. */
  cuda_host: 3,
  /** An OpenCL buffer. `kDLOpenCL`. */
  opencl: 4,
  /** A Vulkan buffer. `kDLVulkan`. */
  vulkan: 7,
  /** A Metal buffer. `kDLMetal`. */
  metal: 8,
  /** A Verilog simulator. `kDLVPI`. */
  vpi: 9,
  /** Memory of an AMD GPU. `kDLROCM`. */
  rocm: 10,
  /** Host memory that ROCm has pinned. `kDLROCMHost`. */
  rocm_host: 11,
  /** A device for experiments. `kDLExtDev`. */
  ext_dev: 12,
  /** CUDA memory that moves between host and GPU. `kDLCUDAManaged`. */
  cuda_managed: 13,
  /** Unified memory of oneAPI. `kDLOneAPI`. */
  oneapi: 14,
  /** A GPUBuffer. `kDLWebGPU`. */
  webgpu: 15,
  /** A Qualcomm Hexagon processor. `kDLHexagon`. */
  hexagon: 16,
  /** A Microsoft MAIA accelerator. `kDLMAIA`. */
  maia: 17,
  /** An AWS Trainium accelerator. `kDLTrn`. */
  trn: 18,
  /** A Google TPU. `kDLTPU`. */
  tpu: 19,
  /** Host memory that is pinned for a TPU. `kDLTPUHost`. */
  tpu_host: 20,
  /** A Huawei Ascend accelerator. `kDLAscend`. */
  ascend: 21,
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
  /** Takes copies and commands. */
  readonly queue: object;
  /** Resolves when the device is lost. */
  readonly lost: Promise<unknown>;
  /** Makes a GPUBuffer. */
  createBuffer(descriptor: { size: number; usage: number }): object;
}

/** A device as functions take it: its name, or a GPUDevice. */
export type DeviceArgument = Device | GPUDeviceLike;

/** The two numbers of `DLDevice`. */
export interface DLDevice {
  /** One of `DeviceType`. */
  readonly type: number;
  /** Counts from 0; 0 for host memory. */
  readonly id: number;
}

/** A device. There is one frozen object for each device. */
export interface DeviceInfo extends DLDevice {
  /** The name of the device, such as `'cuda:0'`. */
  readonly name: Device;
  /** The name without a number. */
  readonly kind: DeviceKind;
  /** The CPU can read and write this memory through its address. */
  readonly isHostAccessible: boolean;
}

/** Host, pinned and managed memory. It always has the device id 0 (dlpack.h), which the name omits. */
const hostAccessible: ReadonlySet<DeviceKind> = new Set(['cpu', 'cuda_host', 'rocm_host', 'cuda_managed', 'tpu_host']);

/** Kinds whose memory has addresses: the same list as in native/exchange/descriptor.h. */
const addressable: ReadonlySet<DeviceKind> = new Set([...hostAccessible, 'cuda', 'rocm', 'oneapi']);

/**
 * True if the `data` of a tensor on this device is an address, so that an offset can be added to it. Elsewhere it is an
 * object of the driver (`id<MTLBuffer>` on Metal, `cl_mem` of OpenCL), and the offset stays beside it.
 */
export function isAddressable({ kind }: DeviceInfo): boolean {
  return addressable.has(kind);
}

const kinds = Object.keys(DeviceType) as DeviceKind[];
/** What other libraries call these devices. */
const otherNames: Readonly<Record<string, string>> = {
  gpu: "cuda' or 'webgpu",
  nvidia: 'cuda',
  pinned: 'cuda_host',
  mps: 'metal',
  hip: 'rocm',
  amd: 'rocm',
  xpu: 'oneapi',
  sycl: 'oneapi',
  cl: 'opencl',
  npu: 'ascend',
  host: 'cpu',
  wasm: 'cpu',
};
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

/** The device of a `DLDevice`. Throws an error that names the number if this package does not know the type. */
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
      `Expected a device type (1 to 4, 7 to ${DeviceType.ascend}) but received ${type} (device id ${id}); a newer version of this package may know it`,
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

/** True for an object with the parts of a GPUDevice that identify one. */
export function isGPUDevice(device: object): device is GPUDeviceLike {
  return 'queue' in device && 'lost' in device && 'createBuffer' in device;
}

/**
 * Looks up a device.
 *
 * @param device - A name (`'cuda'` means `'cuda:0'`), the two numbers of `DLDevice`, or a GPUDevice.
 * @returns Its name, kind, numbers, and whether the CPU can read its memory.
 * @throws UnsupportedDeviceError if DLPack 1.3 has no such device; the message says which name was probably meant.
 * @throws ArgumentTypeError for anything else.
 *
 * @example
 * ```ts
 * import { parseDevice } from 'dlpack';
 * console.log(parseDevice('cuda').name, parseDevice('cpu').isHostAccessible); // cuda:0 true
 * ```
 */
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
    const name = device.toLowerCase().replace(/[^a-z_].*/, '');
    const near = Object.hasOwn(otherNames, name) ? otherNames[name] : nearest(name, kinds);
    const meant = device.startsWith(`${near}:`) ? null : near; // only its number is wrong
    // A list of all kinds would hide the remedy.
    const remedy = meant
      ? `did you mean '${meant}'?`
      : `kinds are ${kinds.join(', ')}, each with a number such as "cuda:1"`;
    throw new UnsupportedDeviceError(String(device), `Expected a device but received ${describe(device)}; ${remedy}`);
  }
  return deviceFromType(DeviceType[kind as DeviceKind], match?.[2] === undefined ? 0 : Number(match[2]));
}

/**
 * Returns the name of a `DLDevice`.
 *
 * @param device - The two numbers.
 * @returns The name, such as `'cuda:1'`.
 * @throws UnsupportedDeviceError if DLPack 1.3 has no such device, and ArgumentTypeError for anything but two integers.
 * @example
 * ```ts
 * import { formatDevice } from 'dlpack';
 * console.log(formatDevice({ type: 2, id: 1 })); // cuda:1
 * ```
 */
export function formatDevice(device: DLDevice): Device {
  return parseDevice(device).name;
}

/** Plain host memory. */
export const cpu: DeviceInfo = makeDevice('cpu', 0);
