/**
 * The entry of `dlpack/files` for Node, Bun and Deno: the pure module with a file system.
 *
 * @module
 */

import '../../index.node.js';

import { ArgumentValueError } from '../../errors.js';
import { node } from '../../native/load/node-modules.js';
import { setHost } from '../host.js';
import { type Deflated, MAX_RATIO } from '../reading.js';
import { createTarget } from './target.js';
import { openFile, partOf, readPart } from './whole-file.js';

const { dirname, join } = node.path;
const { fileURLToPath } = node.url;

/** Returns no bytes for invalid data, so that the size check fails. */
function inflate({ deflated, size, isPrefix }: Deflated): Uint8Array {
  const { constants, inflateRawSync } = node.zlib;
  try {
    return isPrefix
      ? inflateRawSync(deflated, {
          finishFlush: constants.Z_SYNC_FLUSH,
          maxOutputLength: deflated.length * MAX_RATIO + 64,
        }).subarray(0, size)
      : inflateRawSync(deflated, { maxOutputLength: Math.max(1, size) });
  } catch {
    return new Uint8Array();
  }
}

/** Throws for a URL of another host, and for an encoded separator. */
function pathOf(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw new ArgumentValueError('source', 'a file: URL of a path on this machine', url.href);
  }
}

setHost({
  open: openFile,
  part: partOf,
  read: readPart,
  inflate,
  beside: (path, name) => join(dirname(path), name),
  pathOf,
  create: createTarget,
});

export * from '../index.js';
