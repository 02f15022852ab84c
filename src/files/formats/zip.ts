/** Zip files as NumPy writes and reads them: stored and deflated members, Zip64, one disk, no encryption. */

import { FileFormatError } from '../error.js';
import { checkNames, MAX_HEADER } from '../limits.js';
import { bytesAt, type FileExtent, MAX_RATIO, type Reading, readU64, viewOf } from '../reading.js';

export interface ZipMember {
  readonly name: string;
  readonly isDeflated: boolean;
  readonly crc: number;
  /** Bytes in the file, and bytes of the content. */
  readonly stored: number;
  readonly size: number;
  /** The start of the member, and the start of the next member or the directory. */
  readonly offset: number;
  readonly limit: number;
  readonly nameBytes: Uint8Array;
}

const END = 0x06054b50;
const END64 = 0x06064b50;
const LOCATOR64 = 0x07064b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const DEFERRED = 0xffffffff; // the value is in the Zip64 field

interface Directory {
  readonly offset: number;
  readonly size: number;
  readonly count: number;
}

/** The members of a file, in the order of its directory. */
export function* readZip(file: FileExtent): Reading<ZipMember[]> {
  const directory = yield* readEnd(file);
  const { offset, size, count } = directory;
  if (size > MAX_HEADER) {
    throw new FileFormatError(file.path, offset, `the directory has ${size} bytes; ${MAX_HEADER} are allowed`);
  }
  checkNames(file.path, offset, count, 'members');
  const bytes = yield* bytesAt(file, offset, size, 'the directory of the zip file');
  if (!(count * 46 <= size)) {
    throw new FileFormatError(file.path, offset, `${count} members do not fit a directory of ${size} bytes`);
  }
  const members: ZipMember[] = [];
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let at = 0;
  for (let i = 0; i < count; i++) {
    const { member, length } = parseCentral(file, bytes.subarray(at), offset + at, decoder);
    members.push(member);
    at += length;
  }
  return checkMembers(file, members, offset);
}

/** Finds the directory at the end of the file, before a comment. */
function* readEnd(file: FileExtent): Reading<Directory> {
  const length = Math.min(file.size, 22 + 0xffff);
  const start = file.size - length;
  const bytes = yield* bytesAt(file, start, length, 'the end of the zip file');
  const view = viewOf(bytes);
  for (let at = length - 22; at >= 0; at--) {
    if (view.getUint32(at, true) !== END || at + 22 + view.getUint16(at + 20, true) !== length) continue;
    if (at >= 20 && view.getUint32(at - 20, true) === LOCATOR64) {
      return yield* readEnd64(file, readU64(view, at - 20 + 8));
    }
    if (view.getUint16(at + 4, true) !== 0 || view.getUint16(at + 6, true) !== 0) {
      throw new FileFormatError(file.path, start + at, 'the zip file is in several parts');
    }
    return {
      count: view.getUint16(at + 10, true),
      size: view.getUint32(at + 12, true),
      offset: view.getUint32(at + 16, true),
    };
  }
  throw new FileFormatError(file.path, start, 'the file does not end as a zip file does');
}

function* readEnd64(file: FileExtent, offset: number): Reading<Directory> {
  const view = viewOf(yield* bytesAt(file, offset, 56, 'the Zip64 end of the directory'));
  if (view.getUint32(0, true) !== END64 || view.getUint32(16, true) !== 0 || view.getUint32(20, true) !== 0) {
    throw new FileFormatError(file.path, offset, 'the Zip64 end of the directory is malformed');
  }
  return { count: readU64(view, 32), size: readU64(view, 40), offset: readU64(view, 48) };
}

