/**
 * Host memory for other processes of the machine, in sealed memory files of Linux. Such files disappear when their
 * process ends, even after a crash, and their size never changes.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { cpu } from '../device.js';
import { ArgumentTypeError, ArgumentValueError, BufferError, UnsupportedDeviceError } from '../errors.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { OpenedMemory, SharedMemory, SharingBackend } from '../storage/device-backend.js';
import type { Storage } from '../storage/storage.js';
import { native } from './load.js';
import { NativeStorage } from './native-storage.js';

const result = new Float64Array(3);

/** Memory that this process made for other processes. */
class SharedStorage extends NativeStorage {
  /** The file descriptor in this process, and the number of the file itself. */
  readonly file: number;
  readonly number: number;

  constructor(handle: number, nbytes: number, file: number, number: number) {
    super(handle, nbytes, false);
    this.file = file;
    this.number = number;
  }
}

function notHere(): UnsupportedDeviceError {
  return new UnsupportedDeviceError(
    'cpu',
    `Host memory can be shared with other processes on Linux, not on ${process.platform}; use a file (dlpack/files), or a ` +
      'worker of this process: shareTensor(x)',
  );
}

/** Reads a number from a system file; Infinity if there is none. */
function readNumber(path: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(path, 'utf8'))?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Bytes that this process can use before the system kills processes to free memory. */
function availableBytes(): number {
  const machine = readNumber('/proc/meminfo', /^MemAvailable:\s+(\d+) kB/m) * 1024;
  const limit = readNumber('/sys/fs/cgroup/memory.max', /^(\d+)/);
  const used = readNumber('/sys/fs/cgroup/memory.current', /^(\d+)/);
  return Math.min(machine, Number.isFinite(limit) && Number.isFinite(used) ? limit - used : machine);
}

function allocate(nbytes: number): Storage {
  const binding = native();
  // The system promises more memory than it has, and kills a process when the pages are used.
  const available = nbytes < 1 << 20 ? Number.POSITIVE_INFINITY : availableBytes();
  if (nbytes > available) {
    throw new BufferError(
      `Out of memory: could not reserve ${nbytes} bytes for other processes; ${available} are available`,
    );
  }
  const problem = binding.createShared(nbytes, result);
  if (problem === 'ENOSYS') throw notHere();
  if (problem !== undefined) {
    throw new BufferError(`Out of memory: could not make ${nbytes} bytes for other processes (${problem})`);
  }
  return new SharedStorage(result[0] as number, nbytes, result[1] as number, result[2] as number);
}

function share({ storage, size, bitOffset }: Descriptor): SharedMemory {
  if (!(storage instanceof SharedStorage)) {
    throw new BufferError(
      'This memory cannot be opened by another process; allow a copy (copy: true), or make the tensor with ' +
        'Tensor.empty(shape, dtype, { shareable: true })',
    );
  }
  return {
    device: 'cpu',
    process: process.pid.toString(16).padStart(16, '0'),
    memory: size === 0 ? null : `${storage.file.toString(16)}.${storage.number.toString(16)}`,
    size: storage.nbytes,
    bitOffset,
    event: null,
  };
}

const problems: Readonly<Record<string, string>> = {
  ENOENT: 'the process that shared it has ended or released it',
  ESTALE: 'the process that shared it has ended or released it, and its numbers belong to something else now',
  EACCES: 'it belongs to another user, or this process may not write it',
};

function open(shared: SharedMemory, start: number, end: number, _stream: unknown, isReadOnly: boolean): OpenedMemory {
  const binding = native();
  const { process: owner, memory, size } = shared;
  if (typeof owner !== 'string' || !/^[0-9a-f]{16}$/.test(owner)) {
    throw new ArgumentTypeError('description.process', '16 hexadecimal digits', owner);
  }
  if (memory === null) return { storage: allocate(0), device: cpu };
  const match = typeof memory === 'string' ? /^([0-9a-f]{1,8})\.([0-9a-f]{1,13})$/.exec(memory) : null;
  if (match === null) throw new ArgumentValueError('description.memory', 'the handle of shared host memory', memory);
  const [file, number] = [Number.parseInt(match[1] as string, 16), Number.parseInt(match[2] as string, 16)];
  const problem = binding.openShared(Number.parseInt(owner, 16), file, number, size, isReadOnly ? 0 : 1, result);
  if (problem === 'ENOSYS') throw notHere();
  if (problem !== undefined) {
    throw new BufferError(
      `Could not open memory of process ${Number.parseInt(owner, 16)}: ${problems[problem] ?? problem}`,
    );
  }
  const mapping = new NativeStorage(result[0] as number, size, false);
  try {
    const handle = binding.partOf(mapping.handle, start, end - start);
    if (handle === 0) throw new BufferError('Out of memory: could not describe a part of shared memory');
    return { storage: new NativeStorage(handle, end - start, false), device: cpu };
  } finally {
    mapping.release();
  }
}

export const hostSharing: SharingBackend = { allocate, share, open };

/** True for memory that {@link hostSharing} accepts. */
export function isShareable(storage: Storage): boolean {
  return storage instanceof SharedStorage;
}
