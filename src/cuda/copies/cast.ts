/**
 * Casts on a device: between float32, float16, bfloat16 and float8 types, and from every type of one byte, each also with
 * a scale and an offset.
 */

import { cpu } from '../../device.js';
import { type DTypeInfo, isComplex } from '../../dtype.js';
import type { NativeStorage } from '../../native/memory/storage.js';
import { Descriptor } from '../../storage/descriptor.js';
import { findLayout } from '../../storage/layouts.js';
import type { Scaling } from '../../storage/scaling.js';
import { BufferStorage } from '../../storage/storage.js';
import { convertElements } from '../../values/convert.js';
import { type Format, formatOf, type Specials } from '../../values/minifloat.js';
import { check, cuda } from '../driver.js';
import type { CastStep } from './plan-copy.js';

/** The types of native/cuda/copies/cast.cc. */
const BYTE = 0;
const wideTypes: Readonly<Record<string, number>> = { float16: 1, bfloat16: 2, float32: 3 };

/** The format of a float8 type; undefined for other types. */
function byteFormatOf({ base, lanes, bits }: DTypeInfo): Format | undefined {
  return lanes === 1 && bits === 8 ? formatOf(base) : undefined;
}

/** The numbers of a float8 target, as native/cuda/copies/cast.cc reads them and cast_plan.h describes them. */
function numbersOf({ exponentBits, mantissaBits, bias, specials }: Format, from: DTypeInfo): Float64Array {
  const shift = 23 - mantissaBits;
  const top = (2 ** exponentBits - 1) << mantissaBits;
  const [afterLast, nan] = codesOf(specials, top, 2 ** mantissaBits);
  const normal = (128 - bias) << 23;
  // The code as a float32 has the exponent's bias of float32.
  const last = (afterLast << shift) + ((127 - bias) << 23);
  const isFnuz = specials === 'fnuz' ? 1 : 0;
  const scale = 2 ** (bias - (from.name === 'float16' ? 15 : 127));
  return new Float64Array([shift, normal, last, nan, isFnuz, afterLast << shift, scale]);
}

/** The code after the largest number, and the code of NaN. */
function codesOf(specials: Specials, top: number, mantissas: number): [number, number] {
  if (specials === 'ieee') return [top, top + mantissas / 2];
  return specials === 'fn' ? [0x7f, 0x7f] : [0x80, 0x80];
}

const isByte = ({ itemBits, lanes }: DTypeInfo): boolean => itemBits === 8 && lanes === 1;

/** True when there is a kernel for these types. */
function canCast(from: DTypeInfo, to: DTypeInfo): boolean {
  if (isComplex(from) || isComplex(to)) return false;
  if (isByte(from)) return to.lanes === 1 && (to.itemBits === 8 || to.itemBits === 16 || to.itemBits === 32);
  return wideTypes[from.name] !== undefined && (wideTypes[to.name] !== undefined || byteFormatOf(to) !== undefined);
}

/** True when a kernel converts the elements, also with a scale and an offset: both sides are on one device. */
export function canConvert(source: Descriptor, target: Descriptor): boolean {
  const { device, dtype } = source;
  return device.kind === 'cuda' && device === target.device && canCast(dtype, target.dtype);
}

/** Tables of a kilobyte each. A program may have any number of scales, so they are dropped when there are many. */
const tables = new Map<string, Uint8Array>();
const MOST_TABLES = 256;

/** The table of a cast, which has one scale and one offset at most. */
function tableOf(from: DTypeInfo, to: DTypeInfo, scaling: Scaling | null): Uint8Array {
  const key = `${from.name} ${to.name} ${scaling === null ? '' : bitsOf(scaling)}`;
  const known = tables.get(key);
  if (known !== undefined) return known;
  const table = makeTable(from, to, scaling);
  if (tables.size >= MOST_TABLES) tables.clear();
  tables.set(key, table);
  return table;
}

/** The bits of a scale and an offset: -0 and 0 are equal as numbers, and give other results. */
const bitsOf = ({ scale, offset }: Scaling): string =>
  new BigUint64Array(Float64Array.of(scale[0] as number, offset[0] as number).buffer).join();

/** The result of the host's cast for each of the 256 codes of a type, in words of four bytes. */
function makeTable(from: DTypeInfo, to: DTypeInfo, scaling: Scaling | null): Uint8Array {
  const size = to.itemBits / 8;
  const codes = Uint8Array.from({ length: 256 }, (_, code) => code);
  const results = new Uint8Array(256 * size);
  convertElements(describeBytes(codes, from), describeBytes(results, to), true, scaling);
  const table = new Uint8Array(256 * 4);
  for (let i = 0; i < results.length; i++) table[Math.floor(i / size) * 4 + (i % size)] = results[i] as number;
  return table;
}

/** 256 elements of whole bytes. */
function describeBytes({ buffer, length }: Uint8Array, dtype: DTypeInfo): Descriptor {
  return new Descriptor(new BufferStorage(buffer, 0, length), findLayout(dtype, cpu, [256], [1], 0), 0);
}

/** Queues a cast between contiguous elements of whole bytes, on the device of both. */
export function queueCast({ from, to, scaling, run: { device, stream } }: CastStep): void {
  const format = byteFormatOf(to.dtype);
  const status = cuda().cast(
    device.id,
    stream,
    (from.storage as NativeStorage).handle,
    from.bitOffset / 8,
    (to.storage as NativeStorage).handle,
    to.bitOffset / 8,
    to.size,
    wideTypes[from.dtype.name] ?? BYTE,
    wideTypes[to.dtype.name] ?? BYTE,
    to.dtype.itemBits / 8,
    format === undefined ? undefined : numbersOf(format, from.dtype),
    isByte(from.dtype) ? tableOf(from.dtype, to.dtype, scaling) : undefined,
    scaling === null ? undefined : Float64Array.of(scaling.scale[0] as number, scaling.offset[0] as number),
  );
  check(status, `a cast from '${from.dtype.name}' to '${to.dtype.name}' on '${device.name}'`);
}
