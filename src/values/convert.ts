/**
 * Copies and casts between two descriptors of the same shape: in native code where a backend supports it, otherwise in
 * TypeScript, with the same results.
 */

import { cpu } from '../device.js';
import { type DTypeInfo, dtypeFromName, isComplex, sizeBytes, TypeCode } from '../dtype.js';
import { UnsupportedDeviceError, UnsupportedDTypeError } from '../errors.js';
import { getBackend, type Pass, type PassAxis } from '../storage/backend.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { type DeviceBackend, getDeviceBackend, loadAdvice, loadDeviceBackend } from '../storage/device-backend.js';
import { findLayout } from '../storage/layouts.js';
import type { Scaling } from '../storage/scaling.js';
import { BufferStorage } from '../storage/storage.js';
import { castBetween } from './cast.js';
import { elementCodec, readBits, writeBits } from './element.js';
import { checkConvertible, passesOf, piecesOf } from './pass.js';

/** The scalar types whose every value is a float32. Their numbers are scaled as float32. */
const isSingle = ({ code, bits, name }: DTypeInfo): boolean =>
  code === TypeCode.int || code === TypeCode.uint ? bits <= 16 : bits <= 16 || name === 'float32';

/** Elements that TypeScript converts, in about ten milliseconds, before it lets the event loop run. */
const PIECE = 2 ** 18;

/**
 * Writes every element of `source` into `target`, converting the dtype where they differ. `isNew`: no other element uses
 * the target's bytes. Only a new target in row-major order can be scaled.
 */
export function convertElements(
  source: Descriptor,
  target: Descriptor,
  isNew = false,
  scaling: Scaling | null = null,
): void {
  const device = deviceOf(source, target, scaling);
  if (device !== null) {
    device.copy(source, target, isNew, scaling);
    return;
  }
  const zero = prepare(source, target);
  if (zero !== null) runPasses(zero, target, null);
  runPasses(source, target, scaling);
}

function runPasses(source: Descriptor, target: Descriptor, scaling: Scaling | null): void {
  if (target.size === 0) return;
  const passes = passesOf(source, target, scaling);
  // By index, because a patched iterator would receive private objects.
  for (let i = 0; i < passes.length; i++) runHere(passes[i] as Pass, source, target);
}

/** Runs one pass on this thread: in native code where the backend supports it, otherwise in TypeScript. */
function runHere(pass: Pass, source: Descriptor, target: Descriptor): void {
  if (getBackend()?.convert(pass, source.storage, target.storage) === true) return;
  runPass(pass, source, target);
  // Commit only here. Where the buffer is a copy of the memory, a commit after a native pass would undo that pass.
  target.storage.commit();
}

/** As `convertElements`, without blocking. The caller keeps both storages alive. */
export async function convertElementsAsync(
  source: Descriptor,
  target: Descriptor,
  isNew = false,
  scaling: Scaling | null = null,
): Promise<void> {
  const device = deviceOf(source, target, scaling);
  if (device !== null) return device.copyAsync(source, target, isNew, scaling);
  const zero = prepare(source, target);
  if (zero !== null) await runPassesAsync(zero, target, null);
  await runPassesAsync(source, target, scaling);
}

