/** Whole files in native memory: mapped, or read if they are small. */

import { BufferError, OutOfMemoryError } from '../../errors.js';
import { native } from '../../native/load/load.js';
import { NativeStorage } from '../../native/memory/storage.js';
import type { Storage } from '../../storage/storage.js';
import { FileError } from '../error.js';
import type { MapMode } from '../host.js';
import { newBytes } from '../limits.js';

const problems: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this process may not read the file',
  EISDIR: 'this is a folder, not a file',
  ENODEV: 'this is not a regular file and cannot be mapped',
  EMFILE: 'too many files are open',
  ENOMEM: 'there is no memory or address space left for the file',
  ESTALE: 'the file became shorter while it was read',
  ENAMETOOLONG: 'the path is too long',
  EINVAL: 'the path contains a NUL character',
};

const result = new Float64Array(2);

/** Native code returns this for a file that it could map, but will not. */
const TOO_MANY = 'EMAPPINGS';

/** Maps or reads a whole file. Throws `FileError`. */
export function openFile(path: string, mode: MapMode): Storage {
  const code = native().openFile(path, mode === 'c', result);
  if (code === TOO_MANY) {
    throw new FileError(
      path,
      'ENOMEM',
      'too many files are mapped (vm.max_map_count); dispose tensors and close files',
    );
  }
  if (code !== undefined) throw new FileError(path, code, problems[code] ?? `the system answered ${code}`);
  return new NativeStorage(result[0] as number, result[1] as number, false);
}

/** A part of a file, which keeps the memory of the file alive. Its `.data` shows only the part. */
export function partOf(file: Storage, offset: number, nbytes: number): Storage {
  const handle = native().partOf((file as NativeStorage).handle, offset, nbytes);
  if (handle === 0) throw new OutOfMemoryError('could not describe a part of a file');
  return new NativeStorage(handle, nbytes, false);
}

/** Copies bytes of a file. */
export function readPart(file: Storage, offset: number, length: number): Uint8Array {
  const bytes = newBytes(length);
  if (!native().readPart((file as NativeStorage).handle, offset, length, bytes)) {
    throw new BufferError(`Expected ${length} bytes at ${offset} of a file but there are ${file.nbytes}`);
  }
  return bytes;
}
