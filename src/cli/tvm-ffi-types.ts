#!/usr/bin/env node
/**
 * dlpack-tvm-ffi-types kernels.so [kernels.d.ts]: declarations of a library of kernels, to a file or to the output.
 *
 * @module
 */

import { writeFileSync } from 'node:fs';
import { isDLPackError } from '../errors.js';
import { moduleDeclarations } from '../tvm-ffi/declarations.js';
import '../tvm-ffi/index.js';

const [path, target] = process.argv.slice(2);
if (path === undefined) {
  console.error('usage: dlpack-tvm-ffi-types kernels.so [kernels.d.ts]');
  process.exitCode = 2;
} else {
  try {
    const text = moduleDeclarations(path);
    if (target === undefined) process.stdout.write(text);
    else writeFileSync(target, text);
  } catch (error) {
    console.error(isDLPackError(error) || (error as { code?: string }).code === 'ENOENT' ? String(error) : error);
    process.exitCode = 1;
  }
}
