/** Session: a loaded model. */

import { parseDevice } from '../device.js';
import {
  ArgumentTypeError,
  ArgumentValueError,
  BufferError,
  DisposedError,
  isA,
  isUsable,
  OutOfMemoryError,
} from '../errors.js';
import type { Descriptor } from '../storage/descriptor.js';
import { asyncDisposeSymbol, disposeSymbol } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import { TensorView } from '../view.js';
import { isFailure, OVERLAP, type RawOutputs, type SessionDescription, type SessionHandle } from './binding.js';
import { OnnxRuntimeError } from './error.js';
import { checkRunOptions, configOf, type RunOptions, unknownName } from './options.js';
import { onnxruntime } from './runtime.js';
import { checkDevice, type SessionDevice } from './session-device.js';
import { inputsOf, type ModelMetadata, metadataOf, outputsOf, type ValueInfo } from './value-info.js';
import {
  type Input,
  Message,
  type Output,
  type Prepared,
  prepare,
  prepareOutput,
  readValues,
  Temporaries,
  tensorsOf,
} from './values.js';

let lastRun = 0;
const noOptions: RunOptions = {};
const make = Symbol('make');

/** The session of a model that was loaded. */
export const makeSession = (
  [handle, description]: readonly [SessionHandle, SessionDescription],
  device: SessionDevice | null,
): Session => new Session(make, handle, description, device);

/** What one run needs: written by `prepareRun`, before native code is called. */
interface PreparedRun {
  readonly message: Message;
  readonly temporaries: Temporaries;
  /** Those whose memory the device of the session orders. */
  readonly tensors: readonly Descriptor[];
  readonly config: readonly string[] | null;
  readonly wanted: Wanted;
}

/** The wanted outputs, in the order of the model, with the tensor that was given for one. */
type Wanted = readonly (readonly [name: string, given: Tensor | null])[];

/**
 * Runs a model. Any number of runs may be under way at once. `dispose()` frees it, after the last run has ended.
 * `loadSession` makes it.
 *
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { loadSession } from 'dlpack/onnxruntime';
 * using session = await loadSession('model.onnx'); // here a model with y = x + x
 * const { y } = await session.run({ x: Tensor.from([[1, 2]], { dtype: 'float32' }) });
 * console.log((y as Tensor).toArray()); // [[2, 4]]
 * ```
 * @hideconstructor
 */
export class Session {
  /** The inputs of the model, in its order. */
  readonly inputs: readonly ValueInfo[];
  /** The outputs of the model, in its order. */
  readonly outputs: readonly ValueInfo[];
  /** What the author of the model wrote into it. */
  readonly metadata: ModelMetadata;
  readonly #handle: SessionHandle;
  readonly #device: SessionDevice | null;
  #runCount = 0;
  /** Called when no run is under way. */
  readonly #waiting: (() => void)[] = [];
  readonly #inputNames: ReadonlySet<string>;
  /** What errors call each input. */
  readonly #inputTexts: readonly string[];
  /** What a run wants that names no outputs. */
  readonly #allOutputs: Wanted;
  readonly #onHost: readonly OutputPlace[];
  #isDisposed = false;

  constructor(key: symbol, handle: SessionHandle, description: SessionDescription, device: SessionDevice | null) {
    if (key !== make) throw new ArgumentTypeError('Session', 'a call of loadSession()', key);
    this.#handle = handle;
    this.#device = device;
    this.inputs = inputsOf(description);
    this.outputs = outputsOf(description);
    this.metadata = metadataOf(description);
    this.#inputNames = new Set(this.inputs.map(({ name }) => name));
    this.#inputTexts = this.inputs.map(({ name }) => `input '${name}'`);
    this.#allOutputs = this.outputs.map(({ name }) => [name, null]);
    this.#onHost = this.outputs.map(() => 'host');
  }

