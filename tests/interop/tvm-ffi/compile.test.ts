/** Kernels compiled from source: with g++, with stand-ins for other compilers, and as Python's load_inline does it. */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { type CompileOptions, compile, compileLibrary, describeFunction } from 'dlpack/tvm-ffi';
import { equal, ok, rejection, rejects } from '../../assert.js';
import { runChild } from '../../child.js';
import { testWith } from '../../harness.js';
import { add, type Iota, standIn, withFolder } from './compilers.js';
import { kernelsMissing, libraries, raises } from './peer.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** Zig from PyPI, in the environment that scripts/lib/zig.mjs installs. */
function findZig(): string {
  const library = join(root, '.venv-zig/lib');
  const [version = ''] = existsSync(library) ? readdirSync(library) : [];
  return join(library, version, 'site-packages/ziglang/zig');
}
const zig = findZig();
const zigMissing = existsSync(zig) ? false : '.venv-zig (needs PyPI)';
const ninjaMissing = spawnSync('ninja', ['--version']).status === 0 ? false : "ninja (Python's load_inline needs it)";

const scale = `
#include "my label.h"
void scale(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double factor) {
  TVM_FFI_CHECK(x.size(0) == y.size(0), ValueError) << "lengths differ";
  for (int64_t i = 0; i < x.size(0); ++i) {
    static_cast<float*>(y.data_ptr())[i] = static_cast<float*>(x.data_ptr())[i] * static_cast<float>(factor);
  }
}
tvm::ffi::String describe(tvm::ffi::TensorView x) { return LABEL + std::to_string(x.ndim()); }
`;
testWith(
  kernelsMissing || ninjaMissing,
  "the same source through Python's load_inline gives the same results",
  async () => {
    // A folder that stays, because this test runs on every runtime, and both caches hold what they built.
    const folder = join(root, 'build/compile');
    const functions = { scale: 'Multiplies.', describe: '' };
    const include = join(folder, 'include');
    mkdirSync(include, { recursive: true });
    writeFileSync(join(include, 'my label.h'), '#define LABEL "rank "\n');
    const module = await compile({ cpp: scale, functions, includes: [include], cache: folder });
    const x = Tensor.from([1, 2, 3.5], { dtype: 'float32' });
    const y = Tensor.empty([3], 'float32');
    module.scale(x, y, 2.5);
    const failure = (() => {
      try {
        return module.scale(x, Tensor.empty([1], 'float32'), 1);
      } catch (error) {
        return [(error as { kind?: string }).kind, (error as Error).message];
      }
    })();
    const script = `
import json, sys, numpy as np, tvm_ffi.cpp
work = json.load(sys.stdin)
module = tvm_ffi.cpp.load_inline('inline', cpp_sources=work['cpp'], functions=work['functions'], extra_include_paths=[work['include']], build_directory=work['folder'])
x = np.array([1, 2, 3.5], np.float32); y = np.empty(3, np.float32)
module.scale(x, y, 2.5)
try: failure = module.scale(x, np.empty(1, np.float32), 1)
except Exception as error: failure = [type(error).__name__, str(error)]
print(json.dumps([y.tolist(), module.describe(x), failure]))`;
    const output = execFileSync(`${root}.venv/bin/python`, ['-I', '-c', script], {
      encoding: 'utf8',
      input: JSON.stringify({ cpp: scale, functions, include, folder: join(folder, 'python') }),
    });
    equal([y.toArray(), module.describe(x), failure], JSON.parse(output));
    equal(y.toArray(), [2.5, 5, 8.75]);
    equal(describeFunction(module, 'scale').doc, 'Multiplies.');
    const manifests = readdirSync(join(folder, 'kernels')).filter((name) => name.endsWith('.json'));
    const texts = manifests.map((name) => readFileSync(join(folder, 'kernels', name), 'utf8'));
    ok(
      texts.some((text) => text.includes(join(include, 'my label.h'))),
      'the included file is recorded',
    );
    ok(describeFunction(module, 'scale').metadata?.includes('ffi.Function'), 'the library has metadata');
  },
);

