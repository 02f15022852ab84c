/** Folders whose files become code of this process: only this user and root may change what they contain. */

import { LoadError, textOf } from '../../errors.js';
import { node } from '../../native/load/node-modules.js';

const { mkdtempSync, realpathSync, rmSync, statSync } = node.fs;
const { dirname, join } = node.path;

const GROUP_OR_OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/** What a folder is for, in messages. */
export interface Purpose {
  /** What comes from it, such as `'a compiled kernel'`. */
  readonly product: string;
  /** Such as `'the cache'`. */
  readonly name: string;
  /** How to name another folder. */
  readonly advice: string;
}

/**
 * The real path of a folder. Throws a LoadError if another user could replace a file in it: each folder up to the root
 * must belong to this user or to root, and others may write to it only if it is sticky, because then only the owner of a
 * file can replace the file. Windows has no such modes, and the folders of a user are private there.
 */
export function privateFolder(folder: string, purpose: Purpose): string {
  const real = realpathSync(folder);
  const user = process.geteuid?.();
  if (user === undefined) return real;
  for (let at = real; ; at = dirname(at)) {
    const { uid, mode } = statSync(at);
    const isOwn = uid === user || uid === 0;
    // Files in the innermost folder get no protection from stickiness: another user could add a file.
    const isClosed = (mode & GROUP_OR_OTHERS_WRITE) === 0 || (at !== real && (mode & STICKY) !== 0);
    if (!isOwn || !isClosed) throw refuse(real, at, uid, mode, purpose);
    if (at === dirname(at)) return real;
  }
}

function refuse(real: string, at: string, uid: number, mode: number, { product, name, advice }: Purpose): LoadError {
  const remedies = [advice, `or run chmod go-w '${at}' as its owner, if it belongs to you or to root`];
  return new LoadError(
    `${product}, because other users can write to ${name}`,
    [`${real}: ${at === real ? 'its' : `${at} has the`} owner ${uid} and mode ${(mode & 0o7777).toString(8)}`],
    remedies,
  );
}

/** The error for a folder that cannot be used. */
export function unusableFolder(folder: string, { product, name, advice }: Purpose, cause: unknown): LoadError {
  return new LoadError(`${product}, because ${name} cannot be written`, [`${folder}: ${textOf(cause)}`], [advice], {
    cause,
  });
}

/** Runs an action with a temporary folder that only this user can change, and removes the folder. */
export async function withTemporaryFolder<T>(product: string, action: (folder: string) => Promise<T>): Promise<T> {
  const purpose: Purpose = { product, name: 'the temporary folder', advice: 'name a folder of your own in TMPDIR' };
  const parent = node.os.tmpdir();
  let made: string;
  try {
    made = mkdtempSync(join(parent, 'dlpack-'));
  } catch (error) {
    throw unusableFolder(parent, purpose, error);
  }
  try {
    return await action(privateFolder(made, purpose));
  } catch (error) {
    const isFull = error instanceof Error && 'code' in error && ['ENOSPC', 'EDQUOT'].includes(String(error.code));
    throw isFull ? unusableFolder(made, purpose, error) : error;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}
