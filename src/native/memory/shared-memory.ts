/**
 * Host memory that other processes of the machine can open: memory without a name in sealed memory files of Linux,
 * which disappear when their process ends, even after a crash, and named memory on every system.
 */

import { ArgumentValueError, BufferError, OutOfMemoryError, UnsupportedDeviceError } from '../../errors.js';
import { native } from '../load/load.js';
import { node } from '../load/node-modules.js';
import { NativeStorage } from './storage.js';

const result = new Float64Array(3);

/** Memory that other processes have, too. This process may have it several times, at different addresses. */
export class MappedStorage extends NativeStorage {}

/** Memory that this process made for other processes. */
export class SharedStorage extends MappedStorage {
  /** Other processes cannot open the memory for writing. */
  isSealed = false;

  /** `name` is empty for memory without a name. `file` is its descriptor in this process. `number` tells it from later memory. */
  constructor(
    handle: number,
    nbytes: number,
    readonly name: string,
    readonly file: number,
    readonly number: number,
  ) {
    super(handle, nbytes, false);
  }

  /** Removes the name at once, although a typed array or an export may keep the memory. */
  protected override giveBack(handle: number, isDetached: boolean): void {
    if (this.name !== '') native().unnameShared(handle);
    if (this.nbytes >= CHECKED) known += this.nbytes;
    super.giveBack(handle, isDetached);
  }

  seal(): void {
    if (this.isSealed) return;
    const problem = native().sealShared(this.handle);
    // Where the system has no seal, openers still get memory that they cannot write.
    if (problem !== undefined && problem !== 'ENOSYS') {
      throw new BufferError(`Could not make shared memory read-only for other processes (${problem})`);
    }
    this.isSealed = true;
  }
}

/** Reads a number from a system file; Infinity if there is none. */
function readNumber(path: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(node.fs.readFileSync(path, 'utf8'))?.[1] ?? Number.POSITIVE_INFINITY);
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

/**
 * What {@link availableBytes} returned, less what was made and plus what was released since, and when. Reading it costs
 * as much as all the rest.
 */
let known = 0;
let knownAt = Number.NEGATIVE_INFINITY;
const FRESH = 100;
/** Smaller memory is not checked. */
const CHECKED = 1 << 20;

/** The system promises more memory than it has, and kills a process when the pages are used. */
function checkAvailable(nbytes: number): void {
  if (nbytes < CHECKED) return;
  const now = performance.now();
  if (nbytes > known || now - knownAt > FRESH) {
    known = availableBytes();
    knownAt = now;
  }
  const available = known;
  known -= nbytes;
  if (nbytes <= available) return;
  throw new OutOfMemoryError(
    `could not reserve ${nbytes} bytes for other processes; ${available} are available`,
    nbytes,
  );
}

/** Throws unless `name` can be the name of shared memory. Python and PyTorch write some names with a slash before them. */
export function checkName(name: string, argument: string): string {
  const bare = name.startsWith('/') ? name.slice(1) : name;
  const isName = /^[^/\\\0]+$/.test(bare) && bare !== '.' && bare !== '..';
  if (!isName || new TextEncoder().encode(bare).length > 250) {
    throw new ArgumentValueError(argument, 'a name without slashes, of 1 to 250 bytes', name);
  }
  return bare;
}

/** Only Linux has memory without a name that other processes can open. */
function randomName(): string {
  const [low, high] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number];
  return `dlpack_${low.toString(16).padStart(8, '0')}${high.toString(16).padStart(8, '0')}`;
}

/** Makes memory under the given name; null: without a given name. */
export function createSharedMemory(nbytes: number, given: string | null): SharedStorage {
  const name = given !== null ? checkName(given, 'shareable') : process.platform === 'linux' ? '' : randomName();
  const binding = native();
  checkAvailable(nbytes);
  const problem = binding.createShared(name, nbytes, result);
  if (problem === 'ENOSYS') throw withoutFiles();
  if (problem === 'EEXIST') {
    const path = process.platform === 'linux' ? `; delete /dev/shm/${name} if no process uses it` : '';
    throw new ArgumentValueError(
      'shareable',
      'a name that no memory has',
      given,
      `killed processes leave names${path}`,
    );
  }
  if (problem !== undefined) {
    const what = `${nbytes} bytes${name === '' ? '' : ` under the name '${name}'`} for other processes`;
    const why = whyNotMade(problem, name);
    if (problem === 'ENOSPC' || problem === 'ENOMEM')
      throw new OutOfMemoryError(`could not make ${what}: ${why}`, nbytes);
    throw new BufferError(`Could not make ${what}: ${why}`);
  }
  return new SharedStorage(result[0] as number, nbytes, name, result[1] as number, result[2] as number);
}

