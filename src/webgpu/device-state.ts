/** What this module knows about each GPUDevice: whether it was lost, and the pipelines made for it. */

import { type DeviceInfo, deviceOfGPU, gpuDeviceOf } from '../device.js';
import { ForeignError, textOf, UnsupportedDeviceError } from '../errors.js';
import type { GpuDevice, GpuPipeline, GpuTexture } from './api.js';
import { DeviceLostError } from './error.js';
import { Spares } from './spares.js';

/** Pipelines that are kept for a device. A program copies tensors of few layouts again and again. */
const KEPT_PIPELINES = 64;

export class DeviceState {
  readonly gpuDevice: GpuDevice;
  readonly name: string;
  readonly spares = new Spares();
  /** The texture of the last image, for the next image of its size. */
  private image: GpuTexture | null = null;
  private lost: { readonly reason?: string; readonly message?: string } | null = null;
  private readonly pipelines = new Map<string, GpuPipeline>();

  constructor(gpuDevice: GpuDevice) {
    this.gpuDevice = gpuDevice;
    this.name = deviceOfGPU(gpuDevice).name;
    gpuDevice.lost.then(
      (info) => {
        this.lost = info ?? {};
        this.pipelines.clear();
        this.spares.close();
        this.image = null;
      },
      () => {},
    );
  }

  checkAlive(): void {
    if (this.lost !== null)
      throw new DeviceLostError(this.name, this.lost.reason ?? 'unknown', this.lost.message ?? '');
  }

  /** The pipeline of a compute shader. */
  pipeline(code: string): GpuPipeline {
    return this.kept(code, () => {
      const module = this.gpuDevice.createShaderModule({ code });
      return this.gpuDevice.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
    });
  }

  /** The pipeline of a shader that draws into textures of a format. */
  renderPipeline(code: string, format: string): GpuPipeline {
    return this.kept(`${format}\n${code}`, () => {
      const module = this.gpuDevice.createShaderModule({ code });
      const vertex = { module, entryPoint: 'corner' };
      const fragment = { module, entryPoint: 'colour', targets: [{ format }] };
      return this.gpuDevice.createRenderPipeline({ layout: 'auto', vertex, fragment });
    });
  }

  /** A texture with these properties, which the work of earlier calls may still use: the queue keeps the order. */
  imageTexture(width: number, height: number, format: string, usage: number): GpuTexture {
    this.checkAlive();
    const { image } = this;
    if (image !== null && image.width === width && image.height === height && image.format === format) return image;
    image?.destroy();
    this.image = this.gpuDevice.createTexture({ size: [width, height], format, usage, label: 'dlpack' });
    return this.image;
  }

  /** Destroys the memory that is kept for new tensors and images. */
  emptyCache(): void {
    this.spares.clear();
    this.image?.destroy();
    this.image = null;
  }

  /** The pipeline that `make` makes, once. The least recently used pipelines are dropped. */
  private kept(key: string, make: () => GpuPipeline): GpuPipeline {
    const known = this.pipelines.get(key);
    if (known !== undefined) {
      this.pipelines.delete(key);
      this.pipelines.set(key, known);
      return known;
    }
    const pipeline = make();
    for (const oldest of this.pipelines.keys()) {
      if (this.pipelines.size < KEPT_PIPELINES) break;
      this.pipelines.delete(oldest);
    }
    this.pipelines.set(key, pipeline);
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
/** Weak, because a state ends with its GPUDevice. */
let known: WeakRef<DeviceState>[] = [];

/** The state of a GPUDevice. */
export function stateOf(gpuDevice: object): DeviceState {
  let state = states.get(gpuDevice);
  if (state === undefined) {
    state = new DeviceState(gpuDevice as GpuDevice);
    states.set(gpuDevice, state);
    known = [...known.filter((made) => made.deref() !== undefined), new WeakRef(state)];
  }
  return state;
}

/** The states of all GPUDevices. */
export function allStates(): DeviceState[] {
  return known.flatMap((made) => made.deref() ?? []);
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
