/** The functions that native/onnxruntime defines, which take ordinary arguments: loading and running take microseconds. */

/** A code of ONNX Runtime and its text, or {@link OVERLAP} and the text of the error. */
export type Failure = readonly [code: number, text: string];

/** The code of a run whose tensors share memory that it would write to. As in native/onnxruntime/failure.h. */
export const OVERLAP = -1;

/** A session, for native code only. */
export type SessionHandle = object & { readonly __session: never };

/** What a value of a model is. `type` is ONNX Runtime's number. */
export interface TypeDescription {
  readonly type: number;
  /** The element type of a tensor, or the type of the keys of a map. */
  readonly code?: number;
  /** Absent when the model leaves the number of axes open. */
  readonly shape?: readonly (number | string | null)[];
  readonly element?: TypeDescription;
}

export interface SessionDescription {
  readonly inputs: readonly (TypeDescription & { readonly name: string })[];
  readonly outputs: readonly (TypeDescription & { readonly name: string })[];
  /** How many inputs have no default value; they come first. */
  readonly required: number;
  readonly metadata: {
    readonly producer: string;
    readonly graph: string;
    readonly domain: string;
    readonly description: string;
    readonly version: bigint;
    /** Keys and values in turns. */
    readonly custom: readonly string[];
  };
}

/**
 * The numbers of the outputs that were wanted, in order, with the strings if there are any. null in the place of the
 * numbers: they begin the array that the run got. native/onnxruntime/values.cc writes them.
 */
export type RawOutputs = Float64Array | null | readonly [numbers: Float64Array | null, texts: readonly string[]];

export interface OnnxRuntimeBinding {
  readonly version: string;
  readonly path: string;
  readonly providers: readonly string[];
  loadSession(
    model: string | Float64Array,
    settings: readonly string[],
    concurrency: number,
    /** The number of the session's CUDA device; -1 for none. */
    device: number,
    stream: bigint,
    /** By which `stopLoad` finds the load; 0 for one that is not stopped. */
    number: number,
  ): Promise<readonly [SessionHandle, SessionDescription] | Failure> | undefined;
  /** Stops the load with this number between two steps, in versions from 1.22 on. Its promise then has a failure. */
  stopLoad(number: number): void;
  /** False when the session was disposed before. */
  disposeSession(session: SessionHandle): boolean;
  endProfiling(session: SessionHandle): string | Failure | undefined;
  runSync(
    session: SessionHandle,
    numbers: Float64Array,
    texts: readonly string[] | null,
    config: readonly string[] | null,
  ): RawOutputs | Failure | undefined;
  run(
    session: SessionHandle,
    numbers: Float64Array,
    texts: readonly string[] | null,
    config: readonly string[] | null,
    /** By which `stopRun` finds the run; 0 for one that is not stopped. */
    number: number,
  ): Promise<RawOutputs | Failure> | undefined;
  /** Stops the run with this number between two kernels. */
  stopRun(number: number): void;
}

export function isFailure(result: unknown): result is Failure {
  return Array.isArray(result) && typeof result[0] === 'number';
}
