/**
 * Plans a copy between devices and the host, before anything runs: the steps, and the temporary memory between them.
 */

import { cpu, type DeviceInfo } from '../../device.js';
import { type DTypeInfo, dtypeFromName } from '../../dtype.js';
import { UnsupportedDTypeError } from '../../errors.js';
import { sizeOf, spanOf } from '../../layout.js';
import { NativeStorage } from '../../native/memory/storage.js';
import { allocateLike } from '../../storage/allocate.js';
import type { Pass } from '../../storage/backend.js';
import { Descriptor, Flag, isBitwise, paddedBytes } from '../../storage/descriptor.js';
import { findLayout } from '../../storage/layouts.js';
import type { Scaling } from '../../storage/scaling.js';
import { releaseOnError } from '../../storage/storage.js';
import { passesOf } from '../../values/pass.js';
import { currentHandle } from '../streams/current.js';

/** The device that runs a step, and its stream. Both stay the same across an await. */
export interface Run {
  readonly device: DeviceInfo;
  readonly stream: bigint;
}

/** A step that moves elements from one place to another. */
export type Step = HostStep | DeviceStep | CastStep;

interface Sides {
  readonly from: Descriptor;
  readonly to: Descriptor;
}

/** The CPU copies. */
export interface HostStep extends Sides {
  readonly by: 'host';
}

/**
 * The driver copies, on a stream. `device`: the device can access both sides by itself. `bus`: one side is ordinary
 * host memory, which is in use until the stream has finished. `pinned`: as `bus`, for many bytes to a device, which go
 * through pinned memory and have been read when the step ends. `element`: one element from ordinary host memory. It is
 * small, so the driver has read it when the call returns.
 */
export interface DeviceStep extends Sides {
  readonly by: 'device' | 'bus' | 'pinned' | 'element';
  readonly pass: Pass;
  readonly run: Run;
}

/** A kernel converts contiguous elements on one device, with one scale and one offset for all or none. */
export interface CastStep extends Sides {
  readonly by: 'cast';
  readonly scaling: Scaling | null;
  readonly run: Run;
}

/** Steps in order. `release` releases temporary memory; device memory is released after the queued work. */
export interface CopyPlan {
  readonly steps: readonly Step[];
  release(): void;
}

export const isOnDevice = ({ device }: Descriptor): boolean => device.kind === 'cuda';

/** The target's device runs a copy, or the source's for copies to the host. */
function runOf(from: Descriptor, to: Descriptor): Run {
  const { device } = isOnDevice(to) ? to : from;
  return { device, stream: currentHandle(device.id) };
}

const byte = dtypeFromName('uint8');
const bit = dtypeFromName('uint1');

/**
 * The steps of a copy where at least one side is on a device. `isNew`: no other element uses the target's bytes.
 * `isAsync`: other threads do the slow work, and they cannot access JavaScript memory. Only a new target in row-major
 * order can be scaled.
 */
export function planCopy(
  source: Descriptor,
  target: Descriptor,
  isNew: boolean,
  isAsync: boolean,
  scaling: Scaling | null,
): CopyPlan {
  const planner = new Planner(isNew ? target : null, isAsync);
  return releaseOnError(planner, () => {
    if (scaling !== null && scaling.axis >= 0) planner.addScaled(source, target, scaling);
    else if (scaling === null && source.dtype === target.dtype) planner.add(source, target);
    else planner.addCast(source, target, scaling);
    return planner;
  });
}

class Planner implements CopyPlan {
  readonly steps: Step[] = [];
  private readonly temporaries: Descriptor[] = [];

  constructor(
    private readonly newTarget: Descriptor | null,
    private readonly isAsync: boolean,
  ) {}

  release(): void {
    for (const { storage } of this.temporaries.splice(0)) storage.release();
  }

  /** Adds a direct step where that is possible, otherwise steps through packed memory on either side. */
  add(from: Descriptor, to: Descriptor): void {
    if (from.device.isHostAccessible && to.device.isHostAccessible) this.steps.push({ by: 'host', from, to });
    else if (from.strideBits !== to.strideBits) this.addRepacked(from, to);
    else if (from.strideBits !== from.dtype.itemBits) this.add(paddedBytes(from), paddedBytes(to));
    else if (isRepeated(from)) this.addRepeated(from, to);
    else {
      const pass = this.isOutOfReach(from) || this.isOutOfReach(to) ? null : directPass(from, to, this.isNew(to));
      if (pass === null) this.addDetour(from, to);
      else this.steps.push({ by: wayOf(from, to, pass), from, to, pass, run: runOf(from, to) });
    }
  }

  /** Kernels convert only contiguous elements, so other layouts are copied on the device before and after. */
  addCast(from: Descriptor, to: Descriptor, scaling: Scaling | null): void {
    const packed = this.packed(from);
    const converted = to.isContiguous ? to : this.allocate(to.shape, to, to.device);
    this.steps.push({ by: 'cast', from: packed, to: converted, scaling, run: runOf(packed, converted) });
    if (converted !== to) this.add(converted, to);
  }

