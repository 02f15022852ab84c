/** Commands that copy elements inside one GPUDevice, and the temporary buffers that they need. */

import { dtypeFromName } from '../dtype.js';
import { BufferError, UnsupportedDTypeError } from '../errors.js';
import { Descriptor, Flag, isBitwise, paddedBytes } from '../storage/descriptor.js';
import { findLayout } from '../storage/layouts.js';
import type { GpuStorage } from '../storage/storage.js';
import { passesOf } from '../values/pass.js';
import { type GpuBuffer, type GpuEncoder, Usage } from './api.js';
import type { DeviceState } from './device-state.js';
import { allocateBuffer, hasUsage, memoryOf } from './memory.js';
import { isOneRun, type Move, moveOf, partsOf, roundUp, unitsOf, windowOf } from './move.js';
import { shaderOf } from './shader.js';

/** The largest window of a shader: positions are 32-bit integers, in units of at least one byte. */
const MAX_WINDOW = 2 ** 30;
/** Rows that are copied by a command each: the most of them, and the fewest bytes of each. */
const MOST_ROWS = 64;
const LONG_ROW = 4096;
/** Invocations of a workgroup. On an H200, rows of 132 bytes take 264 µs with 256 of them and 652 µs with 64 (256 MiB). */
const GROUP = 256;

const byte = dtypeFromName('uint8');

/** Elements narrower than a byte as bytes: a padded element is one or more, and packed elements in order fill bytes. */
export function asBytes(descriptor: Descriptor): Descriptor {
  const { storage, dtype, device, bitOffset, isPadded, nbytes } = descriptor;
  if (!dtype.isSubByte) return descriptor;
  if (isPadded) return paddedBytes(descriptor);
  if (!isBitwise(descriptor)) return new Descriptor(storage, findLayout(byte, device, [nbytes], [1], 0), bitOffset);
  throw new UnsupportedDTypeError(
    dtype.name,
    `Expected whole bytes, or packed elements in row-major order, on '${device.name}' but these '${dtype.name}' elements have gaps or start inside a byte; copy them on the host: await x.toAsync('cpu')`,
  );
}

/** The bits of packed elements in order in a last byte that they do not fill; 0 if they fill it. */
export function restOf({ dtype, isPadded, size }: Descriptor): number {
  return dtype.isSubByte && !isPadded ? (size * dtype.itemBits) % 8 : 0;
}

/** True when the bytes behind the last element, up to a multiple of four, are padding that this module added. */
export function isPaddedAfter({ storage, bitOffset, nbytes, isContiguous }: Descriptor): boolean {
  const end = bitOffset / 8 + nbytes;
  const { size } = (storage as GpuStorage).gpuBuffer;
  return isContiguous && end === storage.nbytes && storage.nbytes < size && roundUp(end, 4) <= size;
}

/** Commands for one GPUDevice. `submit` runs them in order and destroys the temporary buffers. */
export class Commands {
  readonly state: DeviceState;
  readonly encoder: GpuEncoder;
  private readonly temporaries: GpuStorage[] = [];

  constructor(state: DeviceState) {
    this.state = state;
    this.encoder = state.gpuDevice.createCommandEncoder();
  }

  submit(): void {
    try {
      this.state.gpuDevice.queue.submit([this.encoder.finish()]);
    } finally {
      this.release();
    }
  }

  /** Destroys the temporary memory. Work that was submitted before still finishes. */
  release(): void {
    for (const temporary of this.temporaries.splice(0)) temporary.release();
  }

  /** Row-major memory on the device for the elements of a tensor, which lives until the commands are submitted. */
  temporary({ shape, dtype, flags, device, nbytes }: Descriptor): Descriptor {
    const storage = allocateBuffer(this.state, nbytes);
    this.temporaries.push(storage);
    return new Descriptor(storage, findLayout(dtype, device, shape, null, flags & Flag.subBytePadded), 0);
  }

  /** Copies every element. Both tensors are on this device. `isNew`: no other element uses the target's bytes. */
  copy(source: Descriptor, target: Descriptor, isNew: boolean): void {
    const { buffer: fromBuffer } = memoryOf(source);
    const { buffer: toBuffer } = memoryOf(target);
    if (fromBuffer === toBuffer) {
      // One buffer cannot be both the source and the target of a command.
      const packed = this.temporary(target);
      this.copy(source, packed, true);
      this.copy(packed, target, isNew);
      return;
    }
    if (source.strideBits !== target.strideBits) {
      const { dtype, device } = target;
      throw new UnsupportedDTypeError(
        dtype.name,
        `Expected packed or padded '${dtype.name}' elements on both sides of a copy on '${device.name}' but one side is packed; convert them on the host: await x.toAsync('cpu')`,
      );
    }
    const [from, to] = [asBytes(source), asBytes(target)];
    const rest = isNew ? 0 : restOf(target);
    if (rest > 0) {
      this.copyRest(from, to, rest);
      return;
    }
    const mayPad = isPaddedAfter(to);
    for (const pass of passesOf(from, to)) this.run(moveOf(pass), fromBuffer, toBuffer, mayPad);
  }

