/** loadSession: from a file or from memory, on another thread. */

import { ArgumentTypeError, ArgumentValueError, isA, OutOfMemoryError } from '../errors.js';
import { inNativeMemory } from '../native/exchange/export.js';
import { node } from '../native/load/node-modules.js';
import type { NativeStorage } from '../native/memory/storage.js';
import { Tensor } from '../tensor.js';
import { descriptorOf, TensorView } from '../view.js';
import { isFailure, type SessionDescription, type SessionHandle } from './binding.js';
import { OnnxRuntimeError } from './error.js';
import { checkSessionOptions, concurrencyOf, type SessionOptions, settingsOf } from './options.js';
import { onnxruntime } from './runtime.js';
import { makeSession, type Session } from './session.js';
import { SessionDevice } from './session-device.js';

let lastLoad = 0;

/** A model in a file (a path or a `file:` URL) or in memory. */
export type Model = string | URL | Uint8Array | TensorView<'uint8'>;

/**
 * Loads a model, on another thread.
 *
 * @param model - The path or `file:` URL of an ONNX file, or its bytes. Files with external data need a path. ONNX Runtime does
 *   not need the bytes any more when the promise resolves.
 * @param options - Threads, providers, the device and more; ONNX Runtime's own defaults when absent.
 * @returns A promise of a session. Dispose it when no run is left.
 * @throws ArgumentTypeError or ArgumentValueError for anything but a model and known options.
 * @throws LoadError if ONNX Runtime is not installed, and OnnxRuntimeError if the model cannot be loaded.
 * @throws OutOfMemoryError if there is not enough memory to start. A session with a signal rejects with its reason when
 *   it aborts.
 * @example
 * ```ts fragment: needs a model and its input
 * import { loadSession } from 'dlpack/onnxruntime';
 * const session = await loadSession('model.onnx');
 * const { logits } = await session.run({ pixels });
 * ```
 */
export async function loadSession(model: Model, options: SessionOptions = {}): Promise<Session> {
  checkSessionOptions(options);
  const { signal } = options;
  if (signal?.aborted) throw signal.reason;
  const cores = node.os.availableParallelism();
  const settings = settingsOf(options);
  const device = SessionDevice.of(options);
  const concurrency = concurrencyOf(options, cores, device !== null);
  const number = signal === undefined ? 0 : ++lastLoad;
  const loading = load(model, settings, concurrency, device, number);
  if (loading === undefined) throw new OutOfMemoryError('could not load a model');
  const made = loading.then((result) => {
    if (isFailure(result)) throw new OnnxRuntimeError('a model', result);
    return makeSession(result as readonly [SessionHandle, SessionDescription], device);
  });
  return signal === undefined ? made : untilAborted(made, signal, number);
}

function load(
  model: Model,
  settings: readonly string[],
  concurrency: number,
  device: SessionDevice | null,
  number: number,
) {
  const binding = onnxruntime();
  const place = [device?.info.id ?? -1, device?.stream ?? 0n, number] as const;
  if (typeof model === 'string' || isA(model, URL)) {
    return binding.loadSession(pathOf(model), settings, concurrency, ...place);
  }
  const isBytes = isA(model, Uint8Array);
  if (!isBytes && !isA(model, TensorView)) {
    throw new ArgumentTypeError('model', 'a path, a file: URL, a Uint8Array or a uint8 tensor', model);
  }
  const tensor = isBytes ? Tensor.from(model) : null;
  try {
    const given = descriptorOf(tensor ?? (model as TensorView));
    if (given.dtype.name !== 'uint8' || !given.isContiguous || given.shape.length !== 1) {
      throw new ArgumentValueError('model', 'a contiguous uint8 tensor with one axis', `${given.dtype.name}`);
    }
    given.checkHost();
    const ready = inNativeMemory(given, null);
    try {
      const bytes = Float64Array.of((ready.storage as NativeStorage).handle, ready.bitOffset / 8, ready.nbytes);
      return binding.loadSession(bytes, settings, concurrency, ...place);
    } finally {
      if (ready !== given) ready.release();
    }
  } finally {
    tensor?.dispose();
  }
}

function pathOf(model: string | URL): string {
  const path = typeof model === 'string' ? model : fileOf(model);
  if (path.includes('\0')) throw new ArgumentValueError('model', 'a path without NUL characters', path);
  return node.path.resolve(path);
}

function fileOf(url: URL): string {
  if (url.protocol !== 'file:') {
    throw new ArgumentValueError('model', 'a path or a file: URL', url.href, 'fetch it, and pass its bytes');
  }
  return node.url.fileURLToPath(url);
}

/** Rejects when the signal aborts, and stops the load. A session that is made nevertheless is disposed. */
function untilAborted(made: Promise<Session>, signal: AbortSignal, number: number): Promise<Session> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      onnxruntime().stopLoad(number);
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    made
      .finally(() => signal.removeEventListener('abort', abort))
      .then((session) => {
        if (signal.aborted) {
          abort();
          session.dispose();
        } else resolve(session);
      }, reject);
  });
}
