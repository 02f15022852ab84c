/**
 * Writes files of tensors as a stream: at most one tensor is copied at a time, and tensors that are packed in host
 * memory are not copied.
 */

import { checkObject, checkOptions, type OptionNames } from '../base/options.js';
import { checkSignal, untilAborted } from '../base/signal.js';
import { sizeBytes } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError, adviceFor, isA, isUsable } from '../errors.js';
import type { Descriptor } from '../storage/descriptor.js';
import { descriptorOf, TensorView } from '../view.js';
import { crc32 } from './formats/crc32.js';
import { formatNpy } from './formats/npy.js';
import { checkText, formatSafetensors, orderForAlignment } from './formats/safetensors.js';
import {
  CHECKSUM_AT,
  formatChecksum,
  formatDescriptor,
  formatDirectory,
  formatLocal,
  type StoredMember,
} from './formats/zip-format.js';
import { getHost, isUrl, type Target } from './host.js';
import { isColumnMajor, packedBytes } from './packed.js';

/** The target: a path (Node, Bun, Deno), or a stream of bytes, which is closed at the end. */
export type FileTarget = string | WritableStream<Uint8Array>;

/** Named tensors: an object, a Map, an open file, or any iterable of pairs. */
export type NamedTensors = Readonly<Record<string, TensorView>> | Iterable<readonly [string, TensorView]>;

/** How a file is written. */
export interface WriteOptions {
  /**
   * true: waits until the bytes are on the disk before the file gets its name, so that it survives a power failure. The
   * default is false.
   */
  durable?: boolean;
  /**
   * Stops the writing between two pieces: the promise is rejected with the reason of the signal, and no file is left.
   * Without one, nothing stops it.
   */
  signal?: AbortSignal;
}

/** How a safetensors file is written. */
export interface WriteSafetensorsOptions extends WriteOptions {
  /** Strings for `__metadata__`; none when absent. */
  metadata?: Readonly<Record<string, string>>;
}

const writeNames: OptionNames<WriteOptions> = { durable: 'boolean', signal: true };
const safetensorsNames: OptionNames<WriteSafetensorsOptions> = { ...writeNames, metadata: true };

/** Where the pieces of a file go. */
type Sink = Pick<Target, 'write' | 'patch'>;

interface Writing {
  readonly durable: boolean;
  readonly signal: AbortSignal | null;
}

/** The options, read before tensors are held. */
function writingOf({ durable = false, signal }: WriteOptions): Writing {
  checkSignal(signal);
  return { durable, signal: signal ?? null };
}

interface Named {
  readonly name: string;
  readonly descriptor: Descriptor;
}

/**
 * Writes tensors as a safetensors file. The data, and tensors of a multiple of 64 bytes, start at a multiple of 64.
 *
 * @param options - `metadata`, an object of strings, and `durable`; neither when absent. A signal stops the writing.
 * @param target - A path or a WritableStream, as for `writeNpy`.
 * @param tensors - Tensors by name: an object, a Map, or pairs.
 * @returns A promise that resolves when the file has its name.
 * @throws ArgumentTypeError for anything but a target, tensors and strings as metadata, and FileError as `writeNpy`
 *   does.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { writeSafetensors } from 'dlpack/files';
 * const weight = Tensor.from([[1, 2], [3, 4]], { dtype: 'bfloat16' });
 * await writeSafetensors('page-written.safetensors', { weight }, { metadata: { format: 'pt' } });
 * ```
 */
export async function writeSafetensors(
  target: FileTarget,
  tensors: NamedTensors,
  options: WriteSafetensorsOptions = {},
): Promise<void> {
  checkOptions(options, safetensorsNames, "{ metadata: { format: 'pt' } }");
  const { metadata: given = {} } = options;
  checkObject(given, "{ format: 'pt' }", 'metadata');
  if (Object.keys(given).length === 0 && !isPlain(given)) {
    throw new ArgumentTypeError('metadata', "an object such as { format: 'pt' }", given); // a Map, for example
  }
  const metadata = { ...given }; // the caller may change it while this function waits
  await writeHeld(target, writingOf(options), retain(tensors), async (named, sink) => {
    const planned = named.map(({ name, descriptor }) => {
      const { dtype, shape, size } = descriptor;
      return { name, dtype, shape, nbytes: Math.ceil((size * dtype.itemBits) / 8), descriptor };
    });
    const ordered = orderForAlignment(planned);
    await sink.write(formatSafetensors(ordered, metadata));
    for (const { descriptor } of ordered) {
      for await (const piece of packedBytes(descriptor, false)) await sink.write(piece);
    }
  });
}

