/** A file that is being written: under a temporary name in the same folder, renamed when it is complete. */

import type { FileHandle } from 'node:fs/promises';
import { isDLPackError, textOf } from '../../errors.js';
import { node } from '../../native/load/node-modules.js';
import { FileError } from '../error.js';
import type { Target } from '../host.js';

const { chmod, open, readlink, realpath, rename, stat, unlink } = node.fs.promises;
const { basename, dirname, isAbsolute, join, resolve } = node.path;

const problems: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file is larger than the system allows',
  ENOENT: 'there is no such folder',
  EACCES: 'this process may not write there',
  EROFS: 'the disk is read-only',
  EISDIR: 'this is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  ENAMETOOLONG: 'the path is too long',
  EMFILE: 'too many files are open',
  ELOOP: 'the link leads back to itself',
  EINVAL: 'the path contains a NUL character',
  ENODEV: 'this is not a regular file; pass a WritableStream for a device or a pipe',
  ...(process.platform === 'win32' && {
    EPERM: 'a file that a program has mapped cannot be replaced; dispose its tensors and close it first',
  }),
};

/** The system's name of an error. For some errors Deno has only the number, in the message. */
function codeOf({ code, message }: { code?: unknown; message?: string }): string {
  if (typeof code === 'string') return code;
  const number = Number(/os error (\d+)/.exec(message ?? '')?.[1]);
  return Object.entries(node.os.constants.errno).find(([, value]) => value === number)?.[0] ?? 'EIO';
}

function fileError(path: string, cause: unknown): FileError {
  const name = codeOf(cause as { code?: unknown; message?: string });
  return new FileError(path, name, `could not write the file: ${problems[name] ?? textOf(cause)}`, { cause });
}

class RenamedTarget implements Target {
  constructor(
    private readonly path: string,
    private readonly place: string,
    private readonly beside: string,
    private readonly handle: FileHandle,
    private readonly durable: boolean,
  ) {}

  write(bytes: Uint8Array): Promise<void> {
    return this.writeAt(bytes, null);
  }

  readonly patch = (bytes: Uint8Array, at: number): Promise<void> => this.writeAt(bytes, at);

  /** Writes at a position, or after what was written last. */
  private async writeAt(bytes: Uint8Array, position: number | null): Promise<void> {
    try {
      for (let at = 0; at < bytes.length; ) {
        const place = position === null ? null : position + at;
        at += (await this.handle.write(bytes, at, bytes.length - at, place)).bytesWritten;
      }
    } catch (cause) {
      throw fileError(this.path, cause);
    }
  }

  async finish(): Promise<void> {
    try {
      if (this.durable) await this.handle.sync();
      await this.handle.close();
      await rename(this.beside, this.place);
    } catch (cause) {
      await this.discard();
      throw fileError(this.path, cause);
    }
  }

  async discard(): Promise<void> {
    await this.handle.close().catch(() => undefined);
    await unlink(this.beside).catch(() => undefined); // the error that came before tells more
  }
}

/** A path from the root. Only Windows removes '..' before it follows links. */
function absolute(path: string): string {
  if (process.platform === 'win32') return resolve(path);
  return isAbsolute(path) ? path : `${process.cwd()}/${path}`;
}

/** The absolute path of the file that a path names. A link may lead to a file that does not exist yet. */
async function pathOfFile(path: string): Promise<string> {
  for (let named = path; ; ) {
    const above = dirname(named);
    const folder = await realpath(above).catch((cause) => {
      if (codeOf(cause) === 'ENOENT') throw cause; // `join` would remove 'none/..'
      return above; // some disks of Windows have no real paths
    });
    const link = await readlink(named).catch(() => null);
    if (link === null) return join(folder, basename(named));
    named = isAbsolute(link) ? link : `${folder}/${link}`; // `join` would remove '..' before it follows links
  }
}

/**
 * Starts a file. A link stays a link: the file it names is replaced and keeps its permissions. A device or a pipe is
 * refused, because the new file would take its place.
 */
export async function createTarget(path: string, durable: boolean): Promise<Target> {
  const refuse = (code: string) => new FileError(path, code, `could not write the file: ${problems[code]}`);
  if (path === '') throw refuse('ENOENT');
  if (path.includes('\0')) throw refuse('EINVAL');
  try {
    const given = absolute(path); // before the first wait, because the program may change its folder
    const before = await stat(given).catch((cause) => {
      if (codeOf(cause) === 'ENOENT') return null;
      throw cause;
    });
    if (before?.isDirectory() || path.endsWith('/')) throw refuse('EISDIR');
    if (before?.isFile() === false) throw refuse('ENODEV');
    const place = await pathOfFile(given);
    // A part of the name, because names have at most 255 bytes.
    const beside = join(dirname(place), `${basename(place).slice(0, 64)}.${node.crypto.randomUUID()}.tmp`);
    const mode = before === null ? 0o666 : before.mode & 0o777;
    const handle = await open(beside, 'wx', mode);
    // `open` applies the umask. Some file systems have no permissions.
    if (before !== null) await chmod(beside, mode).catch(() => undefined);
    return new RenamedTarget(path, place, beside, handle, durable);
  } catch (cause) {
    throw isDLPackError(cause) ? cause : fileError(path, cause);
  }
}