/** Why the system made no memory, and what to do. */
function whyNotMade(problem: string, name: string): string {
  const isFile = name !== '' && process.platform === 'linux';
  switch (problem) {
    case 'EMFILE':
      return tooManyFiles;
    case 'ENOSPC':
      return `${isFile ? '/dev/shm' : 'the memory for files'} is full (ENOSPC)`;
    case 'ENOMEM':
      return 'the system has none left (ENOMEM)';
    case 'EFBIG':
      return 'the limit on the size of files (ulimit -f) is lower';
    case 'ENOENT':
      return isFile ? 'there is no /dev/shm; use { shareable: true }, which needs no name' : problem;
    case 'EROFS':
      return '/dev/shm is read-only; use { shareable: true }, which needs no name';
    case 'EACCES':
      return isFile
        ? 'this user may not write to /dev/shm; use { shareable: true }, which needs no name'
        : "the system forbids it, as a filter of system calls (seccomp) does; use a name: { shareable: 'frame' }";
    default:
      return problem;
  }
}

/**
 * Where memory is: under a name, or, with an empty name, a file descriptor of a process. `must` says what a file has to be
 * that only a description names: sealed, so that its size cannot change, or among the named memory of the system. Null
 * where the caller of this package chose the place.
 */
export interface SharedPlace {
  readonly name: string;
  readonly process: number;
  readonly file: number;
  readonly must: 'be sealed' | 'be among names' | null;
}

/** Memory that {@link createSharedMemory} made is known by its number and size; null for memory of other programs. */
export interface SharedIdentity {
  readonly number: number;
  readonly size: number;
}

const tooManyFiles = 'too many files are open; raise the limit (ulimit -n), or dispose shared tensors';

const problems: Readonly<Record<string, string>> = {
  ENOENT: 'the process that shared it has ended or released it',
  ESTALE: 'the process that shared it has ended or released it, and its numbers belong to something else now',
  EACCES: 'it belongs to another user, or may only be read',
  EMFILE: tooManyFiles,
  ENOMEM: 'out of memory, or of the address space that this process may use (ulimit -v)',
};

/** Maps memory of another process. The first place that has it is used. */
export function openSharedMemory(
  places: readonly SharedPlace[],
  identity: SharedIdentity | null,
  isReadOnly: boolean,
): NativeStorage {
  const binding = native();
  const { number, size } = identity ?? { number: 0, size: 0 };
  const access = (isReadOnly ? 0 : 1) | (identity === null ? 0 : 2);
  let problem: string | undefined;
  for (const { name, process, file, must } of places) {
    const flags = access | (must === 'be sealed' ? 4 : must === 'be among names' ? 8 : 0);
    const found = binding.openShared(name, process, file, number, size, flags, result);
    if (found === undefined) return new NativeStorage(result[0] as number, result[1] as number, false);
    // A system may have one kind of memory only. Then the other place has the reason.
    if (problem === undefined || found !== 'ENOSYS') problem = found;
  }
  if (problem === 'ENOSYS') throw withoutFiles();
  const { name, process } = places[0] as SharedPlace;
  const what = name === '' ? `memory of process ${process}` : `the memory '${name}'`;
  throw new BufferError(`Could not open ${what}: ${problems[problem as string] ?? problem}`);
}

/** The bytes from `start` to `end` of memory, which the result keeps alive. Releases the caller's reference. */
export function takePart(mapping: NativeStorage, start: number, end: number): MappedStorage {
  try {
    const handle = native().partOf(mapping.handle, start, end - start);
    if (handle === 0) throw new OutOfMemoryError('could not describe a part of shared memory');
    return new MappedStorage(handle, end - start, false);
  } finally {
    mapping.release();
  }
}

function withoutFiles(): UnsupportedDeviceError {
  return new UnsupportedDeviceError(
    'cpu',
    `${process.platform === 'linux' ? 'This kernel has no memory files (memfd_create)' : `${process.platform} has no memory files`}` +
      ", which memory without a name needs; use a name: { shareable: 'frame' }, a file (dlpack/files), or a worker of this " +
      'process: shareTensor(x)',
  );
}
