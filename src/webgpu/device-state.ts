/** What this module knows about each GPUDevice: whether it was lost, and the pipelines made for it. */

import { type DeviceInfo, deviceOfGPU, gpuDeviceOf } from '../device.js';
import { ForeignError, textOf, UnsupportedDeviceError } from '../errors.js';
import type { GpuDevice, GpuPipeline } from './api.js';
import { DeviceLostError } from './error.js';
import { Spares } from './spares.js';

/** Cores with which a software adapter copies most rows faster by a shader (docs/decisions/rows-through-a-texture.md). */
const MANY_CORES = 8;
/** Pipelines that are kept for a device. A program copies tensors of few layouts again and again. */
const KEPT_PIPELINES = 64;

export class DeviceState {
  readonly gpuDevice: GpuDevice;
  readonly name: string;
  /** The adapter computes on the CPU. */
  readonly isSoftware: boolean;
  readonly hasManyCores: boolean;
  readonly spares = new Spares();
  private lost: { readonly reason?: string; readonly message?: string } | null = null;
  private readonly pipelines = new Map<string, GpuPipeline>();

  constructor(gpuDevice: GpuDevice) {
    this.gpuDevice = gpuDevice;
    this.name = deviceOfGPU(gpuDevice).name;
    const { adapterInfo } = gpuDevice;
    this.isSoftware = adapterInfo?.isFallbackAdapter === true || adapterInfo?.architecture === 'swiftshader';
    // Node 20 has no navigator.
    const { navigator } = globalThis as { navigator?: { hardwareConcurrency?: number } };
    this.hasManyCores = (navigator?.hardwareConcurrency ?? 1) >= MANY_CORES;
    gpuDevice.lost.then(
      (info) => {
        this.lost = info ?? {};
        this.pipelines.clear();
        this.spares.close();
      },
      () => {},
    );
  }

  checkAlive(): void {
    if (this.lost !== null)
      throw new DeviceLostError(this.name, this.lost.reason ?? 'unknown', this.lost.message ?? '');
  }

  /** The pipeline of a shader. The least recently used pipelines are dropped. */
  pipeline(code: string): GpuPipeline {
    const known = this.pipelines.get(code);
    if (known !== undefined) {
      this.pipelines.delete(code);
      this.pipelines.set(code, known);
      return known;
    }
    const module = this.gpuDevice.createShaderModule({ code });
    const pipeline = this.gpuDevice.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
    for (const oldest of this.pipelines.keys()) {
      if (this.pipelines.size < KEPT_PIPELINES) break;
      this.pipelines.delete(oldest);
    }
    this.pipelines.set(code, pipeline);
    return pipeline;
  }

  /**
   * Submits work, waits for it with `wait`, and throws the error that WebGPU reports for it. Without the scope such an
   * error would only reach the page's `uncapturederror` event.
   */
  async checked<T>(submit: () => T, wait: (result: T) => Promise<unknown>): Promise<T> {
    this.checkAlive();
    const { gpuDevice } = this;
    gpuDevice.pushErrorScope('out-of-memory');
    gpuDevice.pushErrorScope('validation');
    let result: T;
    let reports: Promise<string | null>[];
    try {
      result = submit();
    } finally {
      reports = [reportOf(gpuDevice), reportOf(gpuDevice)];
    }
    const failure = await wait(result).then(
      () => null,
      (error: unknown) => textOf(error),
    );
    const [first, second] = await Promise.all(reports);
    const message = first ?? second ?? failure ?? null;
    if (message === null) {
      this.checkAlive();
      return result;
    }
    await lostSoon(gpuDevice);
    this.checkAlive();
    throw new ForeignError('WebGPU', `A copy on '${this.name}' failed: ${message}`);
  }
}

/** The message of the innermost error scope, or null. A lost device rejects, and `checked` finds the loss by itself. */
function reportOf(gpuDevice: GpuDevice): Promise<string | null> {
  return gpuDevice.popErrorScope().then(
    (error) => error?.message ?? null,
    () => null,
  );
}

/** Work on a lost device can fail before the loss is announced, so wait for the announcement for a moment. */
async function lostSoon(gpuDevice: GpuDevice): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const moment = new Promise((resolve) => {
    timer = setTimeout(resolve, 200);
  });
  await Promise.race([gpuDevice.lost, moment]);
  clearTimeout(timer);
}

const states = new WeakMap<object, DeviceState>();

/** The state of a GPUDevice. */
export function stateOf(gpuDevice: object): DeviceState {
  let state = states.get(gpuDevice);
  if (state === undefined) {
    state = new DeviceState(gpuDevice as GpuDevice);
    states.set(gpuDevice, state);
  }
  return state;
}

/** The state of a device by its number. Throws when this process has no GPUDevice of the number. */
export function stateOfDevice(device: DeviceInfo): DeviceState {
  const gpuDevice = gpuDeviceOf(device);
  if (gpuDevice !== null) return stateOf(gpuDevice);
  throw new UnsupportedDeviceError(
    device.name,
    `Expected the number of a known GPUDevice but received '${device.name}'; pass the GPUDevice itself: { device: gpuDevice }`,
  );
}