  /**
   * A cast for each position on the axis, because a kernel has one table. The axis first becomes the outermost one, so that
   * the elements of a position follow each other, and the results are copied to their places. A launch and its table take
   * longer than to move the elements of an image twice.
   */
  addScaled(from: Descriptor, to: Descriptor, { scale, offset, axis }: Scaling): void {
    const { shape } = to;
    if (sizeOf(shape.slice(0, axis)) > 1) {
      const moved = this.allocate(axisFirst(to, axis).shape, to, to.device);
      this.addScaled(axisFirst(from, axis), moved, { scale, offset, axis: 0 });
      this.add(moved, axisFirst(to, axis));
      return;
    }
    const packed = this.packed(from);
    const run = runOf(packed, to);
    const inner = sizeOf(shape.slice(axis + 1));
    for (let i = 0; i < scale.length; i++) {
      const part = { shape: [inner], strides: [1], offset: i * inner };
      const scaling = { scale: scale.subarray(i, i + 1), offset: offset.subarray(i, i + 1), axis: -1 };
      this.steps.push({ by: 'cast', from: packed.derive(part), to: to.derive(part), scaling, run });
    }
  }

  private packed(from: Descriptor): Descriptor {
    if (from.isContiguous) return from;
    const packed = this.allocate(from.shape, from, from.device);
    this.add(from, packed);
    return packed;
  }

  /** The host moves elements between packed and padded memory. */
  private addRepacked(from: Descriptor, to: Descriptor): void {
    const read = from.device.isHostAccessible ? from : this.allocate(from.shape, from, cpu);
    if (read !== from) this.add(from, read);
    const written = to.device.isHostAccessible ? to : this.allocate(to.shape, to, cpu);
    this.steps.push({ by: 'host', from: read, to: written });
    if (written !== to) this.add(written, to);
  }

  /** Sends one element and repeats it on the device. */
  private addRepeated(from: Descriptor, to: Descriptor): void {
    const one = this.allocate([], from, cpu);
    const there = this.allocate([], from, to.device);
    this.steps.push({ by: 'host', from: from.derive({ shape: [], strides: [], offset: 0 }), to: one });
    const pass = directPass(one, there, true) as Pass;
    this.steps.push({ by: 'element', from: one, to: there, pass, run: runOf(one, there) });
    this.add(there.derive({ shape: from.shape, strides: from.shape.map(() => 0), offset: 0 }), to);
  }

  private addDetour(from: Descriptor, to: Descriptor): void {
    if (isOnDevice(from) && isBitwise(from)) this.addSpan(from, to);
    else if (!from.isContiguous || isBitwise(from) || this.isOutOfReach(from)) this.addPacked(from, to, from);
    else if (to.device.isHostAccessible || (!to.isContiguous && !isBitwise(to))) this.addPacked(from, to, to);
    else if (!isBitwise(to)) this.addInPlace(from, to);
    else throw bitwiseError(to);
  }

  /**
   * Copies packed elements in order whose last byte they do not fill. Its other bits may belong to other elements, so
   * the host inserts the last elements into that byte.
   */
  private addInPlace(from: Descriptor, to: Descriptor): void {
    const bits = to.size * to.dtype.itemBits;
    const whole = Math.floor(bits / 8);
    const part = ({ storage, device, bitOffset }: Descriptor, dtype: DTypeInfo, start: number, length: number) =>
      new Descriptor(storage, findLayout(dtype, device, [length], [1], 0), bitOffset + start * 8);
    if (whole > 0) this.add(part(from, byte, 0, whole), part(to, byte, 0, whole));
    const last = part(to, byte, whole, 1);
    const here = this.allocate([1], last, cpu);
    this.add(last, here);
    this.add(part(from, bit, whole, bits % 8), part(here, bit, 0, bits % 8));
    this.add(here, last);
  }

  private isNew(to: Descriptor): boolean {
    return to === this.newTarget || this.temporaries.includes(to);
  }

  /** Copies through packed memory near one side. */
  private addPacked(from: Descriptor, to: Descriptor, side: Descriptor): void {
    const packed = this.allocate(side.shape, side, placeNear(side));
    this.add(from, packed);
    this.add(packed, to);
  }

  private isOutOfReach({ device, storage }: Descriptor): boolean {
    return this.isAsync && device.kind === 'cpu' && !(storage instanceof NativeStorage);
  }

  /** Sends the bytes that contain the elements to the host, which extracts the elements. */
  private addSpan(from: Descriptor, to: Descriptor): void {
    if (from.device === to.device) throw bitwiseError(from);
    const { shape, strides, bitOffset, strideBits, dtype, device, flags } = from;
    const span = spanOf(shape, strides) as { low: number; high: number };
    const first = Math.floor((bitOffset + span.low * strideBits) / 8);
    const length = Math.ceil((bitOffset + span.high * strideBits + dtype.itemBits) / 8) - first;
    const bytes = new Descriptor(from.storage, findLayout(byte, device, [length], [1], 0), first * 8);
    const here = this.allocate([length], bytes, cpu);
    this.add(bytes, here);
    this.add(new Descriptor(here.storage, findLayout(dtype, cpu, shape, strides, flags), bitOffset - first * 8), to);
  }

