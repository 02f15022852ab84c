import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { loadLibrary } from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { testWith } from '../../harness.js';
import { ffiMissing, kernelsMissing, kernelsPath, libraries } from './peer.js';

const nowhere = { TVM_FFI_LIBDIR: '', VIRTUAL_ENV: '', PATH: '', LD_LIBRARY_PATH: '' };

testWith(kernelsMissing, 'our declaration of the ABI is that of a real c_api.h', () => {
  const path = fileURLToPath(new URL('../../../kernels/abi_layout', import.meta.url));
  equal(spawnSync(path).status, 0);
});

testWith(ffiMissing, 'found in .venv, once for the process', () => {
  ok(loadLibrary().endsWith('/tvm_ffi/lib/libtvm_ffi.so'));
  equal(loadLibrary({ path: '/no/such/file.so' }), loadLibrary());
});

testWith(ffiMissing, 'WebAssembly traps still throw after the library took SIGSEGV', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/wasm-trap.js');
  equal([code, signal], [0, null], output);
  const [before, after] = JSON.parse(output) as string[];
  ok(/out of bounds/i.test(before ?? ''), output);
  equal(after, before);
});

testWith(ffiMissing, 'a path, and TVM_FFI_LIBDIR', () => {
  const path = `${libraries}/libtvm_ffi.so`;
  const given = runChild(import.meta.url, './children/load.js', { args: [path], env: nowhere });
  equal(JSON.parse(given.output), { loaded: path, again: path, works: 'function' });
  const env = { ...nowhere, TVM_FFI_LIBDIR: libraries as string };
  const found = runChild(import.meta.url, './children/load.js', { env });
  equal(JSON.parse(found.output).loaded, path);
  const twice = runChild(import.meta.url, './children/load.js', { args: [path, '/no/such.so'], env: nowhere });
  equal(JSON.parse(twice.output).again, path);
});

testWith(kernelsMissing, 'where it is missing, the error says how to get it, and the rest of the package works', () => {
  const { output } = runChild(import.meta.url, './children/load.js', { env: nowhere });
  const { message, tried, rest } = JSON.parse(output) as { message: string; tried: string[]; rest: number[] };
  ok(message.includes('pip install apache-tvm-ffi') && message.includes('TVM_FFI_LIBDIR'), message);
  ok(tried.some((line) => line.includes('the search path of the loader')));
  equal(rest, [1, 2]);
  const wrong = runChild(import.meta.url, './children/load.js', { args: [kernelsPath], env: nowhere });
  equal((JSON.parse(wrong.output) as { tried: string[] }).tried.length, 1);
});

testWith(ffiMissing, 'a path must be a string', () => {
  throws('TypeError', 'a string', () => loadLibrary({ path: 5 as never }));
});
