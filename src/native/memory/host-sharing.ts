/** Host memory in descriptions for other processes. */

import { cpu, type DeviceInfo } from '../../device.js';
import { ArgumentTypeError, ArgumentValueError, BufferError } from '../../errors.js';
import type { Descriptor } from '../../storage/descriptor.js';
import type { OpenedMemory, SharedMemory, SharingBackend } from '../../storage/device-backend.js';
import type { Storage } from '../../storage/storage.js';
import { createSharedMemory, openSharedMemory, SharedStorage, takePart } from './shared-memory.js';

function allocate(nbytes: number, _device: DeviceInfo, name: string | null): Storage {
  return createSharedMemory(nbytes, name);
}

function share({ storage, size, bitOffset }: Descriptor, _sync: boolean, isReadOnly: boolean): SharedMemory {
  if (!(storage instanceof SharedStorage)) {
    throw new BufferError(
      'This memory cannot be opened by another process; allow a copy (copy: true), or make the tensor with ' +
        'Tensor.empty(shape, dtype, { shareable: true })',
    );
  }
  if (isReadOnly) storage.seal();
  return {
    device: 'cpu',
    process: process.pid.toString(16).padStart(16, '0'),
    memory: size === 0 ? null : writeHandle(storage),
    size: storage.nbytes,
    bitOffset,
    event: null,
  };
}

function writeHandle({ file, number, name }: SharedStorage): string {
  const place = `${file.toString(16)}.${number.toString(16)}`;
  return name === '' ? place : `${place}.${name}`;
}

/** The numbers and the name in the description of host memory. */
export interface HostHandle {
  readonly process: number;
  readonly file: number;
  readonly number: number;
  /** Empty for memory without a name. */
  readonly name: string;
}

/** Null for a tensor without elements. */
export function readHandle({ process: owner, memory }: SharedMemory): HostHandle | null {
  if (typeof owner !== 'string' || !/^[0-9a-f]{16}$/.test(owner)) {
    throw new ArgumentTypeError('description.process', '16 hexadecimal digits', owner);
  }
  if (memory === null) return null;
  const pattern = /^([0-9a-f]{1,8})\.([0-9a-f]{1,13})(?:\.([^/\\\0]{1,250}))?$/;
  const match = typeof memory === 'string' ? pattern.exec(memory) : null;
  if (match === null) throw new ArgumentValueError('description.memory', 'the handle of shared host memory', memory);
  const [process, file, number] = [owner, match[1] as string, match[2] as string].map((text) =>
    Number.parseInt(text, 16),
  ) as [number, number, number];
  return { process, file, number, name: match[3] ?? '' };
}

/** `inherited`: a file descriptor of this process, which it got from the process that shared the memory. */
function open(
  shared: SharedMemory,
  start: number,
  end: number,
  _stream: unknown,
  isReadOnly: boolean,
  inherited: number | null,
): OpenedMemory {
  const handle = readHandle(shared);
  if (handle === null) return { storage: createSharedMemory(0, null), device: cpu };
  const { process: owner, file, number, name } = handle;
  const named = { name, process: 0, file: 0, must: null };
  // Another program may have removed the name: Python's resource tracker does when its process ends.
  const byFile = { name: '', process: owner, file, must: name === '' ? 'be sealed' : 'be among names' } as const;
  // The caller chose an inherited file, which may come from a container with a /dev/shm of its own.
  const ours = {
    name: '',
    process: process.pid,
    file: inherited ?? 0,
    must: name === '' ? 'be sealed' : null,
  } as const;
  const places = inherited !== null ? [ours] : name === '' ? [byFile] : [named, byFile];
  const mapping = openSharedMemory(places, { number, size: shared.size }, isReadOnly);
  return { storage: takePart(mapping, start, end), device: cpu };
}

export const hostSharing: SharingBackend = { allocate, share, open };

/** True for memory that {@link hostSharing} accepts. */
export function isShareable(storage: Storage): boolean {
  return storage instanceof SharedStorage;
}

/** True for memory that other processes cannot open for writing. */
export function isSealed(storage: Storage): boolean {
  return storage instanceof SharedStorage && storage.isSealed;
}