async function runPassesAsync(source: Descriptor, target: Descriptor, scaling: Scaling | null): Promise<void> {
  if (target.size === 0) return;
  const passes = passesOf(source, target, scaling);
  for (let i = 0; i < passes.length; i++) {
    const pass = passes[i] as Pass;
    if (await getBackend()?.convertAsync(pass, source.storage, target.storage)) continue;
    for (const piece of piecesOf(pass, PIECE)) {
      runHere(piece, source, target);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }
}

/** The backend for a copy with memory that the CPU cannot access; null when the CPU can access both sides. */
function deviceOf(source: Descriptor, target: Descriptor, scaling: Scaling | null): DeviceBackend | null {
  if (source.device.isHostAccessible && target.device.isHostAccessible) return null;
  const there = source.device.isHostAccessible ? target.device : source.device;
  const backend = loadDeviceBackend(there);
  if (backend === null) {
    throw new UnsupportedDeviceError(
      there.name,
      `Expected host memory but this tensor is on '${there.name}'${loadAdvice(there)}`,
    );
  }
  const other = there === source.device ? target.device : source.device;
  if (!other.isHostAccessible && getDeviceBackend(other) !== backend) {
    throw new UnsupportedDeviceError(
      other.name,
      `Expected host memory, or the same kind of device, for a copy with '${there.name}' but received '${other.name}'; copy through the host: await x.toAsync(device, { stage: true })`,
    );
  }
  if ((scaling !== null || source.dtype !== target.dtype) && backend.casts?.(source, target, scaling) !== true) {
    throw new UnsupportedDTypeError(
      target.dtype.name,
      `Expected a conversion that '${there.name}' supports but received '${source.dtype.name}' to '${target.dtype.name}'${scaling === null ? '' : ' with a scale'}; convert on the host: ${there.kind === 'webgpu' ? "(await x.toAsync('cpu'))" : "x.to('cpu')"}.astype('${target.dtype.name}')`,
    );
  }
  return backend;
}

/** Writes one value into every element. The caller has checked the value as `set` does. */
export function fillElements(target: Descriptor, value: unknown): void {
  if (target.size > 0) convertElements(scalarSource(target, value), target);
}

/**
 * A descriptor with the shape and dtype of `target` in which every element is `value`, with the checks of `set`. The
 * repetitions take no memory.
 */
function scalarSource(target: Descriptor, value: unknown): Descriptor {
  const { dtype, shape } = target;
  const nbytes = sizeBytes(dtype, 1);
  const storage = new BufferStorage(new ArrayBuffer(nbytes), 0, nbytes);
  elementCodec(dtype).write(new DataView(storage.buffer()), 0, value);
  const strides = new Array(shape.length).fill(0);
  return new Descriptor(storage, findLayout(dtype, cpu, shape, strides, target.flags & Flag.subBytePadded), 0);
}

/**
 * Checks both sides. When real values become complex, returns a source of zeros, because the passes leave the imaginary
 * parts unchanged.
 */
function prepare(source: Descriptor, target: Descriptor): Descriptor | null {
  source.checkHost();
  target.checkHost();
  if (target.size === 0 || isComplex(source.dtype) || !isComplex(target.dtype)) return null;
  checkConvertible(source.dtype, target.dtype);
  return scalarSource(target, target.dtype.lanes > 1 ? new Array(target.dtype.lanes).fill(0) : 0);
}

type Move = (at: number, into: number) => void;

function runPass(pass: Pass, source: Descriptor, target: Descriptor): void {
  const from = source.view();
  const to = target.view();
  const { axes, scaling } = pass;
  const last = axes.length - 1;
  const { bits } = pass.to;
  const isMove = pass.from === pass.to && scaling === undefined;
  const isBlock = isMove && bits >= 8 && axes[last]?.from === bits && axes[last].to === bits;
  let position = 0; // on the scaled axis
  const move = isMove
    ? moveBits(pass, from, to)
    : scaling === undefined
      ? moveValue(pass, from, to)
      : moveScaled(pass, scaling, from, to, () => position);
  const walk = (axis: number, at: number, into: number): void => {
    if (axis > last) {
      move(at, into);
      return;
    }
    const { length, from: step, to: toStep } = axes[axis] as PassAxis;
    if (isBlock && axis === last) {
      const bytes = new Uint8Array(from.buffer, from.byteOffset + at / 8, (length * bits) / 8);
      new Uint8Array(to.buffer, to.byteOffset + into / 8, bytes.length).set(bytes);
      return;
    }
    const isScaled = axis === scaling?.axis;
    for (let i = 0; i < length; i++) {
      if (isScaled) position = i;
      if (axis === last) move(at + i * step, into + i * toStep);
      else walk(axis + 1, at + i * step, into + i * toStep);
    }
  };
  walk(0, pass.fromBit, pass.toBit);
}

/** Moves bits, not values, so a NaN keeps its payload. */
function moveBits({ to: { bits } }: Pass, from: DataView, to: DataView): Move {
  if (bits <= 16) return (at, into) => writeBits(to, into, bits, readBits(from, at, bits));
  return (at, into) => {
    for (let byte = 0; byte < bits / 8; byte += 4) {
      to.setUint32(into / 8 + byte, from.getUint32(at / 8 + byte, true), true);
    }
  };
}

function moveValue(pass: Pass, from: DataView, to: DataView): Move {
  const reader = elementCodec(pass.from);
  const writer = elementCodec(pass.to);
  const cast = castBetween(pass.from, pass.to);
  return (at, into) => writer.write(to, into, cast(reader.read(from, at)));
}

/** Multiplies and adds with two roundings, as native/convert/rows_common.h does. */
function moveScaled(
  pass: Pass,
  { scale, offset }: Scaling,
  from: DataView,
  to: DataView,
  position: () => number,
): Move {
  const reader = elementCodec(pass.from);
  const writer = elementCodec(pass.to);
  const round = isSingle(pass.from) && pass.to.name !== 'float64' ? Math.fround : (number: number) => number;
  const cast = castBetween(dtypeFromName('float64'), pass.to);
  return (at, into) => {
    const i = position();
    const product = round(Number(reader.read(from, at)) * round(scale[i] as number));
    writer.write(to, into, cast(round(product + round(offset[i] as number))));
  };
}
