/**
 * The file system functions that this module needs. The entry for Node, Bun and Deno registers them. A browser has
 * none, and opens URLs, Files and Blobs.
 */

import { ArgumentTypeError } from '../errors.js';
import type { Storage } from '../storage/storage.js';
import type { Deflated } from './reading.js';

/** `'r'`: the memory cannot be written. `'c'`: writes stay in this process; the file never changes. */
export type MapMode = 'r' | 'c';

/** A file that is being written. It appears under its name only when it is complete. */
export interface Target {
  write(bytes: Uint8Array): Promise<void>;
  /** Replaces bytes that were written before; null for a stream, which cannot go back. */
  readonly patch: ((bytes: Uint8Array, at: number) => Promise<void>) | null;
  /** Gives the file its name and replaces any existing file. */
  finish(): Promise<void>;
  /** Deletes the incomplete file. */
  discard(): Promise<void>;
}

export interface Host {
  /** Maps a whole file, or reads it if it is small. Throws `FileError`. */
  open(path: string, mode: MapMode): Storage;
  /** A part of a file as a separate storage, which keeps the memory of the file alive. */
  part(file: Storage, offset: number, nbytes: number): Storage;
  /** Copies bytes of a file, without an ArrayBuffer over all of it. */
  read(file: Storage, offset: number, length: number): Uint8Array;
  inflate(request: Deflated): Uint8Array;
  /** The path of a file in the same folder. */
  beside(path: string, name: string): string;
  /** The path of a file: URL. */
  pathOf(url: URL): string;
  create(path: string, durable: boolean): Promise<Target>;
}

let current: Host | null = null;

export function setHost(host: Host): void {
  current = host;
}

/** The file system. Throws if there is none. */
export function getHost(): Host {
  if (current !== null) return current;
  throw new ArgumentTypeError('source', 'a URL, a File or a Blob (a browser cannot open or write paths)', 'a path');
}

/** True for text that is a URL and not a path. */
export function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+]+:\/\//i.test(text);
}
