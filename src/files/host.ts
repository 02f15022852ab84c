/**
 * What this module needs from a runtime with a file system. The entry for Node, Bun and Deno registers it; a browser has
 * none, and opens URLs, Files and Blobs.
 *
 * @module
 */

import { ArgumentTypeError } from '../errors.js';
import type { Storage } from '../storage/storage.js';
import type { Deflated } from './reading.js';

/** `'r'`: the memory cannot be written. `'c'`: writes stay in this process; the file never changes. */
export type MapMode = 'r' | 'c';

/** A file in the making. It appears under its name when it is whole. */
export interface Target {
  write(bytes: Uint8Array): Promise<void>;
  /** The file gets its name, in place of what had it before. */
  finish(): Promise<void>;
  /** Nothing is left of it. */
  discard(): Promise<void>;
}

export interface Host {
  /** All of a file, mapped; throws `FileError`. */
  map(path: string, mode: MapMode): Storage;
  /** A part of a mapping as a storage of its own, which keeps the mapping. */
  part(mapping: Storage, offset: number, nbytes: number): Storage;
  /** A copy of bytes of a mapping, without an ArrayBuffer over all of it. */
  read(mapping: Storage, offset: number, length: number): Uint8Array;
  inflate(request: Deflated): Uint8Array;
  /** The path of a file in the same folder. */
  beside(path: string, name: string): string;
  /** The path of a file: URL. */
  pathOf(url: URL): string;
  create(path: string, durable: boolean): Promise<Target>;
}

let registered: Host | null = null;

export function setHost(host: Host): void {
  registered = host;
}

/** The file system; throws where there is none. */
export function getHost(): Host {
  if (registered !== null) return registered;
  throw new ArgumentTypeError('source', 'a URL, a File or a Blob (a browser cannot open or write paths)', 'a path');
}
