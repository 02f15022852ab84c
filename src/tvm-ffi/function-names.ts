/** The names of the functions that a library exports for TVM-FFI. Finds symbols by their prefix, in any file format. */

import { FileFormatError } from '../files/error.js';
import { checkNames, MAX_HEADER } from '../files/limits.js';
import { node } from '../native/load/node-modules.js';

const { Buffer } = node.buffer;
const { closeSync, openSync, readSync } = node.fs;

const PREFIX = Buffer.from('\0__tvm_ffi_');
/** Libraries with code for many GPUs have gigabytes, so one part after the other is read. */
const PART = 1 << 20;
/** The bytes of the longest symbol. As many are kept for the next part, which a symbol may reach into. */
const LONGEST = 1 << 16;

/** The names, in order. Does not load the library. */
export function functionNames(path: string): string[] {
  const names = new Set<string>();
  const file = openSync(path, 'r');
  let offset = 0;
  let bytes = 0;
  const add = (name: string): void => {
    if (names.has(name)) return;
    names.add(name);
    checkNames(path, offset, names.size, 'functions');
    bytes += name.length;
    if (bytes > MAX_HEADER) {
      throw new FileFormatError(path, offset, `the names of functions have more than ${MAX_HEADER} bytes`);
    }
  };
  try {
    const buffer = Buffer.allocUnsafe(LONGEST + PART);
    let kept = 0;
    for (;;) {
      const count = readSync(file, buffer, kept, PART, null);
      if (count === 0) break;
      const end = kept + count;
      for (const name of namesIn(buffer.subarray(0, end))) add(name);
      offset += count;
      kept = Math.min(end, LONGEST);
      buffer.copyWithin(0, end - kept, end);
    }
  } finally {
    closeSync(file);
  }
  return [...names].filter((name) => name !== 'main').sort();
}

/** The names in a part of a file, without one at its end that goes on in the next part. */
function* namesIn(part: Buffer): Generator<string> {
  for (let at = part.indexOf(PREFIX); at >= 0; at = part.indexOf(PREFIX, at + 1)) {
    const start = at + PREFIX.length;
    const end = part.indexOf(0, start);
    if (end < 0) return;
    const name = part.toString('latin1', start, end);
    if (/^[A-Za-z][\w.]*$/.test(name)) yield name;
  }
}
