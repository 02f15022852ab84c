/** Commands that copy elements inside one GPUDevice, and the temporary buffers that they need. */

import { dtypeFromName } from '../dtype.js';
import { BufferError, UnsupportedDTypeError } from '../errors.js';
import { rowMajorStrides } from '../layout.js';
import { Descriptor, Flag, isBitwise, paddedBytes } from '../storage/descriptor.js';
import type { GpuStorage } from '../storage/storage.js';
import { passesOf } from '../values/pass.js';
import { type GpuBuffer, type GpuEncoder, Usage } from './api.js';
import type { DeviceState } from './device-state.js';
import { allocateBuffer, hasUsage, memoryOf } from './memory.js';
import { inLargeUnits, isOneRun, type Move, moveOf, partsOf, roundUp, unitsOf, windowOf } from './move.js';
import { copyThroughTexture, type Recorder, rowPlanOf, textureOf } from './rows.js';
import { inWholeTiles, shaderOf } from './shader.js';

/** The largest window of a shader: positions are 32-bit integers, in units of at least one byte. */
const MAX_WINDOW = 2 ** 30;
/**
 * Rows that are copied by a command each. A GPU runs a shader in the time of a few commands, but a software adapter
 * copies rows of 1 KiB faster by commands, and shorter ones through a texture.
 */
const byCommands = { hardware: { rows: 64, bytes: 4096 }, software: { rows: 16384, bytes: 1024 } };

/** Invocations of a workgroup. Each workgroup has costs, on a GPU, too, and 256 take less time than 64. */
const GROUP = 256;
/** Units that one invocation moves. A software adapter also has costs for each invocation. */
const tileSizes = { hardware: 1, software: 16 };

const byte = dtypeFromName('uint8');

/** Elements narrower than a byte as bytes: a padded element is one or more, and packed elements in order fill bytes. */
export function asBytes(descriptor: Descriptor): Descriptor {
  const { storage, dtype, device, bitOffset, isPadded, nbytes } = descriptor;
  if (!dtype.isSubByte) return descriptor;
  if (isPadded) return paddedBytes(descriptor);
  if (!isBitwise(descriptor)) return new Descriptor(storage, byte, device, [nbytes], [1], bitOffset, 0);
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
export class Commands implements Recorder {
  readonly state: DeviceState;
  encoder: GpuEncoder;
  private readonly temporaries: { release(): void }[] = [];

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

  /** Runs the commands so far. The temporary buffers stay for the next commands. */
  submitRecorded(): void {
    const { gpuDevice } = this.state;
    gpuDevice.queue.submit([this.encoder.finish()]);
    this.encoder = gpuDevice.createCommandEncoder();
  }

  /** Destroys the temporary memory. Work that was submitted before still finishes. */
  release(): void {
    for (const temporary of this.temporaries.splice(0)) temporary.release();
  }

  /** Row-major memory on the device for the elements of a tensor, which lives until the commands are submitted. */
  temporary({ shape, dtype, flags, device, nbytes }: Descriptor): Descriptor {
    const storage = allocateBuffer(this.state, nbytes);
    this.temporaries.push(storage);
    return new Descriptor(storage, dtype, device, shape, rowMajorStrides(shape), 0, flags & Flag.subBytePadded);
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

  private run(move: Move, from: GpuBuffer, to: GpuBuffer, mayPad: boolean): void {
    const canCopy = hasUsage(from, Usage.copySource) && hasUsage(to, Usage.copyTarget);
    const canBind = hasUsage(from, Usage.storage) && hasUsage(to, Usage.storage);
    const { isSoftware, hasManyCores } = this.state;
    const large = isSoftware && canBind ? inLargeUnits(move, hasManyCores) : null;
    if (large === null && canCopy && (this.copyInTexture(move, from, to) || this.copyRows(move, from, to, mayPad)))
      return;
    const limit = Math.min(this.state.gpuDevice.limits.maxStorageBufferBindingSize, MAX_WINDOW);
    const source = this.readable(large ?? move, from);
    const target = this.writable(to);
    for (const part of partsOf(source.move, limit)) {
      for (const whole of isSoftware ? inWholeTiles(part, tileSizes.software) : [part]) {
        // A part must not write the padding, because other parts have written elements behind it.
        this.dispatch(whole, source.buffer, target, mayPad && whole === source.move);
      }
    }
  }

  /** On a software adapter, copies many rows through a texture. Returns false for other moves. */
  private copyInTexture(move: Move, from: GpuBuffer, to: GpuBuffer): boolean {
    const { isSoftware, gpuDevice, spares } = this.state;
    const plan = isSoftware ? rowPlanOf(move, gpuDevice) : null;
    if (plan === null) return false;
    const temporary = textureOf(plan, gpuDevice, spares);
    this.temporaries.push(temporary);
    copyThroughTexture(plan, temporary.texture, this, from, to);
    return true;
  }

  /** Copies with a command for each row. Returns false when the rows are too short, too many or not aligned. */
  private copyRows(move: Move, from: GpuBuffer, to: GpuBuffer, mayPad: boolean): boolean {
    const { unit, shape, fromSteps, toSteps } = move;
    if (isOneRun(move)) {
      const nbytes = unitsOf(move) * unit;
      const size = mayPad ? roundUp(nbytes, 4) : nbytes;
      if (size % 4 !== 0 || move.from % 4 !== 0 || move.to % 4 !== 0 || move.from + size > from.size) return false;
      this.encoder.copyBufferToBuffer(from, move.from, to, move.to, size);
      return true;
    }
    const last = shape.length - 1;
    const row = (shape[last] as number) * unit;
    const rows = unitsOf(move) / (shape[last] as number);
    const limit = this.state.isSoftware ? byCommands.software : byCommands.hardware;
    if (unit < 4 || fromSteps[last] !== 1 || toSteps[last] !== 1) return false;
    if (row < limit.bytes || rows > limit.rows) return false;
    const visit = (axis: number, at: number, into: number): void => {
      if (axis === last) {
        this.encoder.copyBufferToBuffer(from, at, to, into, row);
        return;
      }
      for (let i = 0; i < (shape[axis] as number); i++) {
        visit(axis + 1, at + i * (fromSteps[axis] as number) * unit, into + i * (toSteps[axis] as number) * unit);
      }
    };
    visit(0, move.from, move.to);
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
    const { gpuDevice, isSoftware } = this.state;
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
    const division = {
      group,
      tileSize: isSoftware ? tileSizes.software : tileSizes.hardware,
      hasSquares: !isSoftware && group === GROUP,
    };
    const shader = shaderOf(move, ...windows, mayPad, division, bits);
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
