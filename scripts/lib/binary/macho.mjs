// Reads macOS libraries, 64-bit: load commands and the symbol table.

const architectures = { 16777223: 'x64', 16777228: 'arm64' };
const kinds = { 6: 'dylib', 8: 'bundle' };
const commands = {
  symbols: 2,
  indirectSymbols: 0xb,
  loadLibrary: 0xc,
  identity: 0xd,
  signature: 0x1d,
  dyld: 0x22,
  minimum: 0x24,
  build: 0x32,
};
const flatLookup = -2;

export const isMachO = (bytes) => bytes.length > 32 && bytes.readUInt32LE(0) === 0xfeedfacf;

const textAt = (bytes, at) => bytes.toString('latin1', at, bytes.indexOf(0, at));
const version = (number) => `${number >>> 16}.${(number >>> 8) & 255}`;

export function readMachO(bytes) {
  const found = {
    format: 'macho',
    arch: architectures[bytes.readUInt32LE(4)],
    kind: kinds[bytes.readUInt32LE(12)],
    libraries: [],
    imports: [],
    exports: [],
    /** Imports that are bound to one library, and imports that the program or any loaded library may provide. */
    bound: [],
    flat: [],
    symbolCount: 0,
    indirect: [],
    isSigned: false,
  };
  let at = 32;
  for (let i = 0; i < bytes.readUInt32LE(16); i++) {
    const command = bytes.readUInt32LE(at) & 0x7fffffff;
    if (command === commands.loadLibrary) found.libraries.push(textAt(bytes, at + bytes.readUInt32LE(at + 8)));
    if (command === commands.identity) found.identity = textAt(bytes, at + bytes.readUInt32LE(at + 8));
    if (command === commands.signature) found.isSigned = true;
    if (command === commands.build) found.minimum = version(bytes.readUInt32LE(at + 12));
    if (command === commands.minimum) found.minimum = version(bytes.readUInt32LE(at + 8));
    if (command === commands.symbols) readSymbols(bytes, at, found);
    if (command === commands.indirectSymbols) found.indirect = readIndirect(bytes, at);
    if (command === commands.dyld) {
      for (const stream of [16, 32])
        readBindings(bytes, bytes.readUInt32LE(at + stream), bytes.readUInt32LE(at + stream + 4), found);
    }
    at += bytes.readUInt32LE(at + 4);
  }
  return found;
}

function readSymbols(bytes, command, found) {
  const symbols = bytes.readUInt32LE(command + 8);
  const count = bytes.readUInt32LE(command + 12);
  found.symbolCount = count;
  const strings = bytes.readUInt32LE(command + 16);
  for (let at = symbols; at < symbols + 16 * count; at += 16) {
    const type = bytes[at + 4];
    if ((type & 0xe0) !== 0 || (type & 1) === 0) continue; // debugging entries and private symbols
    const name = textAt(bytes, strings + bytes.readUInt32LE(at)).replace(/^_/, '');
    if ((type & 0x0e) !== 0) {
      found.exports.push(name);
      continue;
    }
    found.imports.push(name);
  }
}

/** The numbers of symbols that calls and accesses go through, without those that only mark a symbol without a name. */
function readIndirect(bytes, command) {
  const start = bytes.readUInt32LE(command + 56);
  const count = bytes.readUInt32LE(command + 60);
  const marks = 0xc0000000;
  return Array.from({ length: count }, (_, i) => bytes.readUInt32LE(start + 4 * i)).filter(
    (symbol) => symbol === 0 || (symbol & ~marks) !== 0,
  );
}

/** The loader's program that binds symbols to libraries, in opcodes of four bits with an immediate of four bits. */
function readBindings(bytes, start, size, found) {
  let at = start;
  const skipNumber = () => {
    while (bytes[at++] & 0x80);
  };
  for (let library = 0, name = ''; at < start + size; ) {
    const opcode = bytes[at] & 0xf0;
    const immediate = bytes[at++] & 0x0f;
    if (opcode === 0x10) library = immediate;
    if (opcode === 0x20) [library] = [bytes[at], skipNumber()]; // addons have fewer than 128 libraries
    if (opcode === 0x30) library = immediate === 0 ? 0 : immediate - 16;
    if (opcode === 0x40) {
      name = textAt(bytes, at).replace(/^_/, '');
      at = bytes.indexOf(0, at) + 1;
    }
    if (opcode >= 0x90) (library === flatLookup ? found.flat : found.bound).push(name);
    if ([0x60, 0x70, 0x80, 0xa0, 0xc0].includes(opcode)) skipNumber();
    if (opcode === 0xc0) skipNumber();
  }
}
