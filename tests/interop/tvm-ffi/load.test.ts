import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadLibrary } from 'dlpack/tvm-ffi';
import { places } from '../../../src/tvm-ffi/library.js';
import { equal, ok, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { test, testWith } from '../../harness.js';
import { ffiMissing, kernelsMissing, kernelsPath, libraries } from './peer.js';

const nowhere = { TVM_FFI_LIBDIR: '', VIRTUAL_ENV: '', PATH: '', LD_LIBRARY_PATH: '' };

testWith(kernelsMissing, 'our declarations of the ABI equal those in the real c_api.h', () => {
  const path = fileURLToPath(new URL('../../../kernels/abi_layout', import.meta.url));
  equal(spawnSync(path).status, 0);
});

testWith(ffiMissing, 'the library is found in .venv and loaded once for the process', () => {
  ok(loadLibrary().endsWith('/tvm_ffi/lib/libtvm_ffi.so'));
});

testWith(ffiMissing, 'a program whose stacks are arrays can import the module', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/structured-stacks.js');
  equal([code, signal, output], [0, null, 'RangeError inside\n']);
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
  const twice = runChild(import.meta.url, './children/load.js', { args: [path, path], env: nowhere });
  equal(JSON.parse(twice.output).again, path);
});

testWith(ffiMissing, 'an active virtual environment, tvm-ffi-config, and the path of the loader', () => {
  const environment = (libraries as string).split('/lib/')[0] as string;
  // The command of the wheel, without the Python that its first line names.
  const commands = mkdtempSync(join(tmpdir(), 'dlpack-'));
  writeFileSync(join(commands, 'tvm-ffi-config'), `#!/bin/sh\ntest "$1" = --libdir && echo "${libraries}"\n`, {
    mode: 0o755,
  });
  try {
    for (const env of [{ VIRTUAL_ENV: environment }, { PATH: commands }, { LD_LIBRARY_PATH: libraries as string }]) {
      const { output } = runChild(import.meta.url, './children/load.js', { env: { ...nowhere, ...env } });
      equal((JSON.parse(output) as { loaded?: string }).loaded, `${libraries}/libtvm_ffi.so`, JSON.stringify(env));
    }
  } finally {
    rmSync(commands, { recursive: true });
  }
});

test('a tvm-ffi-config that never answers and ignores SIGTERM: it is ended, and the next place is tried', () => {
  const commands = mkdtempSync(join(tmpdir(), 'dlpack-'));
  const { PATH } = process.env;
  try {
    const sleep = spawnSync('sh', ['-c', 'command -v sleep'], { encoding: 'utf8' }).stdout.trim();
    const text = `#!/bin/sh\ntrap '' TERM\nexec ${sleep} 1000\n`;
    writeFileSync(join(commands, 'tvm-ffi-config'), text, { mode: 0o755 });
    process.env.PATH = commands;
    const [config, loader] = [...places(undefined, 200)].slice(-2);
    const missing = 'the command is not on the PATH, failed, or gave no answer in 0.2 seconds';
    equal(config, { from: 'tvm-ffi-config --libdir', files: [], missing });
    equal(loader?.from, 'the search path of the loader');
  } finally {
    process.env.PATH = PATH;
    rmSync(commands, { recursive: true });
  }
});

testWith(kernelsMissing, 'another version is refused, and the next place is tried', () => {
  const other = fileURLToPath(new URL('../../../kernels/other_version', import.meta.url));
  const alone = runChild(import.meta.url, './children/load.js', { env: { ...nowhere, TVM_FFI_LIBDIR: other } });
  const { tried } = JSON.parse(alone.output) as { tried: string[] };
  ok(tried[0]?.includes('TVM_FFI_LIBDIR') && tried[0].includes('expected TVM-FFI 0.1.x but it is 0.2.7'), alone.output);
  const env = { ...nowhere, TVM_FFI_LIBDIR: other, VIRTUAL_ENV: (libraries as string).split('/lib/')[0] as string };
  const next = runChild(import.meta.url, './children/load.js', { env });
  equal((JSON.parse(next.output) as { loaded?: string }).loaded, `${libraries}/libtvm_ffi.so`, next.output);
});

testWith(
  kernelsMissing,
  'without the library the error says how to install it, and the rest of the package works',
  () => {
    const { output } = runChild(import.meta.url, './children/load.js', { env: nowhere });
    const { message, tried, rest } = JSON.parse(output) as { message: string; tried: string[]; rest: number[] };
    ok(message.includes('pip install apache-tvm-ffi') && message.includes('TVM_FFI_LIBDIR'), message);
    const places = [
      'TVM_FFI_LIBDIR',
      'VIRTUAL_ENV',
      '.venv',
      'tvm-ffi-config --libdir',
      'the search path of the loader',
    ];
    equal(
      tried.map((line) => line.split(': ')[0]),
      places,
    );
    equal(rest, [1, 2]);
    const wrong = runChild(import.meta.url, './children/load.js', { args: [kernelsPath], env: nowhere });
    equal((JSON.parse(wrong.output) as { tried: string[] }).tried.length, 1);
  },
);

testWith(ffiMissing, 'a path to another file than the loaded library throws', () => {
  const loaded = loadLibrary();
  throws('ValueError', loaded, () => loadLibrary({ path: '/no/such/file.so' }));
  throws('ValueError', loaded, () => loadLibrary({ path: `${libraries}/libtvm_ffi_testing.so` }));
  equal(loadLibrary({ path: loaded }), loaded);
  equal(loadLibrary({ path: `${libraries}/../lib/libtvm_ffi.so` }), loaded);
});

testWith(ffiMissing, 'a path must be a string', () => {
  throws('TypeError', 'a string', () => loadLibrary({ path: 5 as never }));
});
