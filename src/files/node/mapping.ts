/** Files mapped into memory by native code. */

import { BufferError } from '../../errors.js';
import { native } from '../../native/load.js';
import { NativeStorage } from '../../native/native-storage.js';
import type { Storage } from '../../storage/storage.js';
import { FileError } from '../error.js';
import type { MapMode } from '../host.js';

const problems: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this process may not read the file',
  EISDIR: 'this is a folder, not a file',
  ENODEV: 'this is not a regular file and cannot be mapped',
  EMFILE: 'too many files are open',
  ENOMEM: 'there is no address space left to map the file',
  ENAMETOOLONG: 'the path is too long',
  EINVAL: 'the path contains a NUL character',
};

const result = new Float64Array(2);

/** Maps a whole file. Throws `FileError`. */
export function mapFile(path: string, mode: MapMode): Storage {
  const code = native().mapFile(path, mode === 'c', result);
  if (code !== undefined) throw new FileError(path, code, problems[code] ?? `the system answered ${code}`);
  return new NativeStorage(result[0] as number, result[1] as number, false);
}

/**
 * A part of a mapping, which keeps the mapping alive. Its `.data` shows only the part, and only the part is reported to
 * the garbage collector.
 */
export function partOf(mapping: Storage, offset: number, nbytes: number): Storage {
  const handle = native().partOf((mapping as NativeStorage).handle, offset, nbytes);
  if (handle === 0) throw new BufferError('Out of memory: could not describe a part of a mapped file');
  return new NativeStorage(handle, nbytes, false);
}

/** Copies bytes of a mapping. */
export function readPart(mapping: Storage, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  if (!native().readPart((mapping as NativeStorage).handle, offset, length, bytes)) {
    throw new BufferError(`Expected ${length} bytes at ${offset} of a mapped file but there are ${mapping.nbytes}`);
  }
  return bytes;
}
