/** Libraries that are opened by name come from the system, not from the working folder. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { test } from '../harness.js';

const names = ['libtvm_ffi.so', 'libtvm_ffi.dylib', 'tvm_ffi.dll', 'libcuda.so.1', 'libcuda.dylib', 'nvcuda.dll'];
const nowhere = { TVM_FFI_LIBDIR: '', VIRTUAL_ENV: '', PATH: '', DLPACK_CUDA_DRIVER: '' };

test('libtvm_ffi and the CUDA driver are not loaded from the working folder', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'dlpack-names-'));
  const attempt = (env: Record<string, string>) => {
    const options = { cwd, env: { ...nowhere, ...env } };
    const { code, signal, output } = runChild(import.meta.url, './children/system-libraries.js', options);
    equal([code, signal], [0, null], output);
    return output;
  };
  try {
    const without = attempt({});
    for (const name of names) writeFileSync(join(cwd, name), 'not a library');
    equal(attempt({}), without);
    // A file that is read gives another reason.
    const [reason] = JSON.parse(attempt({ TVM_FFI_LIBDIR: cwd })) as string[];
    ok(reason?.includes(cwd) && !without.includes(reason.split(': ').at(-1) as string), `${reason}\n${without}`);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
});
