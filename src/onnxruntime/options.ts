/** Options of sessions and runs, checked, as settings for native code. */

import { checkObject, checkOptions, nearest, type OptionNames } from '../base/options.js';
import { checkSignal } from '../base/signal.js';
import type { StreamArgument } from '../base/stream.js';
import type { Device } from '../device.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import type { Tensor } from '../tensor.js';

/** A provider of kernels, with its own options. */
export interface Provider {
  /** `'cpu'`, `'cuda'`, `'webgpu'`, `'coreml'`, or ONNX Runtime's own name. */
  readonly name: string;
  /** Options that ONNX Runtime documents for the provider, such as `{ device_id: 0 }` for CUDA. */
  readonly options?: Readonly<Record<string, string | number | boolean>>;
}

/** Options of a session. */
export interface SessionOptions {
  /**
   * Aborts the load: the promise rejects at once with the signal's reason. ONNX Runtime stops at its next step, in versions
   * before 1.22 at the end of the load, and then frees the model on its thread. Default: none.
   */
  readonly signal?: AbortSignal;
  /** How many threads compute one run. Default: one for each processor core. */
  readonly threads?: number;
  /**
   * How many runs compute at the same time; others wait. Default: the number of processor cores, at most 4. Always 1 with
   * a stream of CUDA.
   */
  readonly concurrency?: number;
  /** How much ONNX Runtime changes the graph before it runs. Default: `'all'`. */
  readonly optimization?: 'none' | 'basic' | 'extended' | 'all';
  /** Providers of kernels, the preferred one first. Kernels that none of them has run on the CPU. Default: none. */
  readonly providers?: readonly (string | Provider)[];
  /** The CUDA stream of the session's kernels. Default: the current stream of the device. Needs `dlpack/cuda`. */
  readonly stream?: StreamArgument;
  /**
   * Where outputs and intermediate values live. `'blocks'` (default): memory of this package, which is given back after
   * use. `'arena'`: ONNX Runtime's own, which never shrinks.
   */
  readonly memory?: 'blocks' | 'arena';
  /** Fixed lengths for dimensions that have a name in the model: `{ batch: 1 }`. Default: none. */
  readonly dimensions?: Readonly<Record<string, number>>;
  /** Entries of ONNX Runtime's session configuration. Default: none. */
  readonly config?: Readonly<Record<string, string>>;
  /** Libraries with custom operators, by path. Default: none. */
  readonly customOperators?: readonly string[];
  /** Writes a profile to a file whose name begins with this; `endProfiling()` returns its path. Default: no profile. */
  readonly profile?: string;
}

/** Options of one run. */
export interface RunOptions {
  /** The outputs that you want, by name; or tensors to write them to, where `null` lets ONNX Runtime allocate one. Default: all. */
  readonly outputs?: readonly string[] | Readonly<Record<string, Tensor | null>>;
  /** Where outputs go: `'cpu'`, or the device of the session. Default: where the inputs are. */
  readonly device?: Device;
  /** Stops the run between two kernels. The promise rejects with its reason when the run has ended. Default: none. */
  readonly signal?: AbortSignal;
  /** Entries of ONNX Runtime's run configuration. Default: none. */
  readonly config?: Readonly<Record<string, string>>;
}

const sessionNames: OptionNames<SessionOptions> = {
  signal: true,
  threads: true,
  concurrency: true,
  optimization: true,
  providers: true,
  stream: true,
  memory: true,
  dimensions: true,
  config: true,
  customOperators: true,
  profile: true,
};
const runNames: OptionNames<RunOptions> = { outputs: true, device: true, signal: true, config: true };

const levels = { none: 0, basic: 1, extended: 2, all: 99 } as const;
const providerNames: Readonly<Record<string, string>> = {
  cuda: 'CUDA',
  webgpu: 'WebGPU',
  coreml: 'CoreML',
  xnnpack: 'XNNPACK',
  qnn: 'QNN',
  openvino: 'OpenVINO',
};

export function checkSessionOptions(options: SessionOptions): void {
  checkOptions(options, sessionNames, '{ threads: 2 }');
  checkSignal(options.signal);
}

export function checkRunOptions(options: RunOptions): void {
  checkOptions(options, runNames, '{ signal }');
  checkSignal(options.signal);
}

/** How many runs of a session compute at the same time. */
export function concurrencyOf({ concurrency }: SessionOptions, cores: number, hasStream: boolean): number {
  if (concurrency === undefined) return hasStream ? 1 : Math.min(4, cores);
  if (!hasStream || concurrency === 1) return checkNumber(concurrency, 'concurrency', 1, 128);
  throw new ArgumentValueError('concurrency', '1 with CUDA, because runs share the stream of the session', concurrency);
}

function checkNumber(value: number, name: string, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new ArgumentTypeError(name, `an integer from ${least} to ${most}`, value);
  }
  return value;
}

