// Reads Windows libraries, 64-bit: the import and export tables.

const machines = { 34404: 'x64', 43620: 'arm64' };

const headerOf = (bytes) => (bytes.length > 64 ? bytes.readUInt32LE(60) : 0);

export const isPe = (bytes) =>
  bytes.length > 1024 && bytes.readUInt16BE(0) === 0x4d5a && bytes.readUInt32BE(headerOf(bytes)) === 0x50450000;

const textAt = (bytes, at) => bytes.toString('latin1', at, bytes.indexOf(0, at));

export function readPe(bytes) {
  const header = headerOf(bytes);
  const optional = header + 24;
  const table = optional + bytes.readUInt16LE(header + 20);
  const sections = Array.from({ length: bytes.readUInt16LE(header + 6) }, (_, i) => table + 40 * i).map((at) => ({
    size: bytes.readUInt32LE(at + 8),
    address: bytes.readUInt32LE(at + 12),
    offset: bytes.readUInt32LE(at + 20),
  }));
  /** The position in the file of an address of the loaded library. */
  const fileOffset = (address) => {
    const found = sections.find((s) => address >= s.address && address < s.address + s.size);
    return found === undefined ? 0 : address - found.address + found.offset;
  };
  const directory = (index) => bytes.readUInt32LE(optional + 112 + 8 * index);
  return {
    format: 'pe',
    arch: machines[bytes.readUInt16LE(header + 4)],
    /** Bits: 0x20 and 0x40 for addresses that differ in each process, 0x100 for data that cannot be executed. */
    characteristics: bytes.readUInt16LE(optional + 70),
    isLibrary: (bytes.readUInt16LE(header + 22) & 0x2000) !== 0,
    exports: readExports(bytes, directory(0), fileOffset),
    ...readImports(bytes, directory(1), fileOffset),
    delayed: directory(13) !== 0,
  };
}

function readExports(bytes, address, fileOffset) {
  if (address === 0) return [];
  const at = fileOffset(address);
  const names = fileOffset(bytes.readUInt32LE(at + 32));
  return Array.from({ length: bytes.readUInt32LE(at + 24) }, (_, i) =>
    textAt(bytes, fileOffset(bytes.readUInt32LE(names + 4 * i))),
  );
}

function readImports(bytes, address, fileOffset) {
  const libraries = [];
  const imports = [];
  if (address === 0) return { libraries, imports };
  for (let at = fileOffset(address); bytes.readUInt32LE(at + 12) !== 0; at += 20) {
    libraries.push(textAt(bytes, fileOffset(bytes.readUInt32LE(at + 12))));
    for (let entry = fileOffset(bytes.readUInt32LE(at) || bytes.readUInt32LE(at + 16)); ; entry += 8) {
      const value = bytes.readBigUInt64LE(entry);
      if (value === 0n) break;
      if (value >> 63n === 0n) imports.push(textAt(bytes, fileOffset(Number(value)) + 2));
    }
  }
  return { libraries, imports };
}