/**
 * Writes a tensor as an npy file. Column-major tensors keep their order.
 *
 * @param options - `durable: true` waits until the data is on the disk; false when absent. A signal stops the writing.
 * @param target - A path, which is replaced when all is written, or a WritableStream.
 * @param tensor - A tensor on the host. You may dispose it meanwhile, but not write to it.
 * @returns A promise that resolves when the file has its name.
 * @throws FileError if the system refuses; the old file is then still there.
 * @throws ArgumentTypeError or ArgumentValueError for anything but a target, a tensor and known options.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { openNpy, writeNpy } from 'dlpack/files';
 * await writeNpy('page-written.npy', Tensor.from([1, 2], { dtype: 'float32' }));
 * console.log((await openNpy('page-written.npy')).dtype); // float32
 * ```
 */
export async function writeNpy(target: FileTarget, tensor: TensorView, options: WriteOptions = {}): Promise<void> {
  checkOptions(options, writeNames, '{ durable: true }');
  checkTensor(tensor, 'tensor');
  await writeHeld(target, writingOf(options), retain([['array', tensor]]), async ([only], sink) => {
    for await (const piece of npyBytes((only as Named).descriptor)) await sink.write(piece);
  });
}

/**
 * Writes tensors as an uncompressed npz file, with each array at a multiple of 64.
 *
 * @param target - A path or a WritableStream, as for `writeNpy`.
 * @param tensors - Tensors by name: an object, a Map, or pairs.
 * @param options - As for `writeNpy`.
 * @returns A promise that resolves when the file has its name.
 * @throws FileError as `writeNpy` does.
 * @throws ArgumentTypeError or ArgumentValueError for anything but a target, tensors by name and known options.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { writeNpz } from 'dlpack/files';
 * await writeNpz('page-written.npz', { x: Tensor.from([1, 2]) }); // np.load('page-written.npz')['x']
 * ```
 */
export async function writeNpz(target: FileTarget, tensors: NamedTensors, options: WriteOptions = {}): Promise<void> {
  checkOptions(options, writeNames, '{ durable: true }');
  await writeHeld(target, writingOf(options), retain(tensors), async (named, sink) => {
    const members: StoredMember[] = [];
    let offset = 0;
    for (const one of named) {
      const { member, length } = await writeMember(sink, one, offset);
      members.push(member);
      offset += length;
    }
    await sink.write(formatDirectory(members, offset));
  });
}

/**
 * Writes an array as a member of a zip file, in one pass: its checksum is that of the bytes in the file, even if the program
 * changes the tensor meanwhile.
 */
async function writeMember(
  sink: Sink,
  { name, descriptor }: Named,
  offset: number,
): Promise<{ member: StoredMember; length: number }> {
  const { dtype, shape } = descriptor;
  const size = formatNpy(dtype, shape, isColumnMajor(descriptor)).length + sizeBytes(dtype, descriptor.size, true);
  const hasDescriptor = sink.patch === null;
  const planned = { name: `${name}.npy`, crc: 0, size, offset, hasDescriptor };
  const local = formatLocal(planned);
  await sink.write(local);
  let crc = 0;
  for await (const piece of npyBytes(descriptor)) {
    const bytes = piece.slice(); // what is written must be what was counted
    crc = crc32(bytes, crc);
    await sink.write(bytes);
  }
  const member = { ...planned, crc };
  const end = hasDescriptor ? formatDescriptor(member) : new Uint8Array();
  if (sink.patch === null) await sink.write(end);
  else await sink.patch(formatChecksum(crc), offset + CHECKSUM_AT);
  return { member, length: local.length + size + end.length };
}