  /** Copies bytes in order. Of the last byte only the first `rest` bits, because others may belong to other elements. */
  private copyRest(from: Descriptor, to: Descriptor, rest: number): void {
    const { buffer: fromBuffer } = memoryOf(from);
    const { buffer: toBuffer } = memoryOf(to);
    const [start, into] = [from.bitOffset / 8, to.bitOffset / 8];
    const whole = to.size - 1;
    const bytes = (at: number, length: number): Move =>
      moveOf({
        from: byte,
        to: byte,
        fromBit: (start + at) * 8,
        toBit: (into + at) * 8,
        axes: [{ length, from: 8, to: 8 }],
      });
    if (whole > 0) this.run(bytes(0, whole), fromBuffer, toBuffer, false);
    const last = this.readable(bytes(whole, 1), fromBuffer);
    this.dispatch(last.move, last.buffer, this.writable(toBuffer), false, rest);
  }

  /**
   * The choice of every copy: commands for one run of bytes and for a few long rows, because they need no new shader, and
   * otherwise a shader (`shaderOf`).
   */
  private run(move: Move, from: GpuBuffer, to: GpuBuffer, mayPad: boolean): void {
    const canCopy = hasUsage(from, Usage.copySource) && hasUsage(to, Usage.copyTarget);
    if (canCopy && (this.copyRun(move, from, to, mayPad) || this.copyRows(move, from, to))) return;
    const limit = Math.min(this.state.gpuDevice.limits.maxStorageBufferBindingSize, MAX_WINDOW);
    const source = this.readable(move, from);
    const target = this.writable(to);
    for (const part of partsOf(source.move, limit)) {
      // A part must not write the padding, because other parts have written elements behind it.
      this.dispatch(part, source.buffer, target, mayPad && part === source.move);
    }
  }

  /** Copies one run with one command. Returns false for another move, and for a run that is not in whole words. */
  private copyRun(move: Move, from: GpuBuffer, to: GpuBuffer, mayPad: boolean): boolean {
    const nbytes = unitsOf(move) * move.unit;
    const size = mayPad ? roundUp(nbytes, 4) : nbytes;
    const isWhole = size % 4 === 0 && move.from % 4 === 0 && move.to % 4 === 0 && move.from + size <= from.size;
    if (!isOneRun(move) || !isWhole) return false;
    this.encoder.copyBufferToBuffer(from, move.from, to, move.to, size);
    return true;
  }

  /** Copies with a command for each row. Returns false when the rows are too short, too many or not in whole words. */
  private copyRows({ unit, shape, fromSteps, toSteps, ...start }: Move, from: GpuBuffer, to: GpuBuffer): boolean {
    const last = shape.length - 1;
    const row = (shape[last] as number) * unit;
    const rows = shape.slice(0, -1).reduce((product, length) => product * length, 1);
    if (unit < 4 || fromSteps[last] !== 1 || toSteps[last] !== 1 || row < LONG_ROW || rows > MOST_ROWS) return false;
    const visit = (axis: number, at: number, into: number): void => {
      if (axis === last) {
        this.encoder.copyBufferToBuffer(from, at, to, into, row);
        return;
      }
      for (let i = 0; i < (shape[axis] as number); i++) {
        visit(axis + 1, at + i * (fromSteps[axis] as number) * unit, into + i * (toSteps[axis] as number) * unit);
      }
    };
    visit(0, start.from, start.to);
    return true;
  }

  /** A shader reads only buffers with STORAGE usage; others are copied first. */
  private readable(move: Move, from: GpuBuffer): { move: Move; buffer: GpuBuffer } {
    if (hasUsage(from, Usage.storage)) return { move, buffer: from };
    if (!hasUsage(from, Usage.copySource)) throw usageError(this.state, 'STORAGE or COPY_SRC to be read');
    const { offset, size } = windowOf(move.from, move.fromSteps, move);
    const copy = allocateBuffer(this.state, size);
    this.temporaries.push(copy);
    this.encoder.copyBufferToBuffer(from, offset, copy.gpuBuffer, 0, size);
    return { move: { ...move, from: move.from - offset }, buffer: copy.gpuBuffer as GpuBuffer };
  }

  private writable(to: GpuBuffer): GpuBuffer {
    if (hasUsage(to, Usage.storage)) return to;
    throw usageError(this.state, 'STORAGE to be written by a strided copy');
  }

  /** `bits`: how many bits of each unit are written; below 8 only for units of one byte. */
  private dispatch(move: Move, from: GpuBuffer, to: GpuBuffer, mayPad: boolean, bits = 8): void {
    const { gpuDevice } = this.state;
    const windows = [windowOf(move.from, move.fromSteps, move), windowOf(move.to, move.toSteps, move)] as const;
    [from, to].forEach((buffer, i) => {
      const end = (windows[i]?.offset ?? 0) + (windows[i]?.size ?? 0);
      if (end > buffer.size) {
        throw new BufferError(
          `Expected a GPUBuffer of ${end} bytes but it has ${buffer.size}; shaders access whole words of 4 bytes`,
        );
      }
    });
    const { limits } = gpuDevice;
    const group = Math.min(GROUP, limits.maxComputeInvocationsPerWorkgroup);
    const shader = shaderOf(move, ...windows, mayPad, group, bits);
    const pipeline = this.state.pipeline(shader.code);
    const entries = [from, to].map((buffer, binding) => ({ binding, resource: { buffer, ...windows[binding] } }));
    const pass = this.encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, gpuDevice.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    const rows = Math.ceil(shader.groups / limits.maxComputeWorkgroupsPerDimension);
    pass.dispatchWorkgroups(Math.ceil(shader.groups / rows), rows);
    pass.end();
  }
}

function usageError({ name }: DeviceState, wanted: string): BufferError {
  return new BufferError(
    `Expected a GPUBuffer on '${name}' with usage ${wanted}, but its owner made it without; copy it there first`,
  );
}
