/** The bytes of a zip file around its members, which are not compressed. */

import { ArgumentValueError } from '../../errors.js';

export interface StoredMember {
  readonly name: string;
  readonly crc: number;
  readonly size: number;
  readonly offset: number;
  /** True if the checksum follows the content, because it was not known before and the target cannot go back. */
  readonly hasDescriptor?: boolean;
}

const LIMIT = 0xffffffff;
/** The content of a member starts at a multiple of this, so that the arrays in an npz file can be mapped. */
const ALIGNMENT = 64;
/** 1 January 1980, the first date in zip. A fixed date gives the same file for the same arrays. */
const DATE = 0x21;
/** Names are UTF-8; a descriptor follows the content. */
const UTF8 = 0x800;
const DESCRIPTOR = 8;
/** Bytes from the start of a local header to its checksum. */
export const CHECKSUM_AT = 14;

class Bytes {
  private readonly values: number[] = [];

  u16(value: number): this {
    this.values.push(value & 255, value >>> 8);
    return this;
  }

  u32(value: number): this {
    return this.u16(value & 0xffff).u16(value >>> 16);
  }

  u64(value: number): this {
    return this.u32(value % 2 ** 32).u32(Math.floor(value / 2 ** 32));
  }

  add(bytes: Uint8Array): this {
    for (const byte of bytes) this.values.push(byte);
    return this;
  }

  done(): Uint8Array {
    return new Uint8Array(this.values);
  }
}

/** The version of zip that a reader needs: 4.5 for Zip64. */
function versionFor(needsZip64: boolean): number {
  return needsZip64 ? 45 : 20;
}

/** Writes the fields that local and central headers share, starting with the version. No compression. */
function common(bytes: Bytes, member: StoredMember, name: Uint8Array, extra: number, version: number): Bytes {
  const size = Math.min(member.size, LIMIT);
  return bytes
    .u16(version)
    .u16(UTF8 | (member.hasDescriptor ? DESCRIPTOR : 0))
    .u16(0)
    .u16(0)
    .u16(DATE)
    .u32(member.crc)
    .u32(size)
    .u32(size)
    .u16(name.length)
    .u16(extra);
}

/** The header before the content of a member, padded so that the content is aligned. */
export function formatLocal(member: StoredMember): Uint8Array {
  const name = new TextEncoder().encode(member.name);
  if (name.length > 0xffff) {
    throw new ArgumentValueError('name', `a name of at most ${0xffff} bytes with '.npy'`, name.length);
  }
  const isLarge = member.size >= LIMIT;
  const fixed = 30 + name.length + (isLarge ? 20 : 0);
  let padding = (ALIGNMENT - ((member.offset + fixed) % ALIGNMENT)) % ALIGNMENT;
  if (padding > 0 && padding < 4) padding += ALIGNMENT; // an extra field has at least four bytes
  const bytes = new Bytes().u32(0x04034b50);
  common(bytes, member, name, (isLarge ? 20 : 0) + padding, versionFor(isLarge)).add(name);
  if (isLarge) bytes.u16(1).u16(16).u64(member.size).u64(member.size);
  if (padding > 0) {
    bytes
      .u16(0xd935) // the padding field that Android's tools defined
      .u16(padding - 4)
      .add(new Uint8Array(padding - 4));
  }
  return bytes.done();
}

/** A checksum as in a local header. */
export function formatChecksum(crc: number): Uint8Array {
  return new Bytes().u32(crc).done();
}

/** The checksum and the sizes after the content of a member. */
export function formatDescriptor({ crc, size }: StoredMember): Uint8Array {
  const bytes = new Bytes().u32(0x08074b50).u32(crc);
  return size >= LIMIT ? bytes.u64(size).u64(size).done() : bytes.u32(size).u32(size).done();
}

/** The directory and the end records of the file. */
export function formatDirectory(members: readonly StoredMember[], offset: number): Uint8Array {
  const bytes = new Bytes();
  for (const member of members) {
    const name = new TextEncoder().encode(member.name);
    const isLarge = member.size >= LIMIT;
    const isFar = member.offset >= LIMIT;
    const extra = new Bytes();
    if (isLarge) extra.u64(member.size).u64(member.size);
    if (isFar) extra.u64(member.offset);
    const field = extra.done();
    const version = versionFor(isLarge || isFar);
    bytes.u32(0x02014b50).u16(version);
    common(bytes, member, name, field.length === 0 ? 0 : 4 + field.length, version)
      .u16(0)
      .u16(0)
      .u16(0)
      .u32(0)
      .u32(Math.min(member.offset, LIMIT))
      .add(name);
    if (field.length > 0) bytes.u16(1).u16(field.length).add(field);
  }
  return withEnd(bytes.done(), offset, members.length);
}

function withEnd(directory: Uint8Array, offset: number, count: number): Uint8Array {
  const size = directory.length;
  const bytes = new Bytes();
  if (count >= 0xffff || size >= LIMIT || offset >= LIMIT) {
    bytes.u32(0x06064b50).u64(44).u16(45).u16(45).u32(0).u32(0).u64(count).u64(count).u64(size).u64(offset);
    bytes
      .u32(0x07064b50)
      .u32(0)
      .u64(offset + size)
      .u32(1);
  }
  const shown = Math.min(count, 0xffff);
  bytes.u32(0x06054b50).u16(0).u16(0).u16(shown).u16(shown);
  bytes.u32(Math.min(size, LIMIT)).u32(Math.min(offset, LIMIT)).u16(0);
  const end = bytes.done();
  const all = new Uint8Array(size + end.length);
  all.set(directory);
  all.set(end, size);
  return all;
}