testWith(kernelsMissing, 'compiler errors have the lines of the source', () =>
  withFolder(async (folder) => {
    const cpp = ['int64_t one() { return 1; }', '\nint64_t two() {\n  return missing + 1;\n}'];
    const wrong = compile({ cpp, functions: ['one', 'three'], flags: ['-fsyntax-only'], cache: folder });
    const error = await rejects('CompileError', 'cpp[1]:3:10', wrong);
    const [{ source, line, column, severity, message }] = error.diagnostics as [(typeof error.diagnostics)[0]];
    equal([source, line, column, severity], ['cpp[1]', 3, 10, 'error']);
    ok(message.includes('missing'), message);
    ok(error.message.includes('3 |   return missing + 1;'), error.message);
    ok(error.message.includes('functions:2'), error.message);
    ok(error.command.includes('-fsyntax-only') && error.output.includes('cpp[1]:3'), error.command);
    const { compiler } = standIn(folder, { first: 'echo "undefined reference"; exit 1' });
    const linker = await rejects('CompileError', 'undefined reference', compile({ cpp: add, compiler, cache: folder }));
    equal(linker.diagnostics, []);
    ok(linker.message.includes('exit code 1'), linker.message);
    equal(readdirSync(folder).includes('kernels'), false, 'nothing was cached');
  }),
);