  /** Allocates row-major memory that lives until the plan is released. */
  private allocate(shape: readonly number[], like: Descriptor, device: DeviceInfo): Descriptor {
    const temporary = allocateLike(shape, like.dtype, like.flags & Flag.subBytePadded, device);
    this.temporaries.push(temporary);
    return temporary;
  }
}

/** The same elements with this axis as the outermost one. */
function axisFirst(tensor: Descriptor, axis: number): Descriptor {
  const move = (list: readonly number[]) => [list[axis] as number, ...list.slice(0, axis), ...list.slice(axis + 1)];
  return tensor.derive({ shape: move(tensor.shape), strides: move(tensor.strides), offset: 0 });
}

/** The device for temporary memory. Not pinned memory, because pinning costs more than a copy without it. */
function placeNear({ device }: Descriptor): DeviceInfo {
  return device.isHostAccessible ? cpu : device;
}

/** True when all elements are the same value in host memory. */
function isRepeated({ shape, strides, device, dtype }: Descriptor): boolean {
  if (dtype.isSubByte || device.kind === 'cuda' || sizeOf(shape) === 1) return false;
  return strides.every((step, axis) => step === 0 || shape[axis] === 1);
}

function bitwiseError({ dtype, device }: Descriptor): UnsupportedDTypeError {
  return new UnsupportedDTypeError(
    dtype.name,
    `Expected whole bytes, or packed elements in row-major order that fill their bytes, on '${device.name}' but these '${dtype.name}' elements do not; copy them on the host: to('cpu')`,
  );
}

/** From this many bytes on, an upload goes through pinned memory. Fewer bytes have arrived before threads would start. */
const PINNED_BYTES = 8 << 20;

/** How the driver does a pass. Threads that fill pinned memory cannot read JavaScript memory. */
function wayOf(from: Descriptor, to: Descriptor, pass: Pass): DeviceStep['by'] {
  if (from.device.kind !== 'cpu' && to.device.kind !== 'cpu') return 'device';
  const isUpload = isOnDevice(to) && from.storage instanceof NativeStorage && isBlock(pass);
  return isUpload && bytesIn(pass) >= PINNED_BYTES ? 'pinned' : 'bus';
}

/** The bytes of a pass whose items are contiguous. */
export function bytesIn({ from: { bits }, axes }: Pass): number {
  return ((axes[0]?.length ?? 1) * bits) / 8;
}

/** The single pass with which the driver can do a copy; null when it cannot. */
function directPass(from: Descriptor, to: Descriptor, isNew: boolean): Pass | null {
  const pass = bytePass(from, to, isNew);
  if (pass === null || isBlock(pass)) return pass;
  if (from.device.kind === 'cpu' || to.device.kind === 'cpu') return isPitched(pass) ? pass : null;
  // Two devices can exchange only contiguous blocks. On one device kernels follow any strides.
  return isOnDevice(from) && isOnDevice(to) && from.device !== to.device ? null : pass;
}

/** The single pass of a copy in whole bytes; null when the copy needs more passes or moves bits. */
function bytePass(from: Descriptor, to: Descriptor, isNew: boolean): Pass | null {
  const passes = passesOf(from, to);
  const pass = passes[0] as Pass;
  if (passes.length === 1 && pass.from.bits >= 8 && pass.fromBit % 8 === 0 && pass.toBit % 8 === 0) return pass;
  // Packed elements in order are copied as whole bytes into new memory, where no element uses the bits after the last.
  const { nbytes } = to;
  const isOrdered = [from, to].every((side) => side.isContiguous && side.bitOffset % 8 === 0);
  if (!isNew || !isOrdered) return null;
  const axes = [{ length: nbytes, from: 8, to: 8 }];
  return { from: byte, to: byte, fromBit: from.bitOffset, toBit: to.bitOffset, axes };
}

/** True when the items are contiguous on both sides. native/cuda/copies/copy.cc makes the same decision. */
function isBlock({ from: { bits }, axes }: Pass): boolean {
  return axes.length <= 1 && axes.every(({ from, to }) => from === bits && to === bits);
}

/**
 * True for rows of one length at a fixed distance, which the copy engine can move over the bus, too.
 * native/cuda/copies/copy.cc makes the same decision.
 */
function isPitched({ from: { bits }, axes }: Pass): boolean {
  const [rows, row] = axes;
  if (axes.length !== 2 || rows === undefined || row?.from !== bits || row.to !== bits) return false;
  const width = row.length * bits;
  return rows.from >= width && rows.to >= width;
}
