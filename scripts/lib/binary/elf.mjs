// Reads Linux shared libraries, 64-bit little-endian, as the loader does.

const machines = { 62: 'x64', 183: 'arm64' };
const segmentTypes = { loadable: 1, dynamic: 2, stack: 0x6474e551, readOnlyAfterLoading: 0x6474e552 };
const tags = {
  needed: 1,
  strings: 5,
  bindNow: 24,
  flags: 30,
  flags1: 0x6ffffffb,
  verneed: 0x6ffffffe,
  verneedCount: 0x6fffffff,
};
const EXECUTABLE = 1;
const BIND_NOW = 8; // in flags
const NOW = 1; // in flags1
const dynamicSymbols = 11;

export const isElf = (bytes) => bytes.length > 64 && bytes.readUInt32BE(0) === 0x7f454c46;

export function readElf(bytes) {
  const number = (at) => Number(bytes.readBigUInt64LE(at));
  const headers = Array.from({ length: bytes.readUInt16LE(56) }, (_, i) => number(32) + i * bytes.readUInt16LE(54));
  const segments = headers.map((at) => ({
    type: bytes.readUInt32LE(at),
    flags: bytes.readUInt32LE(at + 4),
    offset: number(at + 8),
    address: number(at + 16),
    size: number(at + 32),
  }));
  /** The position in the file of an address of the loaded library. */
  const fileOffset = (address) => {
    const found = segments.find(
      (s) => s.type === segmentTypes.loadable && address >= s.address && address < s.address + s.size,
    );
    return found === undefined ? 0 : address - found.address + found.offset;
  };
  const dynamic = segments.find(({ type }) => type === segmentTypes.dynamic);
  const entries = [];
  for (let at = dynamic?.offset ?? 0; dynamic && at < dynamic.offset + dynamic.size; at += 16) {
    const tag = number(at);
    if (tag === 0) break;
    entries.push([tag, number(at + 8)]);
  }
  const value = (tag) => entries.find(([key]) => key === tag)?.[1];
  const strings = fileOffset(value(tags.strings) ?? 0);
  const text = (offset) => bytes.toString('latin1', strings + offset, bytes.indexOf(0, strings + offset));
  return {
    format: 'elf',
    arch: machines[bytes.readUInt16LE(18)],
    libraries: entries.filter(([key]) => key === tags.needed).map(([, offset]) => text(offset)),
    versions: readVersions(bytes, value, fileOffset, text),
    /** Whether tables that the loader fills are read-only afterwards, and filled at once. */
    isReadOnlyAfterLoading: segments.some(({ type }) => type === segmentTypes.readOnlyAfterLoading),
    isBoundAtOnce:
      value(tags.bindNow) !== undefined ||
      ((value(tags.flags) ?? 0) & BIND_NOW) !== 0 ||
      ((value(tags.flags1) ?? 0) & NOW) !== 0,
    hasExecutableStack: !segments.some(({ type, flags }) => type === segmentTypes.stack && (flags & EXECUTABLE) === 0),
    ...readSymbols(bytes, text),
  };
}

/** Versions of symbols that other libraries must have, such as GLIBC_2.17. */
function readVersions(bytes, value, fileOffset, text) {
  const found = new Set();
  let at = fileOffset(value(tags.verneed) ?? 0);
  for (let i = 0; i < (value(tags.verneedCount) ?? 0); i++) {
    let auxiliary = at + bytes.readUInt32LE(at + 8);
    for (let j = 0; j < bytes.readUInt16LE(at + 2); j++) {
      found.add(text(bytes.readUInt32LE(auxiliary + 8)));
      auxiliary += bytes.readUInt32LE(auxiliary + 12);
    }
    at += bytes.readUInt32LE(at + 12);
  }
  return [...found];
}

/** The dynamic symbols, from the section table, because the loader's own tables do not contain their number. */
function readSymbols(bytes, text) {
  const imports = [];
  const exports = [];
  const number = (at) => Number(bytes.readBigUInt64LE(at));
  const sections = Array.from({ length: bytes.readUInt16LE(60) }, (_, i) => number(40) + i * bytes.readUInt16LE(58));
  const table = sections.find((at) => bytes.readUInt32LE(at + 4) === dynamicSymbols);
  const start = table === undefined ? 0 : number(table + 24);
  const end = table === undefined ? 0 : start + number(table + 32);
  for (let at = start; at < end; at += 24) {
    const name = text(bytes.readUInt32LE(at));
    if (name !== '') (bytes.readUInt16LE(at + 6) === 0 ? imports : exports).push(name);
  }
  return { imports, exports };
}
