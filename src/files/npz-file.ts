/** Open npz files: zip files of npy arrays. */

import type { Descriptor } from '../storage/descriptor.js';
import { crc32 } from './crc32.js';
import type { TensorEntry } from './entry.js';
import { FileFormatError } from './error.js';
import { MAX_HEADER, type NpyOptions, readNpy } from './npy.js';
import { allocateEntry, bytesOf, type OpenedFile, swapBytes } from './opened.js';
import { bytesAt, type Reader, type Reading, readNow } from './reading.js';
import { type Located, TensorFile } from './tensor-file.js';
import { locateMember, type ZipMember } from './zip.js';

/** A number of compressed bytes that is enough for the header of any array that NumPy wrote. */
const PREFIX = 4096;

/** An open npz file. */
export class NpzFile extends TensorFile {
  readonly names: readonly string[];
  private readonly members: ReadonlyMap<string, ZipMember>;
  private readonly arrays = new Map<string, Located>();

  constructor(
    private readonly file: OpenedFile,
    members: readonly ZipMember[],
    private readonly options: NpyOptions,
  ) {
    super(file.path, [file]);
    this.members = new Map(arraysOf(file, members));
    this.names = [...this.members.keys()];
  }

  protected locate(name: string): Reading<Located> | Located | null {
    const member = this.members.get(name);
    if (member === undefined) return null;
    return this.arrays.get(name) ?? this.find(name, member);
  }

  private *find(name: string, member: ZipMember): Reading<Located> {
    const { file, options } = this;
    const start = yield* locateMember(file, member);
    const located = member.isDeflated
      ? yield* this.findDeflated(name, member, start)
      : { file, entry: yield* readNpy(file, name, start, start + member.stored, options) };
    this.arrays.set(name, located);
    return located;
  }

  /** Finds a compressed array, whose header is in the first bytes of the content. */
  private *findDeflated(name: string, member: ZipMember, start: number): Reading<Located> {
    const { file, options } = this;
    const deflated = yield* bytesAt(file, start, Math.min(member.stored, PREFIX), `the member '${name}'`);
    const head = yield { deflated, size: Math.min(member.size, MAX_HEADER + 12), isPrefix: true };
    const content = { path: `${file.path}:${member.name}`, size: member.size };
    const entry = readNow(readNpy(content, name, 0, member.size, options), within(head, content.path));
    return { file, entry, unpack: () => unpackMember(file, member, start, entry) };
  }
}

/** The arrays by their NumPy name, without `.npy`. */
function arraysOf(file: OpenedFile, members: readonly ZipMember[]): [string, ZipMember][] {
  const arrays: [string, ZipMember][] = [];
  for (const member of members) if (member.name.endsWith('.npy')) arrays.push([member.name.slice(0, -4), member]);
  if (arrays.length === 0 && members.length > 0) {
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

/** Decompresses and checks a member, and returns it as a tensor. */
function* unpackMember(file: OpenedFile, member: ZipMember, start: number, entry: TensorEntry): Reading<Descriptor> {
  const deflated = yield* bytesAt(file, start, member.stored, `the member '${member.name}'`);
  const content = yield { deflated, size: member.size, isPrefix: false };
  if (content.length !== member.size || crc32(content) !== member.crc) {
    throw new FileFormatError(file.path, start, `the member '${member.name}' is damaged: size or checksum differ`);
  }
  const copy = allocateEntry(entry, 0);
  const bytes = bytesOf(copy);
  bytes.set(content.subarray(entry.start, entry.start + entry.nbytes));
  swapBytes(bytes, entry.swap);
  copy.storage.commit();
  return copy;
}