function oneOf<T extends string>(value: T, names: readonly T[], option: string): T {
  if (names.includes(value)) return value;
  const meant = typeof value === 'string' ? nearest(value, names) : null;
  const list = names.map((name) => `'${name}'`).join(', ');
  throw new ArgumentValueError(option, `one of ${list}`, value, meant === null ? '' : `did you mean '${meant}'?`);
}

/** The entries of an option that is a record of strings. */
function entriesOf(record: Readonly<Record<string, string>>, option: string): [string, string][] {
  checkObject(record, "{ key: 'value' }", option);
  return Object.entries(record).map(([key, value]) => {
    if (typeof value !== 'string') throw new ArgumentTypeError(`${option}.${key}`, 'a string', value);
    return [key, value];
  });
}

/** Lets a run end when its kernels are queued on their stream. */
const NO_WAIT = 'disable_synchronize_execution_providers';

/** The run configuration, keys and values in turns. `isQueued`: nothing on the host needs the end of the kernels. */
export function configOf({ config }: RunOptions, isQueued: boolean): readonly string[] | null {
  const entries = config === undefined ? [] : entriesOf(config, 'config');
  if (isQueued && !entries.some(([key]) => key === NO_WAIT)) entries.push([NO_WAIT, '1']);
  return entries.length === 0 ? null : entries.flat();
}

/** Three strings for each setting: what it is, its name and its value. native/onnxruntime/options.cc reads them. */
export function settingsOf(options: SessionOptions): readonly string[] {
  const settings: string[] = [];
  const add = (what: string, name: string, value: string | number) => settings.push(what, name, String(value));
  const { threads, optimization, memory, dimensions, config, customOperators, profile, providers } = options;
  if (threads !== undefined) add('threads', '', checkNumber(threads, 'threads', 1, 1024));
  if (optimization !== undefined) {
    add('optimization', '', levels[oneOf(optimization, ['none', 'basic', 'extended', 'all'], 'optimization')]);
  }
  if (memory === undefined || oneOf(memory, ['blocks', 'arena'], 'memory') === 'blocks') {
    add('config', 'session.use_env_allocators', '1');
  }
  // Threads that spin between runs use half a core for nothing.
  add('config', 'session.intra_op.allow_spinning', '0');
  if (dimensions !== undefined) checkObject(dimensions, '{ batch: 1 }', 'dimensions');
  for (const [name, value] of Object.entries(dimensions ?? {})) {
    add('dimension', name, checkNumber(value, `dimensions.${name}`, 0, Number.MAX_SAFE_INTEGER));
  }
  for (const [key, value] of config === undefined ? [] : entriesOf(config, 'config')) {
    if (key.startsWith('session.use_ort_model_bytes')) {
      throw new ArgumentValueError('config', 'no entry that keeps the bytes of the model, which are freed', key);
    }
    add('config', key, value);
  }
  for (const path of listOf(customOperators, 'customOperators')) add('operators', '', path);
  if (profile !== undefined) add('profile', '', listOf([profile], 'profile')[0] as string);
  if (providers !== undefined && !Array.isArray(providers)) {
    throw new ArgumentTypeError('providers', "an array such as ['cuda']", providers);
  }
  for (const provider of providers ?? []) addProvider(provider, add);
  return settings;
}

function listOf(values: readonly string[] | undefined, option: string): readonly string[] {
  if (values === undefined) return [];
  if (!Array.isArray(values)) throw new ArgumentTypeError(option, 'an array of strings', values);
  for (const value of values) if (typeof value !== 'string') throw new ArgumentTypeError(option, 'a string', value);
  return values;
}

function addProvider(provider: string | Provider, add: (what: string, name: string, value: string) => void): void {
  const { name, options = {} } = typeof provider === 'string' ? { name: provider } : (provider ?? { name: undefined });
  if (typeof name !== 'string') throw new ArgumentTypeError('providers', "a name such as 'cuda'", provider);
  if (name === 'cpu') return; // it is always there
  add(
    'provider',
    Object.hasOwn(providerNames, name.toLowerCase()) ? (providerNames[name.toLowerCase()] as string) : name,
    '',
  );
  checkObject(options, '{ device_id: 0 }', 'options of a provider');
  for (const [key, value] of Object.entries(options)) {
    if (!['string', 'number', 'boolean'].includes(typeof value)) {
      throw new ArgumentTypeError(`the option ${key} of ${name}`, 'a string, a number or a boolean', value);
    }
    add('option', key, typeof value === 'boolean' ? (value ? '1' : '0') : String(value));
  }
}

/** The name of an input or output, or an error that says which there are. */
export function unknownName(kind: 'input' | 'output', name: string, known: readonly string[]): ArgumentValueError {
  const meant = nearest(name, known);
  const list = known.map((each) => `'${each}'`).join(', ') || 'none';
  return new ArgumentValueError(
    `the name of an ${kind}`,
    `one of ${list}`,
    name,
    meant === null ? '' : `did you mean '${meant}'?`,
  );
}
