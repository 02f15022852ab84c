/** Open npz files: zip files of npy arrays. */

import type { Descriptor } from '../../storage/descriptor.js';
import type { TensorEntry } from '../entry.js';
import { FileFormatError } from '../error.js';
import { allBytes, allocateEntry, type OpenedFile, swapBytes } from '../opened.js';
import { bytesAt, type FileExtent, type Reader, type Reading, readNow } from '../reading.js';
import { type Located, TensorFile } from '../tensor-file.js';
import { crc32 } from './crc32.js';
import { MAX_HEADER, type NpyOptions, readNpy } from './npy.js';
import { locateMember, readZip, type ZipMember } from './zip.js';

/** A number of compressed bytes that is enough for the header of any array that NumPy wrote. */
const PREFIX = 4096;
/** Stored members up to this size are always compared with their checksum, and larger ones if `verify` is set. */
const SMALL_MEMBER = 1 << 20;
/** Bytes that are compared at a time. */
const PIECE = 1 << 20;

export interface NpzOptions extends NpyOptions {
  /** True to compare large members that are not compressed with their checksums, too. */
  readonly verify: boolean;
}

/**
 * An open npz file.
 *
 * @hideconstructor
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { type NpzFile, openNpz, writeNpz } from 'dlpack/files';
 * await writeNpz('class.npz', { x: Tensor.from([1, 2]), y: Tensor.from([3]) });
 * using file: NpzFile = await openNpz('class.npz');
 * for (const [name, tensor] of file) console.log(name, tensor.toArray());
 * ```
 */
export class NpzFile extends TensorFile {
  private readonly arrays = new Map<string, Located>();

  constructor(
    private readonly file: OpenedFile,
    private readonly members: ReadonlyMap<string, ZipMember>,
    private readonly options: NpzOptions,
  ) {
    super(file.path, [file], new Map()); // the header of each member has the rest
  }

  override get names(): readonly string[] {
    return [...this.members.keys()];
  }

  override get size(): number {
    return this.members.size;
  }

  /** @internal */
  protected override locate(name: string): Reading<Located> | Located | null {
    const member = this.members.get(name);
    if (member === undefined) return null;
    return this.arrays.get(name) ?? this.find(name, member);
  }

  private *find(name: string, member: ZipMember): Reading<Located> {
    const start = yield* locateMember(this.file, member);
    const located = member.isDeflated
      ? yield* this.findDeflated(name, member, start)
      : yield* this.findStored(name, member, start);
    this.arrays.set(name, located);
    return located;
  }

  /** Finds an array that is not compressed. `info` reads only its header, so the checksum waits for the tensor. */
  private *findStored(name: string, member: ZipMember, start: number): Reading<Located> {
    const { file, options } = this;
    const entry = yield* readNpy(file, name, start, start + member.stored, options);
    if (member.size > SMALL_MEMBER && !options.verify) return { file, entry };
    const make = file.isInMemory
      ? () => this.verified(name, member, start, entry)
      : () => unpackMember(file, member, start, entry);
    return { file, entry, make };
  }

  /** The tensor over the file's memory. Its bytes are compared with their checksum once. */
  private *verified(name: string, member: ZipMember, start: number, entry: TensorEntry): Reading<Descriptor> {
    const { file } = this;
    let crc = 0;
    for (let at = 0; at < member.stored; at += PIECE) {
      const length = Math.min(PIECE, member.stored - at);
      crc = crc32(yield* bytesAt(file, start + at, length, `the member '${member.name}'`), crc);
    }
    if (crc !== member.crc) throw damaged(file, member, start);
    this.arrays.set(name, { file, entry });
    return file.tensor(entry);
  }

  /** Finds a compressed array, whose header is in the first bytes of the content. */
  private *findDeflated(name: string, member: ZipMember, start: number): Reading<Located> {
    const { file, options } = this;
    const deflated = yield* bytesAt(file, start, Math.min(member.stored, PREFIX), `the member '${name}'`);
    const head = yield { deflated, size: Math.min(member.size, MAX_HEADER + 12), isPrefix: true };
    const content = { path: `${file.path}:${member.name}`, size: member.size };
    const entry = readNow(readNpy(content, name, 0, member.size, options), within(head, content.path));
    const inFile = { ...entry, start: start + entry.start };
    return { file, entry, isCompressed: true, make: () => unpackMember(file, member, start, inFile) };
  }
}

/** Reads the directory: the arrays by their NumPy name, without `.npy`. */
export function* readNpz(file: FileExtent): Reading<Map<string, ZipMember>> {
  const members = yield* readZip(file);
  const arrays = new Map<string, ZipMember>();
  for (const member of members) if (member.name.endsWith('.npy')) arrays.set(member.name.slice(0, -4), member);
  if (arrays.size === 0 && members.length > 0) {
    throw new FileFormatError(file.path, 0, 'the zip file holds no npy arrays');
  }
  return arrays;
}

/** A reader that answers a parser from the first bytes of a member. */
function within(head: Uint8Array, path: string): Reader {
  return {
    read(offset, length) {
      if (offset + length <= head.length) return head.subarray(offset, offset + length);
      throw new FileFormatError(path, offset, 'the member does not begin with the header of an npy array');
    },
    inflate: () => new Uint8Array(),
  };
}

/** Reads a whole member, compares it with its checksum, and copies its array, which starts `entry.start` in the file. */
function* unpackMember(file: OpenedFile, member: ZipMember, start: number, entry: TensorEntry): Reading<Descriptor> {
  const stored = yield* bytesAt(file, start, member.stored, `the member '${member.name}'`);
  const content = member.isDeflated ? yield { deflated: stored, size: member.size, isPrefix: false } : stored;
  if (content.length !== member.size || crc32(content) !== member.crc) throw damaged(file, member, start);
  const copy = allocateEntry(entry, 0);
  const bytes = allBytes(copy);
  const from = entry.start - start;
  bytes.set(content.subarray(from, from + entry.nbytes));
  swapBytes(bytes, entry.swap);
  copy.storage.commit();
  return copy;
}

function damaged({ path }: OpenedFile, { name }: ZipMember, start: number): FileFormatError {
  return new FileFormatError(path, start, `the member '${name}' is damaged: size or checksum differ`);
}
