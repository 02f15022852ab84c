/** Errors of files. */

import { DLPackError } from '../errors.js';

declare module '../errors.js' {
  interface DLPackErrors {
    /** A file that breaks the rules of its format. */
    FileFormatError: FileFormatError;
    /** A file that cannot be read or written. */
    FileError: FileError;
  }
}

/**
 * The file does not follow its format: it is truncated, inconsistent or hostile. Nothing was allocated for it.
 *
 * @example
 * ```ts
 * import { isDLPackError } from 'dlpack';
 * import { openNpy } from 'dlpack/files';
 * try {
 *   await openNpy(new Blob(['not an array of NumPy']));
 * } catch (error) {
 *   if (!isDLPackError(error, 'FileFormatError')) throw error;
 *   console.log(error.path, error.offset); // Blob 0
 * }
 * ```
 */
export class FileFormatError extends DLPackError {
  readonly tag = 'FileFormatError';
  /** The file. */
  readonly path: string;
  /** The position of the problem in the file, in bytes. */
  readonly offset: number;

  constructor(path: string, offset: number, problem: string, options?: { cause?: unknown }) {
    super(`${path}: ${problem} (at byte ${offset})`, options);
    this.path = path;
    this.offset = offset;
  }
}

/**
 * The system or the server reported an error: no such file, no permission, a full disk. `code` is the system's code,
 * such as `'ENOENT'`.
 *
 * @example
 * ```ts
 * import { isDLPackError } from 'dlpack';
 * import { openNpy } from 'dlpack/files';
 * try {
 *   await openNpy('nowhere.npy');
 * } catch (error) {
 *   if (!isDLPackError(error, 'FileError')) throw error;
 *   console.log(error.path, error.code); // nowhere.npy ENOENT
 * }
 * ```
 */
export class FileError extends DLPackError {
  readonly tag = 'FileError';
  /** The file. */
  readonly path: string;
  /** The code of the system, such as `ENOENT`. */
  readonly code: string;

  constructor(path: string, code: string, problem: string, options?: { cause?: unknown }) {
    super(`${path}: ${problem}`, options);
    this.path = path;
    this.code = code;
  }
}
