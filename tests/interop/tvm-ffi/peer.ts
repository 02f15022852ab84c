/** The counterpart: libtvm_ffi and its testing library from the wheel, and the kernels of examples/kernels. */

import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isDLPackError } from 'dlpack';
import { type FFIFunction, getGlobalFunc, type KernelModule, loadModule, TVMFFIError } from 'dlpack/tvm-ffi';
import { ok } from '../../assert.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

function findLibraries(): string | null {
  const folder = `${root}.venv/lib`;
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const candidate = `${folder}/${name}/site-packages/tvm_ffi/lib`;
    if (existsSync(`${candidate}/libtvm_ffi.so`)) return candidate;
  }
  return null;
}

/** The folder of libtvm_ffi.so, null without the wheel. */
export const libraries = findLibraries();
export const ffiMissing = libraries === null ? 'libtvm_ffi.so in .venv (needs Python)' : false;

export const kernelsPath = `${root}build/kernels/kernels.so`;
export const probePath = `${root}build/kernels/probe.so`;
export const kernelsMissing = existsSync(kernelsPath) ? ffiMissing : 'build/kernels/kernels.so (needs a C++ compiler)';

let probes: KernelModule | null = null;

/** A function of tests/interop/tvm-ffi/kernels/probe.cc. */
export function probe(name: string): FFIFunction {
  probes ??= loadModule(probePath);
  return probes[name] as FFIFunction;
}

let isLoaded = false;

/** A function of the testing library. */
export function testing(name: string): FFIFunction {
  if (!isLoaded) loadModule(`${libraries}/libtvm_ffi_testing.so`);
  isLoaded = true;
  return getGlobalFunc(`testing.${name}`);
}

/** The error that the action throws; null when it throws nothing. */
export function caught(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return null;
}

/** The action throws a TVMFFIError of this kind whose message contains `text`. Returns it. */
export function raises(kind: string, text: string, action: () => unknown): TVMFFIError {
  let returned: unknown;
  try {
    returned = action();
  } catch (error) {
    ok(error instanceof TVMFFIError && isDLPackError(error), `expected a TVMFFIError but received ${String(error)}`);
    ok(error.kind === kind, `expected kind ${kind} but received ${error.kind}: ${error.message}`);
    ok(error.message.includes(text), `expected a message with '${text}' but received '${error.message}'`);
    return error;
  }
  throw new Error(`expected a TVMFFIError but nothing was thrown (${String(returned)})`);
}
