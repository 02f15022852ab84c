/** What compile does on systems other than this one: command lines and folders. */

import { systemCache } from '../../src/tvm-ffi/compile/cache.js';
import {
  compileArguments,
  cppFlags,
  cudaFlags,
  extensionOf,
  linkArguments,
  showCommand,
} from '../../src/tvm-ffi/compile/commands.js';
import { parseDiagnostics } from '../../src/tvm-ffi/compile/error.js';
import { equal } from '../assert.js';
import { test } from '../harness.js';

const common = ['-std=c++17', '-O2', '-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1'];
const search = ['-I/my own', '-isystem', '/tvm', '-isystem', '/dlpack'];

test('command lines on Linux, macOS and Windows', () => {
  const folders = [['/my own'], ['/tvm', '/dlpack']] as const;
  for (const platform of ['linux', 'darwin']) equal(cppFlags(platform, ...folders), [...common, '-fPIC', ...search]);
  equal(cppFlags('win32', ...folders), [...common, ...search]);
  equal(compileArguments('cpp.cc'), ['-MMD', '-MF', 'cpp.cc.d', '-c', 'cpp.cc', '-o', 'cpp.cc.o']);
  const link = (platform: string, isCuda = false) =>
    linkArguments(platform, ['a.o', 'b.o'], 'built', { isCuda, importLibrary: 'C:\\tvm\\tvm_ffi.lib' }).slice(2);
  equal(link('linux'), ['-o', 'built', '-shared']);
  equal(link('linux', true), ['-o', 'built', '-shared', '-Xcompiler', '-fPIC']);
  equal(link('darwin'), ['-o', 'built', '-dynamiclib', '-undefined', 'dynamic_lookup']);
  equal(link('win32'), ['-o', 'built', '-shared', 'C:\\tvm\\tvm_ffi.lib']);
  equal(link('win32', true), ['-o', 'built', '-shared', 'C:\\tvm\\tvm_ffi.lib']);
  equal(['linux', 'darwin', 'win32'].map(extensionOf), ['so', 'dylib', 'dll']);
  const architecture = '-gencode=arch=compute_90,code=sm_90';
  equal(cudaFlags('linux', ...folders, [architecture], 'g++-13'), [
    ...[...common, '-Xcompiler', '-fPIC', architecture, '-ccbin', 'g++-13'],
    ...search,
  ]);
  equal(cudaFlags('win32', [], [], [], null), common);
});

test('folders for caches', () => {
  equal(systemCache('linux', {}, '/home/me'), '/home/me/.cache/dlpack');
  equal(systemCache('linux', { XDG_CACHE_HOME: '' }, '/home/me'), '/home/me/.cache/dlpack');
  equal(systemCache('linux', { XDG_CACHE_HOME: '/cache' }, '/home/me'), '/cache/dlpack');
  equal(systemCache('darwin', { XDG_CACHE_HOME: '/cache' }, '/Users/me'), '/Users/me/Library/Caches/dlpack');
  equal(systemCache('win32', {}, 'C:\\Users\\me'), 'C:\\Users\\me\\AppData\\Local\\dlpack\\cache');
  equal(systemCache('win32', { LOCALAPPDATA: 'D:\\local' }, 'C:\\Users\\me'), 'D:\\local\\dlpack\\cache');
});

test('a failed command can be pasted into a shell', () => {
  equal(showCommand(['g++', '-I/my own', "-DNAME=it's", '-O2']), "g++ '-I/my own' '-DNAME=it'\\''s' -O2");
});

test('messages of g++, clang, nvcc and compilers on Windows', () => {
  const output = [
    'cpp: In function two:',
    "cpp[1]:3:10: error: 'missing' was not declared",
    'C:\\my headers\\a.h:7:2: fatal error: no such file',
    'cuda(4): error: identifier "x" is undefined',
    'cuda[1](9): catastrophic error: cannot open source file',
    'cuda(2): warning #177-D: variable was declared but never referenced',
    'cpp:5: note: without a column',
  ].join('\r\n');
  equal(
    parseDiagnostics(output).map(({ source, line, column, severity }) => [source, line, column, severity]),
    [
      ['cpp[1]', 3, 10, 'error'],
      ['C:\\my headers\\a.h', 7, 2, 'error'],
      ['cuda', 4, null, 'error'],
      ['cuda[1]', 9, null, 'error'],
      ['cuda', 2, null, 'warning'],
      ['cpp', 5, null, 'note'],
    ],
  );
});