testWith(kernelsMissing, 'a compiler that fails does not end the other one, and nothing stays behind', () =>
  withFolder(async (folder) => {
    const temporary = join(folder, 'tmp');
    mkdirSync(temporary);
    const { compiler } = standIn(folder, { first: 'echo "cpp:1:1: error: no" >&2; exit 1' });
    // nvcc writes its object only after the C++ compiler has failed, into a folder that must still exist.
    const first = `while ! grep -q '^compiler .*cpp.cc' '${folder}/log'; do sleep 0.02; done
pwd > '${folder}/where'; touch there && echo there >> '${folder}/where'`;
    const nvcc = standIn(folder, { name: 'nvcc', first }).compiler[0] as string;
    const { TMPDIR } = process.env;
    process.env.TMPDIR = temporary;
    try {
      const failed = compile({
        cpp: add,
        cuda: 'int b;',
        compiler,
        cudaCompiler: nvcc,
        cudaFlags: ['-arch=sm_90'],
        cache: folder,
      });
      await rejects('CompileError', 'cpp:1:1', failed);
    } finally {
      if (TMPDIR === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = TMPDIR;
    }
    ok(readFileSync(join(folder, 'where'), 'utf8').endsWith('\nthere\n'), 'the folder existed');
    equal(readdirSync(temporary), []);
  }),
);

testWith(kernelsMissing, 'a signal stops the waiting for a compiler, whose library is in the cache later', () =>
  withFolder(async (folder) => {
    const reason = new Error('too slow');
    const go = join(folder, 'go');
    const { compiler, lines } = standIn(folder, { first: `while ! [ -e '${go}' ]; do sleep 0.02; done` });
    const options = { cpp: add, compiler, cache: folder };
    equal(await rejection(compile({ ...options, signal: AbortSignal.abort(reason) })), reason);
    equal(lines(), []);
    const controller = new AbortController();
    const stopped = compile({ ...options, signal: controller.signal });
    const other = compileLibrary(options);
    controller.abort(reason);
    equal(await rejection(stopped), reason);
    writeFileSync(go, '');
    equal(await compileLibrary(options), await other);
    equal(lines().length, 2, 'one compiler and one linker');
    await rejects('TypeError', 'an AbortSignal for signal', compile({ ...options, signal: {} as never }));
  }),
);

testWith(kernelsMissing, 'compilers by a relative path, and by a path with spaces', () =>
  withFolder(async (folder) => {
    const { compiler, lines } = standIn(folder, { name: 'my compiler' });
    const [path = ''] = compiler;
    for (const named of [path, [relative(process.cwd(), path)], [path, 'c++']]) {
      await compileLibrary({ cpp: add, compiler: named, cache: folder });
    }
    equal(lines().length, 4, 'the second is the first');
    const wrong = compile({
      cpp: add,
      compiler,
      flags: ['-D X'],
      linkFlags: ['--fail'],
      cache: join(folder, 'file', 'x'),
    });
    writeFileSync(join(folder, 'file'), '');
    await rejects('LoadError', 'cannot be written', wrong);
  }),
);

// Zig builds its own C++ library first, which takes minutes, so this runs only on request: ZIG=1 npm test -- tvm-ffi/compile
if (process.env.ZIG !== undefined) {
  testWith(kernelsMissing || zigMissing, 'Zig compiles the same source to the same results', async () => {
    const { scaled } = await compile<{ scaled(x: Tensor, factor: number): Tensor }>({
      cpp: `
      tvm::ffi::Tensor scaled(tvm::ffi::TensorView x, double factor) {
        TVM_FFI_CHECK(x.ndim() == 1, ValueError) << "one axis";
        tvm::ffi::Tensor y = tvm::ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, x.shape(), x.dtype(), x.device());
        for (int64_t i = 0; i < x.size(0); ++i)
          static_cast<float*>(y.data_ptr())[i] = static_cast<float*>(x.data_ptr())[i] * static_cast<float>(factor);
        return y;
      }`,
      functions: ['scaled'],
      compiler: [zig, 'c++'],
      cache: join(root, 'build/compile'),
    });
    const x = Tensor.from([1, 2, 3.5], { dtype: 'float32' });
    equal(scaled(x, 2).toArray(), [2, 4, 7]);
    raises('ValueError', 'one axis', () => scaled(Tensor.zeros([1, 1], 'float32'), 1));
  });
}

testWith(kernelsMissing, 'nvcc compiles CUDA source, and both objects are linked into one library', () =>
  withFolder(async (folder) => {
    const { compiler } = standIn(folder);
    const {
      compiler: [nvcc],
      lines,
    } = standIn(folder, { name: 'nvcc' });
    const options = {
      compiler,
      cudaCompiler: nvcc as string,
      flags: ['-O1'],
      cudaFlags: ['-arch=sm_90'],
      cache: folder,
    };
    const { iota } = await compile<Iota>({ cpp: add, cuda: 'int b;', functions: ['add'], ...options });
    equal(iota(1).toArray(), [0]);
    const find = (text: string) => lines().filter((line) => line.includes(text));
    equal([find('-c cpp.cc').length, find('-c cuda.cu').length, lines().length], [1, 1, 3]);
    ok(find('-c cpp.cc')[0]?.startsWith('compiler ') && find('-O1').length === 1, lines().join('\n'));
    ok(find('-c cuda.cu')[0]?.startsWith('nvcc ') && find('-arch=sm_90').length === 1, lines().join('\n'));
    ok(/^nvcc cpp.cc.o cuda.cu.o /.test(lines()[2] as string), lines()[2]);
    const {
      compiler: [failing],
    } = standIn(folder, { name: 'nvcc2', first: `echo 'cuda(4): error: no "x"'; exit 2` });
    const error = compile({ cuda: 'int a;', ...options, cudaCompiler: failing as string });
    const { diagnostics } = await rejects('CompileError', 'cuda:4', error);
    equal(diagnostics, [{ source: 'cuda', line: 4, column: null, severity: 'error', message: 'no "x"' }]);
  }),
);

testWith(kernelsMissing, 'options are read before the first wait, and others cannot read the cache', () =>
  withFolder(async (folder) => {
    const { compiler, lines } = standIn(folder);
    const [cache, flags] = [join(folder, 'cache'), ['-O1']];
    const options: CompileOptions = { cpp: [add], functions: ['add'], cache, compiler, flags };
    const building = compileLibrary(options);
    Object.assign(options, { compiler: 'no-such-compiler', linkFlags: ['-lnone'], flags: 7 });
    flags.push('-O3');
    (options.cpp as string[]).push('int b;');
    await building;
    const text = lines().join('\n');
    equal([text.includes('-O1'), text.includes('-O3'), text.includes('-lnone')], [true, false, false], text);
    equal(statSync(join(cache, 'kernels')).mode & 0o077, 0);
  }),
);

testWith(kernelsMissing, 'the search for headers runs no code of the working folder', () =>
  withFolder(async (folder) => {
    // A library without headers beside it, so that Python is asked; and a package of the same name in the working folder.
    mkdirSync(join(folder, 'lib'));
    symlinkSync(join(libraries as string, 'libtvm_ffi.so'), join(folder, 'lib/libtvm_ffi.so'));
    mkdirSync(join(folder, 'work/tvm_ffi'), { recursive: true });
    const mark = join(folder, 'mark');
    writeFileSync(join(folder, 'work/tvm_ffi/__init__.py'), `open(${JSON.stringify(mark)}, 'w')`);
    const options = { cpp: add, functions: ['add'], cache: folder, compiler: 'no-such-compiler' };
    const { output } = runChild(import.meta.url, './children/compile.js', {
      args: [JSON.stringify(options)],
      cwd: join(folder, 'work'),
      env: { TVM_FFI_LIBDIR: join(folder, 'lib'), PATH: `${root}.venv/bin:${process.env.PATH}` },
    });
    ok(output.includes('no-such-compiler'), output); // the headers were found, and the compiler came next
    equal(existsSync(mark), false, 'the package in the working folder ran');
  }),
);

testWith(kernelsMissing, 'missing tools and wrong options give errors', () =>
  withFolder(async (folder) => {
    const options = { cpp: add, functions: ['add'], cache: folder } as const;
    await rejects('LoadError', 'tried: no-such-compiler', compile({ ...options, compiler: 'no-such-compiler' }));
    await rejects('LoadError', 'CUDA_HOME', compile({ cuda: add, cudaCompiler: 'no-such-nvcc', cache: folder }));
    await rejects('LoadError', folder, compile({ ...options, headers: folder }));
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const { compiler } = standIn(folder);
    await rejects('LoadError', 'DLPACK_CACHE_DIR', compile({ ...options, compiler, cache: file }));
    await rejects('TypeError', 'C++ source', compile({ functions: ['add'] }));
    await rejects('TypeError', 'source text', compile({ cpp: 7 as never }));
    await rejects('TypeError', 'an array of names', compile({ cpp: add, functions: 'add' as never }));
    await rejects('ValueError', 'names of C++ functions', compile({ cpp: add, functions: ['a b'] }));
    await rejects('TypeError', 'documentation', compile({ cpp: add, functions: { add: 1 } as never }));
    await rejects('TypeError', 'an array of strings', compile({ ...options, flags: '-O3' as never }));
    await rejects('TypeError', 'a command', compile({ ...options, compiler: [] }));
    await rejects('TypeError', 'a folder', compile({ ...options, headers: 1 as never }));
    await rejects('TypeError', 'a folder', compile({ ...options, cache: 1 as never }));
    await rejects('ValueError', 'not empty', compile({ ...options, cache: '' }));
    for (const option of ['flags', 'linkFlags', 'cudaFlags', 'includes', 'compiler', 'cache', 'headers']) {
      const value = ['cache', 'headers'].includes(option) ? 'a\0b' : ['a\0b'];
      await rejects('ValueError', 'NUL', compile({ ...options, [option]: value } as never));
    }
    await rejects('ValueError', 'NUL', compile({ ...options, compiler: '\0' }));
    await rejects('CompileError', 'wrote no library', compile({ ...options, compiler: 'true' }));
    await rejects('TypeError', "did you mean 'flags'", compile({ ...options, flag: [] } as never));
  }),
);
