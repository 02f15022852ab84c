/** Casts on a device: between float32, float16, bfloat16 and float8 types, and from every type of one byte. */

import { cpu } from '../device.js';
import type { DTypeInfo } from '../dtype.js';
import type { NativeStorage } from '../native/native-storage.js';
import { wire } from '../native/wire.js';
import { Descriptor } from '../storage/descriptor.js';
import { BufferStorage } from '../storage/storage.js';
import { convertElements } from '../values/convert.js';
import { type Format, formatOf, type Specials } from '../values/minifloat.js';
import { isComplex } from '../values/pass.js';
import type { CastStep as CastPlanStep } from './plan-copy.js';
import { begin, run } from './requests.js';
import { CastStep } from './wire-layout.js';

const { f64, u32, u64 } = wire;

/** The types of native/cuda/cast.cc. */
const BYTE = 0;
const wideTypes: Readonly<Record<string, number>> = { float16: 1, bfloat16: 2, float32: 3 };

/** The format of a float8 type; undefined for other types. */
function byteFormatOf({ base, lanes, bits }: DTypeInfo): Format | undefined {
  return lanes === 1 && bits === 8 ? formatOf(base) : undefined;
}

/** Describes a float8 type as native/cuda/cast_plan.h does. */
function writeFormat(half: number, { exponentBits, mantissaBits, bias, specials }: Format): void {
  const shift = 23 - mantissaBits;
  const top = (2 ** exponentBits - 1) << mantissaBits;
  const [afterLast, nan] = codesOf(specials, top, 2 ** mantissaBits);
  u32[half + CastStep.SHIFT] = shift;
  u32[half + CastStep.NORMAL] = (128 - bias) << 23;
  // The code as a float32 has the exponent's bias of float32.
  u32[half + CastStep.LAST] = (afterLast << shift) + ((127 - bias) << 23);
  u32[half + CastStep.NAN] = nan;
  u32[half + CastStep.IS_FNUZ] = specials === 'fnuz' ? 1 : 0;
  u32[half + CastStep.LIMIT] = afterLast << shift;
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

/** True when a kernel converts the elements: both sides are on one device. */
export function canConvert(source: Descriptor, target: Descriptor): boolean {
  const { device } = source;
  return device.kind === 'cuda' && device === target.device && canCast(source.dtype, target.dtype);
}

const tables = new Map<string, Uint32Array>();

/** The result of the host's cast for each of the 256 codes of a type. */
function tableOf(from: DTypeInfo, to: DTypeInfo): Uint32Array {
  const key = `${from.name} ${to.name}`;
  const known = tables.get(key);
  if (known !== undefined) return known;
  const size = to.itemBits / 8;
  const codes = Uint8Array.from({ length: 256 }, (_, code) => code);
  const results = new Uint8Array(256 * size);
  convertElements(describeBytes(codes, from), describeBytes(results, to));
  const table = new Uint32Array(256);
  results.forEach((byte, i) => {
    const code = Math.floor(i / size);
    table[code] = (table[code] as number) | (byte << ((i % size) * 8));
  });
  tables.set(key, table);
  return table;
}

/** 256 elements of whole bytes. */
function describeBytes({ buffer, length }: Uint8Array, dtype: DTypeInfo): Descriptor {
  return new Descriptor(new BufferStorage(buffer, 0, length), dtype, cpu, [256], [1], 0, 0);
}

/** Queues a cast between contiguous elements of whole bytes, on the device of both. */
export function queueCast({ from, to, run: { device, stream } }: CastPlanStep): void {
  const format = byteFormatOf(to.dtype);
  const table = isByte(from.dtype) ? tableOf(from.dtype, to.dtype) : null;
  const slot = begin(CastStep.WORDS, device.id);
  u64[slot + CastStep.STREAM] = stream;
  u32[slot * 2 + CastStep.FROM_HANDLE] = (from.storage as NativeStorage).handle;
  u32[slot * 2 + CastStep.TO_HANDLE] = (to.storage as NativeStorage).handle;
  f64[slot + CastStep.FROM_OFFSET] = from.bitOffset / 8;
  f64[slot + CastStep.TO_OFFSET] = to.bitOffset / 8;
  f64[slot + CastStep.COUNT] = to.size;
  u32[slot * 2 + CastStep.FROM_TYPE] = wideTypes[from.dtype.name] ?? BYTE;
  u32[slot * 2 + CastStep.TO_TYPE] = wideTypes[to.dtype.name] ?? BYTE;
  u32[slot * 2 + CastStep.TARGET_BYTES] = to.dtype.itemBits / 8;
  if (format !== undefined) writeFormat(slot * 2, format);
  f64[slot + CastStep.SCALE] = 2 ** ((format?.bias ?? 0) - (from.dtype.name === 'float16' ? 15 : 127));
  if (table !== null) u32.set(table, slot * 2 + CastStep.TABLE);
  run(slot, 'cast', `a cast from '${from.dtype.name}' to '${to.dtype.name}' on '${device.name}'`);
}
