/** A file that is being written: under a temporary name in the same folder, renamed when it is complete. */

import type { FileHandle } from 'node:fs/promises';
import { textOf } from '../../errors.js';
import { node } from '../../native/node-modules.js';
import { FileError } from '../error.js';
import type { Target } from '../host.js';

const { open, realpath, rename, rm, stat } = node.fs.promises;

const problems: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file is larger than the system allows',
  ENOENT: 'there is no such folder',
  EACCES: 'this process may not write there',
  EROFS: 'the disk is read-only',
  EISDIR: 'this is a folder',
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

  async write(bytes: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < bytes.length; ) {
        at += (await this.handle.write(bytes, at, bytes.length - at)).bytesWritten;
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
    await rm(this.beside, { force: true });
  }
}

/** Starts a file. A link stays a link: the file it names is replaced and keeps its permissions. */
export async function createTarget(path: string, durable: boolean): Promise<Target> {
  const place = await realpath(path).catch(() => path);
  const beside = `${place}.${node.crypto.randomUUID()}.tmp`;
  try {
    const before = await stat(place).catch(() => null);
    const handle = await open(beside, 'wx', before === null ? 0o666 : before.mode & 0o777);
    return new RenamedTarget(path, place, beside, handle, durable);
  } catch (cause) {
    throw fileError(path, cause);
  }
}
