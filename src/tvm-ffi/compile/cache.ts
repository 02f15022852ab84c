/**
 * Compiled libraries in a folder of the user. A file appears there under its final name only when it is complete: it is
 * written under another name and renamed, so processes that build at once do not disturb each other. A library is named
 * after its content, so a file that another process has loaded never changes.
 *
 * @module
 */

import { createHash, randomUUID } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { ArgumentTypeError, LoadError, textOf } from '../../errors.js';

/** What a build was made of, beside the parts of its key. */
interface Manifest {
  /** The digest of the library, which is also its name. */
  readonly library: string;
  /** The files that the source included, with their digests. */
  readonly dependencies: Readonly<Record<string, string>>;
}

/** The option, the variable DLPACK_CACHE_DIR, or the folder that the system has for caches. */
export function cacheFolder(option: string | undefined): string {
  if (option !== undefined && typeof option !== 'string') throw new ArgumentTypeError('cache', 'a folder', option);
  return join(resolve(option ?? process.env.DLPACK_CACHE_DIR ?? systemCache()), 'kernels');
}

function systemCache(): string {
  const { LOCALAPPDATA, XDG_CACHE_HOME } = process.env;
  if (process.platform === 'win32') return join(LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'dlpack', 'cache');
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'dlpack');
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'dlpack');
}

export function digestOf(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

function digestOfFile(path: string): string | null {
  try {
    return digestOf(readFileSync(path));
  } catch {
    return null; // it does not exist, or cannot be read
  }
}

const extension = process.platform === 'win32' ? 'dll' : process.platform === 'darwin' ? 'dylib' : 'so';
const libraryAt = (folder: string, digest: string) => join(folder, `${digest}.${extension}`);

/** The library that was built for a key, or null if there is none, it is damaged, or an included file has changed. */
export function findBuild(folder: string, key: string): string | null {
  try {
    const manifest = JSON.parse(readFileSync(join(folder, `${key}.json`), 'utf8')) as Manifest;
    const path = libraryAt(folder, manifest.library);
    const files = [[path, manifest.library] as const, ...Object.entries(manifest.dependencies)];
    return files.every(([file, digest]) => digestOfFile(file) === digest) ? path : null;
  } catch {
    return null; // there is no manifest, or not a whole one
  }
}

/** Adds a library to the folder and returns its path there. */
export function keepBuild(folder: string, key: string, built: string, included: readonly string[]): string {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const library = digestOf(readFileSync(built));
    const path = libraryAt(folder, library);
    if (digestOfFile(path) !== library) appear(path, (draft) => copyFileSync(built, draft));
    const dependencies = Object.fromEntries(included.map((file) => [file, digestOfFile(file)]));
    appear(join(folder, `${key}.json`), (draft) => writeFileSync(draft, JSON.stringify({ library, dependencies })));
    return path;
  } catch (error) {
    throw new LoadError(
      'a kernel that was compiled, because the cache cannot be written',
      [`${folder}: ${textOf(error)}`],
      ['name a folder that can be written in DLPACK_CACHE_DIR, or with compile({ cache })'],
      { cause: error },
    );
  }
}

/** Writes a file under a name of its own, and renames it. */
function appear(path: string, write: (draft: string) => void): void {
  const draft = `${path}.${randomUUID()}`;
  try {
    write(draft);
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}