function parseCentral(
  file: FileExtent,
  bytes: Uint8Array,
  offset: number,
  decoder: TextDecoder,
): { member: ZipMember; length: number } {
  const fail = (problem: string): never => {
    throw new FileFormatError(file.path, offset, problem);
  };
  const view = viewOf(bytes);
  if (bytes.length < 46 || view.getUint32(0, true) !== CENTRAL) return fail('an entry of the directory is malformed');
  const nameLength = view.getUint16(28, true);
  const extraLength = view.getUint16(30, true);
  const length = 46 + nameLength + extraLength + view.getUint16(32, true);
  if (length > bytes.length) return fail('an entry of the directory is truncated');
  const nameBytes = bytes.slice(46, 46 + nameLength);
  // Names without the flag use code page 437; array names are ASCII in practice.
  const name = decoder.decode(nameBytes);
  const flags = view.getUint16(8, true);
  const method = view.getUint16(10, true);
  if ((flags & 1) !== 0) return fail(`'${name}' is encrypted`);
  if (method !== 0 && method !== 8) return fail(`'${name}' is compressed by method ${method}; 0 and 8 are known`);
  if (view.getUint16(34, true) !== 0) return fail(`'${name}' is in another part`);
  const sizes = [view.getUint32(24, true), view.getUint32(20, true), view.getUint32(42, true)];
  const extra = bytes.subarray(46 + nameLength, 46 + nameLength + extraLength);
  const [size, stored, start] = resolveZip64(sizes, extra, fail) as [number, number, number];
  if (method === 0 && stored !== size) return fail(`'${name}' is stored but its two sizes differ`);
  if (method === 8 && !(size <= stored * MAX_RATIO + 64)) {
    return fail(`'${name}' claims ${size} bytes, more than ${stored} deflated bytes can become`);
  }
  const member = {
    name,
    isDeflated: method === 8,
    crc: view.getUint32(16, true),
    stored,
    size,
    offset: start,
    limit: 0,
    nameBytes,
  };
  return { member, length };
}

/** Reads sizes that do not fit into 32 bits from an extra field, in this order. */
function resolveZip64(values: readonly number[], extra: Uint8Array, fail: (problem: string) => never): number[] {
  if (!values.includes(DEFERRED)) return [...values];
  const view = viewOf(extra);
  for (let at = 0; at + 4 <= extra.length; ) {
    const length = view.getUint16(at + 2, true);
    if (at + 4 + length > extra.length) break;
    if (view.getUint16(at, true) !== 1) {
      at += 4 + length;
      continue;
    }
    let next = at + 4;
    return values.map((value) => {
      if (value !== DEFERRED) return value;
      if (next + 8 > at + 4 + length) return fail('a Zip64 field is too short');
      next += 8;
      return readU64(view, next - 8);
    });
  }
  return fail('a Zip64 field is missing');
}

/** Rejects duplicate names and overlapping members, with which a small file could expand to many times its size. */
function checkMembers(file: FileExtent, members: readonly ZipMember[], end: number): ZipMember[] {
  const names = new Set<string>();
  for (const { name, offset } of members) {
    if (names.has(name)) throw new FileFormatError(file.path, offset, `the member '${name}' occurs twice`);
    names.add(name);
  }
  const limits = new Map<ZipMember, number>();
  let limit = end;
  for (const member of [...members].sort((a, b) => b.offset - a.offset)) {
    if (!(member.offset + 30 + member.nameBytes.length + member.stored <= limit)) {
      throw new FileFormatError(file.path, member.offset, `the member '${member.name}' overlaps what follows it`);
    }
    limits.set(member, limit);
    limit = member.offset;
  }
  return members.map((member) => ({ ...member, limit: limits.get(member) as number }));
}

/** Finds the start of a member's bytes. */
export function* locateMember(file: FileExtent, member: ZipMember): Reading<number> {
  const { name, nameBytes, offset } = member;
  const length = 30 + nameBytes.length;
  const bytes = yield* bytesAt(file, offset, length, `the member '${name}'`);
  const view = viewOf(bytes);
  const isSame = nameBytes.every((byte, i) => byte === bytes[30 + i]);
  if (view.getUint32(0, true) !== LOCAL || view.getUint16(26, true) !== nameBytes.length || !isSame) {
    throw new FileFormatError(file.path, offset, `the member '${name}' is not where the directory says`);
  }
  const start = offset + length + view.getUint16(28, true);
  if (start + member.stored > member.limit) {
    throw new FileFormatError(file.path, offset, `the member '${name}' overlaps what follows it`);
  }
  return start;
}
