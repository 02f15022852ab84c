/**
 * SessionDevice: the CUDA device of a session and the stream of its kernels. `dlpack/cuda`, where it is loaded, orders the
 * stream with the other streams that use a tensor.
 */

import { type DeviceInfo, parseDevice } from '../device.js';
import { ArgumentValueError, UnsupportedDeviceError } from '../errors.js';
import type { NativeStorage } from '../native/memory/storage.js';
import type { Descriptor } from '../storage/descriptor.js';
import { type DeviceBackend, getDeviceBackend, loadAdvice, type StreamBackend } from '../storage/device-backend.js';
import type { SessionOptions } from './options.js';

/** The driver's name for a stream that each thread has, and that a thread of a session would have as another one. */
const PER_THREAD_STREAM = 2n;

export class SessionDevice {
  private constructor(
    readonly info: DeviceInfo,
    readonly stream: bigint,
    private readonly backend: DeviceBackend,
  ) {}

  /** The device of a session with the provider `cuda`; null where `dlpack/cuda` is not loaded, and for other sessions. */
  static of({ providers = [], stream }: SessionOptions): SessionDevice | null {
    const cuda = providers.find((each) => nameOf(each).toLowerCase() === 'cuda');
    if (cuda === undefined) {
      if (stream == null) return null;
      throw new ArgumentValueError('stream', "null without the provider 'cuda'", stream);
    }
    const { options = {} } = typeof cuda === 'string' ? {} : cuda;
    if (Object.hasOwn(options, 'user_compute_stream')) {
      throw new ArgumentValueError('options of cuda', 'no user_compute_stream', options, 'use the option stream');
    }
    const info = parseDevice(`cuda:${Number(options.device_id ?? 0)}`);
    const backend = getDeviceBackend(info);
    if (backend === null) {
      if (stream == null) return null;
      throw new ArgumentValueError('stream', 'null', stream, loadAdvice(info).slice(2));
    }
    const handle = (backend.streams as StreamBackend).handle(info, stream);
    if (handle === PER_THREAD_STREAM) {
      throw new ArgumentValueError(
        'stream',
        'a stream that other threads can use',
        handle,
        'make one with new Stream()',
      );
    }
    return new SessionDevice(info, handle, backend);
  }

  /** Work that the session's stream gets from now on starts after all work on these tensors, and is noted there. */
  order(tensors: readonly Descriptor[]): void {
    for (const tensor of tensors) {
      const isAlive = (tensor.storage as NativeStorage).handle !== 0;
      if (isAlive && tensor.size > 0 && tensor.device === this.info) this.backend.handOver(tensor, this.stream);
    }
  }

  /** A tensor of a run is ready for what the session's stream gets from now on. */
  follow(tensor: Descriptor): void {
    this.backend.follow(tensor, this.stream);
  }
}

function nameOf(provider: unknown): string {
  const name = typeof provider === 'string' ? provider : (provider as { name?: unknown } | null)?.name;
  return typeof name === 'string' ? name : '';
}

/** Throws unless runs of a session can use memory of this device. */
export function checkDevice(device: SessionDevice | null, given: DeviceInfo, what: string): void {
  if (given.isHostAccessible || given === device?.info) return;
  const expected = device === null ? 'host memory' : `host memory or '${device.info.name}'`;
  const advice =
    given.kind === 'webgpu'
      ? "copy the tensor first with await x.toAsync('cpu')"
      : device === null && given.kind === 'cuda'
        ? "import 'dlpack/cuda' and load the model with providers: ['cuda'], or copy the tensor first with to('cpu')"
        : "copy the tensor first with to('cpu')";
  throw new UnsupportedDeviceError(
    given.name,
    `Expected ${expected} for ${what} but received '${given.name}'; ${advice}`,
  );
}