/** An array with its header. NumPy has no packed types, so each sub-byte element gets a byte. */
async function* npyBytes(descriptor: Descriptor): AsyncGenerator<Uint8Array> {
  const isFortran = isColumnMajor(descriptor);
  yield formatNpy(descriptor.dtype, descriptor.shape, isFortran);
  yield* packedBytes(descriptor, true, isFortran);
}

function checkTensor(tensor: unknown, argument: string): asserts tensor is TensorView {
  if (isA(tensor, TensorView)) return;
  throw new ArgumentTypeError(argument, 'a Tensor (Tensor.from makes one of values)', tensor, adviceFor(tensor));
}

function pairsOf(tensors: NamedTensors): Iterable<unknown> {
  if (Symbol.iterator in tensors) return tensors;
  const pairs = Object.entries(tensors);
  // An empty file would hide that this is a promise, a buffer or another object without tensors.
  return pairs.length > 0 || isPlain(tensors) ? pairs : [null];
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Holds one more reference to each tensor, because the tensors may be disposed while they are written. */
function retain(tensors: NamedTensors): Named[] {
  const held = new Map<string, Descriptor>();
  try {
    // One pair after the other, because the first element of a large typed array shows that it holds no pairs.
    for (const pair of isUsable(tensors) ? pairsOf(tensors) : [null]) {
      if (!isUsable(pair) || !Array.isArray(pair)) {
        throw new ArgumentTypeError('tensors', 'an object of tensors, or an iterable of [name, tensor]', tensors);
      }
      const [name, tensor] = pair as unknown[];
      if (typeof name !== 'string') throw new ArgumentTypeError('name', 'a string', name);
      checkTensor(tensor, `tensors['${name}']`);
      checkText(name, 'name');
      if (held.has(name)) throw new ArgumentValueError('name', 'a name that occurs once', name);
      const descriptor = descriptorOf(tensor);
      descriptor.storage.refs++;
      held.set(name, descriptor);
    }
  } catch (error) {
    for (const descriptor of held.values()) descriptor.storage.release();
    throw error;
  }
  return Array.from(held, ([name, descriptor]) => ({ name, descriptor }));
}

/** Opens the target, writes, and gives the file its name. A failure leaves nothing, and an old file unchanged. */
async function writeHeld(
  target: FileTarget,
  { durable, signal }: Writing,
  named: readonly Named[],
  produce: (named: readonly Named[], sink: Sink) => Promise<void>,
): Promise<void> {
  try {
    signal?.throwIfAborted();
    const opened = await openTarget(target, durable, signal);
    const write = (bytes: Uint8Array) => {
      signal?.throwIfAborted();
      return opened.write(bytes);
    };
    try {
      await produce(named, { write, patch: opened.patch });
      signal?.throwIfAborted();
    } catch (error) {
      await opened.discard().catch(() => undefined); // the first error tells more
      throw error;
    }
    await opened.finish();
  } finally {
    for (const { descriptor } of named) descriptor.storage.release();
  }
}

async function openTarget(target: FileTarget, durable: boolean, signal: AbortSignal | null): Promise<Target> {
  if (typeof target === 'string') {
    if (isUrl(target)) throw new ArgumentValueError('target', 'a path or a WritableStream', target);
    return getHost().create(target, durable);
  }
  if (typeof WritableStream === 'undefined' || !isA(target, WritableStream)) {
    throw new ArgumentTypeError('target', 'a path or a WritableStream', target);
  }
  if (target.locked) throw new ArgumentValueError('target', 'a stream without another writer', target);
  const writer = target.getWriter();
  return {
    // A copy, because a stream may keep the bytes, and tensors may change. A stream may also keep its writer waiting.
    write: (bytes) => untilAborted(writer.write(bytes.slice()), signal),
    patch: null,
    finish: () => untilAborted(writer.close(), signal),
    discard: () => untilAborted(writer.abort(signal?.reason), signal),
  };
}