  /**
   * Runs the model on another thread. The tensors of the inputs stay alive until the run has ended, even if you dispose
   * them, and you must not write to them meanwhile.
   *
   * @param inputs - A value for each input, by name. Tensors of other libraries are shared; a strided tensor, and memory
   *   that native code may not keep, are copied.
   * @param options - The wanted outputs, tensors that receive them, the device of the others, and a signal; all
   *   outputs, where the inputs are, when absent.
   * @returns A promise of the outputs by name, as tensors over new memory of this package, or the tensors that you
   *   gave.
   * @throws OnnxRuntimeError if ONNX Runtime refuses the values or a kernel fails, and DisposedError after `dispose()`.
   * @throws ArgumentTypeError, ArgumentValueError or LayoutError for names, values and shapes that the model does not
   *   have.
   * @throws BufferError for an output tensor that cannot be written, and OutOfMemoryError if there is not enough
   *   memory. A signal rejects with its reason when it aborts.
   */
  async run(inputs: Readonly<Record<string, Input>>, options: RunOptions = noOptions): Promise<Record<string, Output>> {
    if (options !== noOptions) checkRunOptions(options);
    const { signal } = options;
    if (signal?.aborted) throw signal.reason;
    const number = signal === undefined ? 0 : ++lastRun;
    const stop = () => onnxruntime().stopRun(number);
    let run: PreparedRun | undefined;
    try {
      signal?.addEventListener('abort', stop, { once: true });
      run = this.#prepare(inputs, options, signal);
      this.#runCount++;
      const { message, config } = run;
      const started = onnxruntime().run(this.#handle, message.values, message.texts, config, number);
      if (started === undefined) throw outOfMemory();
      const result = await started;
      if (!signal?.aborted) return this.#read(result, run);
      // The memory is free again only now, so this is the time to reject.
      if (!isFailure(result)) disposeAll(Object.values(this.#read(result, run)), run);
      throw signal.reason;
    } finally {
      signal?.removeEventListener('abort', stop);
      if (run !== undefined) {
        if (--this.#runCount === 0) for (const resume of this.#waiting.splice(0)) resume();
        this.#endRun(run);
      }
    }
  }

  /**
   * Runs the model on this thread, which waits. For models that take microseconds: a thread of its own costs about 40.
   *
   * @param inputs - As for `run`.
   * @param options - As for `run`, without a signal.
   * @returns The outputs by name, as `run` does.
   * @throws ArgumentValueError for a signal, because this thread could not abort it. Otherwise as `run` does.
   */
  runSync(
    inputs: Readonly<Record<string, Input>>,
    options: Omit<RunOptions, 'signal'> = noOptions,
  ): Record<string, Output> {
    if (options !== noOptions) checkRunOptions(options);
    const { signal } = options as RunOptions;
    if (signal !== undefined)
      throw new ArgumentValueError('signal', 'no signal, because runSync blocks it', signal, 'use run()');
    const run = this.#prepare(inputs, options, null);
    const { message, config } = run;
    try {
      const result = onnxruntime().runSync(this.#handle, message.values, message.texts, config);
      if (result === undefined) throw outOfMemory();
      return this.#read(result, run);
    } finally {
      this.#endRun(run);
    }
  }

  /**
   * Ends the profile that the option `profile` began, and returns the path of its file.
   *
   * @returns The path.
   * @throws OnnxRuntimeError if no profile runs, and DisposedError after `dispose()`.
   */
  endProfiling(): string {
    this.#check();
    const path = onnxruntime().endProfiling(this.#handle);
    if (typeof path === 'string' && path !== '') return path;
    throw new OnnxRuntimeError('a profile', path || [1, 'the option profile did not begin one, or it has ended']);
  }

  /** Frees the model, on another thread, when the last run has ended. A second call does nothing. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    onnxruntime().disposeSession(this.#handle);
  }

  /** Does what `dispose()` does, at the end of a `using` block. */
  [disposeSymbol](): void {
    this.dispose();
  }

  /** Waits for the runs that are under way, then frees the model. */
  async [asyncDisposeSymbol](): Promise<void> {
    this.dispose();
    if (this.#runCount > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #check(): void {
    if (this.#isDisposed) throw new DisposedError('Expected a session but it was disposed; load the model again');
  }

  /** Prepares a run, which the caller starts at once. `signal` is null for a synchronous run. */
  #prepare(
    inputs: Readonly<Record<string, Input>>,
    options: RunOptions,
    signal: AbortSignal | undefined | null,
  ): PreparedRun {
    const isAsync = signal !== null;
    this.#check();
    const device = this.#device;
    if (device !== null && !isAsync && this.#runCount > 0) {
      throw new BufferError('Expected no run under way, because runs share the stream of the session; wait for it');
    }
    const temporaries = new Temporaries(device);
    try {
      const values = this.#prepareInputs(inputs, temporaries);
      const wanted = this.#wantedOutputs(options.outputs);
      const given = this.#prepareGiven(wanted, temporaries);
      const tensors = device === null ? [] : values.flatMap(tensorsOf);
      const places = this.#placesOf(wanted, options.device, tensors);
      if (device !== null) tensors.push(...given.flatMap(tensorsOf));
      const isQueued =
        tensors.length > 0 &&
        places.every((place) => place !== 'host') &&
        tensors.every((tensor) => !tensor.device.isHostAccessible);
      const config = configOf(options, isQueued);
      this.#check(); // the code of an input may have disposed the session
      if (signal?.aborted) throw signal.reason; // or aborted the run
      // No code of the program runs from here on, until native code has read the message.
      const message = new Message();
      for (let i = 0; i < values.length; i++) message.write(values[i] as Prepared, this.#inputTexts[i] as string);
      let at = 0;
      let nextGiven = 0;
      for (let i = 0; i < this.outputs.length; i++) {
        const { name } = this.outputs[i] as ValueInfo;
        if (wanted[at]?.[0] !== name) {
          message.add(0);
          continue;
        }
        const place = places[at++] as OutputPlace;
        message.add(placeNumbers[place]);
        if (place === 'given') message.write(given[nextGiven++] as Prepared, `output '${name}'`);
      }
      device?.order(tensors);
      return { message, temporaries, config, wanted, tensors };
    } catch (error) {
      temporaries.release();
      throw error;
    }
  }

  #prepareInputs(inputs: Readonly<Record<string, Input>>, temporaries: Temporaries): Prepared[] {
    if (!isUsable(inputs) || isA(inputs, TensorView)) {
      throw new ArgumentTypeError('inputs', `an object such as { ${this.inputs[0]?.name ?? 'x'}: tensor }`, inputs);
    }
    for (const name in inputs) {
      if (!this.#inputNames.has(name) && Object.hasOwn(inputs, name)) {
        throw unknownName('input', name, [...this.#inputNames]);
      }
    }
    const values: Prepared[] = [];
    for (let i = 0; i < this.inputs.length; i++) {
      const info = this.inputs[i] as ValueInfo;
      const what = this.#inputTexts[i] as string;
      const value: unknown = Object.hasOwn(inputs, info.name) ? inputs[info.name] : undefined;
      if (value !== undefined && !(value === null && info.isOptional)) {
        values.push(prepare(what, info, value, temporaries));
      } else if (info.isOptional) {
        values.push({ form: 'absent' });
      } else {
        throw new ArgumentValueError(what, 'a value', value);
      }
    }
    return values;
  }

  /** The tensors that outputs are written to. */
  #prepareGiven(wanted: Wanted, temporaries: Temporaries): readonly Prepared[] {
    if (wanted === this.#allOutputs) return [];
    const values: Prepared[] = [];
    for (const [name, tensor] of wanted) {
      if (tensor === null) continue;
      // ONNX Runtime would not write to the tensor.
      if (this.#inputNames.has(name)) {
        throw new ArgumentValueError(`output '${name}', which is an input as well`, 'null', tensor);
      }
      const type = this.outputs.find((output) => output.name === name) as ValueInfo;
      values.push(prepareOutput(`output '${name}'`, type, tensor, temporaries));
    }
    return values;
  }

  /** The outputs to compute, in the order of the model. */
  #wantedOutputs(outputs: RunOptions['outputs']): Wanted {
    if (outputs === undefined) return this.#allOutputs;
    const names = this.outputs.map(({ name }) => name);
    if (!isUsable(outputs)) {
      throw new ArgumentTypeError('outputs', "names such as ['y'], or tensors such as { y: tensor }", outputs);
    }
    const isList = Array.isArray(outputs);
    const asked = new Map<string, Tensor | null>(
      isList
        ? Array.from(outputs, (name: string) => [name, null])
        : Object.entries(outputs as Record<string, Tensor | null>),
    );
    for (const name of asked.keys()) if (!names.includes(name)) throw unknownName('output', String(name), names);
    if (asked.size === 0) throw new ArgumentValueError('outputs', 'at least one output', outputs);
    return names.filter((name) => asked.has(name)).map((name) => [name, asked.get(name) ?? null] as const);
  }

  /** Where each output goes. Only tensors can be on a device, and an output that is an input would lie in its memory. */
  #placesOf(wanted: Wanted, asked: RunOptions['device'], inputs: readonly Descriptor[]): readonly OutputPlace[] {
    if (this.#device === null && asked === undefined) {
      return wanted === this.#allOutputs
        ? this.#onHost
        : wanted.map(([, given]) => (given === null ? 'host' : 'given'));
    }
    const info = asked === undefined ? null : parseDevice(asked);
    if (info !== null) checkDevice(this.#device, info, 'device');
    const isOnDevice =
      info === null ? inputs.some((tensor) => !tensor.device.isHostAccessible) : !info.isHostAccessible;
    return wanted.map(([name, given]) => {
      if (given !== null) return 'given';
      const isTensor = this.outputs.some((output) => output.name === name && output.kind === 'tensor');
      return isOnDevice && isTensor && !this.#inputNames.has(name) ? 'device' : 'host';
    });
  }

  #endRun({ tensors, temporaries }: PreparedRun): void {
    try {
      this.#device?.order(tensors); // once more, because the kernels are behind what was noted before
    } finally {
      temporaries.release(); // last, because it may run a producer's deleter, which may throw
    }
  }

  #read(result: RawOutputs | readonly [number, string], { wanted }: PreparedRun): Record<string, Output> {
    if (isFailure(result)) {
      throw result[0] === OVERLAP ? new BufferError(result[1]) : new OnnxRuntimeError('a run', result);
    }
    const values = readValues(result, wanted.length, this.#device);
    const outputs: Record<string, Output> = {};
    for (let i = 0; i < wanted.length; i++) {
      const [name, given] = wanted[i] as Wanted[number];
      const value = given ?? (values[i] as Output);
      if (name !== '__proto__') outputs[name] = value;
      // A model may call an output so, and an assignment would set the prototype.
      else Object.defineProperty(outputs, name, { value, writable: true, enumerable: true, configurable: true });
    }
    return outputs;
  }
}

type OutputPlace = 'host' | 'given' | 'device';
/** As in native/onnxruntime/session_device.h. */
const placeNumbers: Readonly<Record<OutputPlace, number>> = { host: 1, given: 2, device: 3 };

const outOfMemory = () => new OutOfMemoryError('could not start a run');

/** Disposes the tensors that a run made. */
function disposeAll(outputs: readonly Output[], { wanted }: PreparedRun): void {
  const given = new Set<unknown>(wanted.map(([, tensor]) => tensor));
  const visit = (value: unknown): void => {
    if (value instanceof Tensor) {
      if (!given.has(value)) value.dispose();
    } else if (Array.isArray(value)) value.forEach(visit);
  };
  outputs.forEach(visit);
}
