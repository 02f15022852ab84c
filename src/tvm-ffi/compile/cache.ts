/**
 * Compiled libraries in a folder of the user. A file appears there under its final name only when it is complete: it is
 * written under another name and renamed, so processes that build at once do not disturb each other. A library is named
 * after its content, so a file that another process has loaded never changes.
 */

import { LoadError } from '../../errors.js';
import { node } from '../../native/load/node-modules.js';
import { checkText } from './arguments.js';
import { extensionOf } from './commands.js';
import { type Purpose, privateFolder, unusableFolder } from './private-folder.js';

const { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } = node.fs;
const { join, posix, resolve, win32 } = node.path;

/** What a build was made of, beside the parts of its key. */
interface Manifest {
  /** The digest of the library, which is also its name. */
  readonly library: string;
  /** The files that the source included, with their digests. */
  readonly dependencies: Readonly<Record<string, string>>;
}

/** A library that was just built. */
export interface Built {
  readonly path: string;
  /** The files that the source includes, except system headers and those of TVM-FFI. */
  readonly included: readonly string[];
  /** When the compiler started, by the clock of the file system. */
  readonly startedAt: number;
}

/** The option, the variable DLPACK_CACHE_DIR, or the folder that the system has for caches. */
export function cacheFolder(option: string | undefined): string {
  if (option !== undefined) checkText('cache', option, 'the path of a folder');
  const { env, platform } = process;
  return join(resolve(option ?? (env.DLPACK_CACHE_DIR || systemCache(platform, env, node.os.homedir()))), 'kernels');
}

/** The folder for this package in the folder that a system has for caches. */
export function systemCache(platform: string, env: Readonly<Record<string, string | undefined>>, home: string): string {
  if (platform === 'win32')
    return win32.join(env.LOCALAPPDATA || win32.join(home, 'AppData', 'Local'), 'dlpack', 'cache');
  if (platform === 'darwin') return posix.join(home, 'Library', 'Caches', 'dlpack');
  return posix.join(env.XDG_CACHE_HOME || posix.join(home, '.cache'), 'dlpack');
}

export function digestOf(data: string | Uint8Array): string {
  return node.crypto.createHash('sha256').update(data).digest('hex');
}

function digestOfFile(path: string): string | null {
  try {
    return digestOf(readFileSync(path));
  } catch {
    return null; // it does not exist, or cannot be read
  }
}

const libraryAt = (folder: string, digest: string) => join(folder, `${digest}.${extensionOf(process.platform)}`);

const purpose: Purpose = {
  product: 'a compiled kernel',
  name: 'the cache',
  advice: 'name a folder of your own in DLPACK_CACHE_DIR, or with compile({ cache })',
};

/** The library that was built for a key, or null if there is none, it is damaged, or an included file has changed. */
export function findBuild(folder: string, key: string): string | null {
  if (!existsSync(join(folder, `${key}.json`))) return null;
  // First, so that what is read here is what is loaded.
  const real = privateFolder(folder, purpose);
  try {
    const manifest = JSON.parse(readFileSync(join(real, `${key}.json`), 'utf8')) as Manifest;
    const path = libraryAt(real, manifest.library);
    const files = [[path, manifest.library] as const, ...Object.entries(manifest.dependencies)];
    return files.every(([file, digest]) => digestOfFile(file) === digest) ? path : null;
  } catch {
    return null; // the manifest is damaged, or was removed
  }
}

/** Adds a library to the folder and returns its path there. */
export function keepBuild(folder: string, key: string, { path: built, included, startedAt }: Built): string {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const real = privateFolder(folder, purpose);
    const library = digestOf(readFileSync(built));
    const path = libraryAt(real, library);
    if (digestOfFile(path) !== library) appear(path, (draft) => copyFileSync(built, draft));
    // The compiler may have read an older version of a file that was written meanwhile. Then the next build decides.
    if (included.some((file) => changedAfter(file, startedAt))) return path;
    const dependencies = Object.fromEntries(included.map((file) => [file, digestOfFile(file)]));
    appear(join(real, `${key}.json`), (draft) => writeFileSync(draft, JSON.stringify({ library, dependencies })));
    return path;
  } catch (error) {
    throw error instanceof LoadError ? error : unusableFolder(folder, purpose, error);
  }
}

function changedAfter(file: string, time: number): boolean {
  try {
    return statSync(file).mtimeMs > time;
  } catch {
    return true; // it was removed
  }
}

/** Writes a file under a name of its own, and renames it. */
function appear(path: string, write: (draft: string) => void): void {
  const draft = `${path}.${node.crypto.randomUUID()}`;
  try {
    write(draft);
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}
