/** A library under test: a few functions that its author writes over its own tensors. */

import type { DLDevice } from '../device.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import type { LinearMemory } from '../storage/wasm-storage.js';
import type { Recipe } from './recipes.js';

const forms = ['buffer', 'external', 'gpuBuffer'] as const;
/** Where the memory of an exchange may lie (docs/spec.md, sections 4 and 7). */
export type Form = (typeof forms)[number];

/** A tensor made from another: its shape, and for each element its place in the first tensor, in row-major order. */
export interface View {
  /**
   * Makes the view of a tensor.
   *
   * @param tensor - What `producer.make` made.
   */
  make(tensor: object): object;
  /** The shape of the view. */
  readonly shape: readonly number[];
  /** The place of each element in the first tensor. */
  readonly elements: readonly number[];
  /** The tensor that `make` gets: `'f32'`, two rows of three, or `'i4'`, two rows of four packed integers. */
  readonly recipe?: 'f32' | 'i4';
  /** Its first element starts inside a byte, so it can be exported only as a copy. */
  readonly startsInsideByte?: boolean;
}

/** Streams of a device: those of a consumer, and the library's own. */
export interface StreamSubject {
  /** Makes a stream of a consumer, which waits for no other, and returns its handle. */
  make(): bigint;
  /**
   * Ends a stream of `make`, after the tensor was released.
   *
   * @param stream - What `make` returned.
   */
  destroy(stream: bigint): void;
  /**
   * Begins to write the elements on a stream of the library, and returns before they have arrived.
   *
   * @param tensor - What `makeOn` made.
   * @param bytes - The elements.
   */
  write(tensor: object, bytes: Uint8Array): void;
  /**
   * Copies memory of the device on a stream of a consumer, and waits for the copy.
   *
   * @param stream - What `make` returned.
   * @param address - Where the bytes are.
   * @param length - How many bytes.
   * @returns The copied bytes.
   */
  read(stream: bigint, address: bigint, length: number): Uint8Array | Promise<Uint8Array>;
}

/** How to make tensors of the library under test. */
export interface ProducerSubject {
  /** The forms that it exports. The default is buffers alone. */
  readonly forms?: readonly Form[];
  /**
   * Makes a tensor with these elements; null if the library has no such tensors. For `gpuBuffer`, on this GPUDevice.
   *
   * @param recipe - The dtype, the shape and the elements.
   * @param gpuDevice - The GPUDevice, for the form `gpuBuffer` alone.
   */
  make(recipe: Recipe, gpuDevice?: object): object | null;
  /**
   * Makes a tensor in memory of another device, such as pinned host memory (type 3) or a CUDA device (type 2); null if
   * the library has none. For libraries with native externals.
   *
   * @param recipe - The dtype, the shape and the elements.
   * @param device - The device.
   */
  makeOn?(recipe: Recipe, device: DLDevice): object | null;
  /**
   * Returns the streams of such a device, which show whether exports keep the order of work; null if the library has
   * none.
   *
   * @param device - The device.
   */
  streams?(device: DLDevice): StreamSubject | null;
  /**
   * Makes a tensor over memory of somebody else, without a copy; null if the library wraps no such memory.
   *
   * @param recipe - The dtype, the shape and the elements.
   * @param memory - The memory, which has the elements already.
   * @param byteOffset - Where the elements begin: not at the first byte of a `WebAssembly.Memory`, which is NULL to its module.
   */
  wrap?(recipe: Recipe, memory: ArrayBuffer | SharedArrayBuffer | LinearMemory, byteOffset: number): object | null;
  /**
   * Makes a tensor whose memory must not be written; null if the library has none.
   *
   * @param recipe - The dtype, the shape and the elements.
   */
  makeReadOnly?(recipe: Recipe): object | null;
  /**
   * Releases a tensor, where the library has a way to.
   *
   * @param tensor - What one of the other functions made.
   */
  dispose?(tensor: object): void;
  /** Views of a tensor. */
  readonly views?: Readonly<Record<string, View>>;
}

/** A tensor that the library took. */
export interface Taken {
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /**
   * Reads the elements in row-major order without gaps.
   *
   * @returns The bytes, or a promise of them where reading takes time.
   */
  bytes(): Uint8Array | Promise<Uint8Array>;
  /**
   * Writes one float32. Absent if the library refuses to write to this tensor.
   *
   * @param index - The place of the element in row-major order.
   * @param value - The value.
   */
  write?(index: number, value: number): void;
  /** The library's tensor, if it is a producer itself. */
  readonly tensor?: object;
  /** Releases the tensor. */
  release(): void;
}

/** What a case asks of a consumer. */
export interface ConsumerOptions {
  /** true: always copy; false: never copy, throw instead; null (default): copy only when needed. */
  readonly copy?: boolean | null;
  /** The device that the tensor must be on; any when absent. */
  readonly device?: DLDevice;
  /** The GPUDevice that the tensor must be on; any when absent. */
  readonly gpuDevice?: object;
}

/** How the library under test takes tensors of others. */
export interface ConsumerSubject {
  /** The forms that it takes. The default is buffers alone. */
  readonly forms?: readonly Form[];
  /** Options that the library's function does not have. Cases that need them are skipped. */
  readonly without?: readonly (keyof ConsumerOptions)[];
  /** It copies what it takes, so it may call the deleter before `consume` returns. Cases that need shared memory are skipped. */
  readonly copies?: boolean;
  /**
   * Takes a tensor from a producer.
   *
   * @param producer - A tensor of another library, or what native code or the kit made.
   * @param options - What is asked of the library.
   * @returns The tensor as the library sees it.
   */
  consume(producer: object, options: ConsumerOptions): Taken;
}

/** A library under test: how it makes tensors, how it takes them, or both. */
export interface Subject {
  /** The library's name, and perhaps its version. */
  readonly name: string;
  /** How it makes tensors. */
  readonly producer?: ProducerSubject;
  /** How it takes tensors. */
  readonly consumer?: ConsumerSubject;
  /** Makes a GPUDevice, for `npx dlpack conformance` on libraries with GPUBuffers. */
  gpuDevice?(): object | Promise<object>;
  /** Ids of cases that are known to fail, or beginnings of ids with a `*`, each with the reason. */
  readonly expectFailures?: Readonly<Record<string, string>>;
}

export const hasForm = (side: { readonly forms?: readonly Form[] } | undefined, form: Form): boolean =>
  side !== undefined && (side.forms ?? ['buffer']).includes(form);

/** Throws for what would leave out cases without a word, such as a misspelled form. */
export function checkSubject({ producer, consumer }: Subject): void {
  checkSide('producer', 'make', producer);
  checkSide('consumer', 'consume', consumer);
}

function checkSide(name: string, method: string, side: ProducerSubject | ConsumerSubject | undefined): void {
  if (side === undefined) return;
  const call = (side as unknown as Record<string, unknown> | null)?.[method];
  if (typeof call !== 'function') throw new ArgumentTypeError(`${name}.${method}`, 'a function', call);
  const unknown = side.forms?.find((form) => !forms.includes(form));
  if (unknown !== undefined) throw new ArgumentValueError(`${name}.forms`, forms.join(', '), unknown);
}
