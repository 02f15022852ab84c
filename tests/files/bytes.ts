/** Contents of files, made byte by byte, also contents that no writer would write. Runs in a browser. */

export function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export function u16(value: number): Uint8Array {
  return new Uint8Array([value & 255, value >>> 8]);
}

export function u32(value: number): Uint8Array {
  return concat(u16(value & 0xffff), u16(value >>> 16));
}

export function u64(value: number | bigint): Uint8Array {
  return new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
}

export function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

/** A safetensors file with a header as it is given, an object or text. */
export function safetensors(header: unknown, data: Uint8Array, pad = 0): Uint8Array<ArrayBuffer> {
  const json = text((typeof header === 'string' ? header : JSON.stringify(header)) + ' '.repeat(pad));
  return concat(u64(json.length), json, data);
}

/** An npy array with a dict as it is given. */
export function npy(dict: string, data: Uint8Array, version = 1): Uint8Array<ArrayBuffer> {
  const prefix = version === 1 ? 10 : 12;
  const length = Math.ceil((prefix + dict.length + 1) / 64) * 64 - prefix;
  const header = text(`${dict.padEnd(length - 1)}\n`);
  const size = version === 1 ? u16(header.length) : u32(header.length);
  return concat(new Uint8Array([0x93]), text('NUMPY'), new Uint8Array([version, 0]), size, header, data);
}

export interface GgufTensor {
  readonly name: string;
  readonly dims: readonly (number | bigint)[];
  readonly type: number;
  readonly offset: number | bigint;
}

export const ggufString = (value: string): Uint8Array => concat(u64(text(value).length), text(value));

/** A GGUF file: pairs are keys with a type and bytes. */
export function gguf(
  pairs: readonly (readonly [key: string, type: number, value: Uint8Array])[],
  tensors: readonly GgufTensor[],
  data: Uint8Array,
  {
    version = 3,
    alignment = 32,
    tensorCount = tensors.length,
    pairCount = pairs.length,
  }: { version?: number; alignment?: number; tensorCount?: number | bigint; pairCount?: number | bigint } = {},
): Uint8Array<ArrayBuffer> {
  const header = concat(
    text('GGUF'),
    u32(version),
    u64(tensorCount),
    u64(pairCount),
    ...pairs.map(([key, type, value]) => concat(ggufString(key), u32(type), value)),
    ...tensors.map(({ name, dims, type, offset }) =>
      concat(ggufString(name), u32(dims.length), ...dims.map((length) => u64(length)), u32(type), u64(offset)),
    ),
  );
  return concat(header, new Uint8Array((alignment - (header.length % alignment)) % alignment), data);
}

export interface ZipPart {
  readonly name: string;
  /** As in the file. */
  readonly content: Uint8Array;
  readonly method?: number;
  readonly size?: number;
  /** Of the content in the file, which is right for members that are not compressed. */
  readonly crc?: number;
  readonly flags?: number;
  /** As the directory says. */
  readonly offset?: number;
}

/** The checksum of zip, bit by bit. */
export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** A zip file whose directory can differ from its contents. */
export function zip(
  parts: readonly ZipPart[],
  claimed: { count?: number; start?: number } = {},
): Uint8Array<ArrayBuffer> {
  const bodies: Uint8Array[] = [];
  const entries: Uint8Array[] = [];
  let at = 0;
  for (const {
    name,
    content,
    method = 0,
    size = content.length,
    crc = crc32(content),
    flags = 0,
    offset = at,
  } of parts) {
    const common = concat(
      u16(20),
      u16(flags),
      u16(method),
      u32(0),
      u32(crc),
      u32(content.length),
      u32(size),
      u16(name.length),
      u16(0),
    );
    bodies.push(concat(u32(0x04034b50), common, text(name), content));
    entries.push(concat(u32(0x02014b50), u16(20), common, new Uint8Array(10), u32(offset), text(name)));
    at += (bodies.at(-1) as Uint8Array).length;
  }
  const directory = concat(...entries);
  const number = claimed.count ?? parts.length;
  const end = concat(
    u32(0x06054b50),
    u32(0),
    u16(number),
    u16(number),
    u32(directory.length),
    u32(claimed.start ?? at),
    u16(0),
  );
  return concat(...bodies, directory, end);
}
