// What tests exchange tensors with and has to be compiled: addons, kernels, a CUDA driver, and programs that check our
// declarations against real headers.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { findCompiler } from './compile.mjs';
import { venvPython } from './environments.mjs';
import { headers } from './native.mjs';
import { at, run, step, whenChanged } from './steps.mjs';

const sharedFlags = process.platform === 'darwin' ? ['-bundle', '-undefined', 'dynamic_lookup'] : ['-shared'];
const commonFlags = ['-std=c++17', '-O2', '-Wall', '-Wextra', '-Werror', '-fPIC', '-fvisibility=hidden'];

/** The folder with the real dlpack.h in the apache-tvm-ffi wheel. */
export async function dlpackHeaderFolder() {
  const { output } = await run(venvPython, ['-c', 'import tvm_ffi.libinfo as l; print(l.find_dlpack_include_path())']);
  return output.trim().split('\n').at(-1);
}

/** The include folder of a CUDA installation with the header, in .venv or in a toolkit; null if there is none. */
async function cudaHeaderFolder(header) {
  const { output } = await run(venvPython, ['-c', 'import site; print(site.getsitepackages()[0])']);
  const roots = [`${output.trim()}/nvidia/cu13`, process.env.CUDA_HOME ?? '/usr/local/cuda'];
  const root = roots.find((folder) => existsSync(`${folder}/include/${header}`));
  return root === undefined ? null : `${root}/include`;
}

export const buildSpanProgram = () =>
  step('C++: what CUDA spans become in DLPack', () =>
    whenChanged(
      'mdspan',
      ['tests/interop/mdspan/tensors.cc', 'requirements/tests.txt', 'scripts/lib/counterparts.mjs'],
      ['build/native/mdspan_tensors'],
      async () => {
        const folder = await cudaHeaderFolder('cccl/cuda/__mdspan/mdspan_to_dlpack.h');
        if (folder === null) return 'no CUDA C++ headers here; the fixture serves';
        const compiler = await findCompiler();
        const dlpack = await dlpackHeaderFolder();
        mkdirSync(at('build/native'), { recursive: true });
        // gnu++17, because without GNU extensions GCC hides __float128 from the library.
        const flags = ['-std=gnu++17', `-I${folder}`, `-I${folder}/cccl`, `-I${dlpack}`];
        await run(compiler, [...flags, 'tests/interop/mdspan/tensors.cc', '-o', 'build/native/mdspan_tensors', '-ldl']);
      },
    ),
  );

/** Compiles an addon of one file that uses dlpack.h and the published header. */
async function compileAddon(compiler, dlpack, source, output, more = []) {
  mkdirSync(at(output, '..'), { recursive: true });
  const includes = [`-I${headers}`, `-I${dlpack}`, '-Iinclude'];
  await run(compiler, [...commonFlags, ...includes, ...sharedFlags, source, '-o', output, ...more]);
}

export const buildPeerAddon = () =>
  step('C++: a second addon and the ABI check, against the dlpack.h of apache-tvm-ffi', () =>
    whenChanged(
      'peer',
      ['tests/native/addon', 'native/abi', 'include', 'requirements/tests.txt', 'scripts/lib/counterparts.mjs'],
      ['build/native/peer.node', 'build/native/abi_layout'],
      async () => {
        const compiler = await findCompiler();
        const dlpack = await dlpackHeaderFolder();
        await compileAddon(compiler, dlpack, 'tests/native/addon/peer.cc', 'build/native/peer.node', ['-pthread']);
        const abi = ['-std=c++17', '-Wall', '-Wextra', '-Werror', `-I${dlpack}`, 'tests/native/addon/abi_layout.cc'];
        await run(compiler, [...abi, '-o', 'build/native/abi_layout']);
      },
    ),
  );

/** Builds the C library of docs/guides/ffi.md, from the code on that page. */
export const buildFFILibrary = () =>
  step('C: the library of the guide on FFI', () =>
    whenChanged('ffi', ['docs/guides/ffi.md', 'scripts/lib/counterparts.mjs'], ['build/ffi/libscale.so'], async () => {
      const [, code] = /```c\n(.*?)```/s.exec(readFileSync(at('docs/guides/ffi.md'), 'utf8'));
      mkdirSync(at('build/ffi'), { recursive: true });
      writeFileSync(at('build/ffi/scale.c'), code);
      const flags = ['-xc', '-std=c11', '-O1', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC'];
      await run(await findCompiler(), [...flags, 'build/ffi/scale.c', '-o', 'build/ffi/libscale.so']);
    }),
  );

/** Builds the libraries that dlpack/conformance tests, each written from the specification. */
export const buildConformance = () =>
  step('C and Rust: two libraries of the protocol', () =>
    whenChanged(
      'conformance',
      ['tests/conformance/c', 'tests/conformance/rust', 'include', 'scripts/lib/counterparts.mjs'],
      ['build/native/conformance_c.node'],
      async () => {
        const compiler = await findCompiler();
        mkdirSync(at('build/native'), { recursive: true });
        const flags = ['-xc', '-std=c11', '-O1', '-Wall', '-Wextra', '-Werror', '-fPIC', '-fvisibility=hidden'];
        // Its deleters must stay loaded after the last worker has ended.
        const pinned = process.platform === 'linux' ? ['-Wl,-z,nodelete'] : [];
        const c = [...flags, `-I${headers}`, ...sharedFlags, ...pinned, 'tests/conformance/c/tensor.c'];
        await run(compiler, [...c, '-o', 'build/native/conformance_c.node']);
        return await buildRust();
      },
    ),
  );

/** Builds the Rust library where cargo is installed and can fetch napi-rs. */
async function buildRust() {
  const env = { CARGO_TARGET_DIR: at('build/rust') };
  const manifest = ['--manifest-path', 'tests/conformance/rust/Cargo.toml'];
  try {
    await run('cargo', ['build', '--release', '--locked', '--quiet', ...manifest], { env });
  } catch (error) {
    return `without Rust: ${String(error.message).split('\n')[0]}`;
  }
  const names = { win32: 'conformance_rust.dll', darwin: 'libconformance_rust.dylib' };
  const built = names[process.platform] ?? 'libconformance_rust.so';
  copyFileSync(at('build/rust/release', built), at('build/native/conformance_rust.node'));
}

/** Builds the addon of examples/addon, with dlpack.h from the wheel, or with our own declarations. */
export const buildExampleAddon = () =>
  step('C++: the example addon', () =>
    whenChanged('example', ['examples/addon', 'native/abi', 'include'], ['build/native/scale.node'], async () => {
      const compiler = await findCompiler();
      let dlpack;
      try {
        dlpack = await dlpackHeaderFolder();
      } catch {
        dlpack = '.cache/include';
        mkdirSync(at(dlpack, 'dlpack'), { recursive: true });
        writeFileSync(at(dlpack, 'dlpack/dlpack.h'), '#include "../../../native/abi/dlpack_abi.h"\n');
      }
      await compileAddon(compiler, dlpack, 'examples/addon/scale.cc', 'build/native/scale.node');
    }),
  );

/** Builds a CUDA driver in host memory with the addon that controls it, which tests of dlpack/cuda open by path. */
export const buildFakeDriver = () =>
  step('C++: a CUDA driver without a device', () =>
    whenChanged(
      'fake-cuda',
      ['tests/cuda/driver', 'native/cuda/driver.h', 'native/cuda/copies/copy_plan.h', 'scripts/lib/counterparts.mjs'],
      process.platform === 'win32' ? [] : ['build/native/fake_cuda.node'],
      async () => {
        if (process.platform === 'win32') return 'left out: it needs POSIX; its tests say so';
        const compiler = await findCompiler();
        mkdirSync(at('build/native'), { recursive: true });
        const sources = readdirSync(at('tests/cuda/driver'))
          .filter((file) => file.endsWith('.cc') && file !== 'cuda_abi.cc')
          .map((file) => `tests/cuda/driver/${file}`);
        const flags = [...commonFlags, `-I${headers}`, ...sharedFlags, '-pthread'];
        await run(compiler, [...flags, ...sources, '-o', 'build/native/fake_cuda.node', '-ldl']);
      },
    ),
  );

/** Builds an ONNX Runtime whose CUDA provider computes in the memory of that driver, with the kernels of a real one. */
export const buildDeviceLibrary = () =>
  step('C++: an ONNX Runtime for the CUDA driver without a device', () =>
    whenChanged(
      'onnxruntime-device',
      ['tests/onnxruntime/device', 'native/onnxruntime/abi.h', 'scripts/lib/counterparts.mjs'],
      process.platform === 'win32' ? [] : ['build/native/onnxruntime_device.so'],
      async () => {
        if (process.platform === 'win32') return 'left out: it needs POSIX; its tests say so';
        const compiler = await findCompiler();
        mkdirSync(at('build/native'), { recursive: true });
        const files = ['tests/onnxruntime/device/library.cc', '-o', 'build/native/onnxruntime_device.so', '-ldl'];
        await run(compiler, [...commonFlags, ...sharedFlags, ...files]);
      },
    ),
  );

export const buildCudaCheck = () =>
  step('C++: our declaration of the CUDA driver against a real cuda.h', () =>
    whenChanged(
      'cuda-abi',
      [
        'tests/cuda/driver/cuda_abi.cc',
        'native/cuda/driver.h',
        'requirements/tests.txt',
        'scripts/lib/counterparts.mjs',
      ],
      ['build/native/cuda_abi'],
      async () => {
        const folder = await cudaHeaderFolder('cuda.h');
        if (folder === null) return 'no cuda.h here; its test says so';
        const compiler = await findCompiler();
        mkdirSync(at('build/native'), { recursive: true });
        const flags = ['-std=c++17', '-Wall', '-Wextra', '-Werror', `-I${folder}`];
        await run(compiler, [...flags, 'tests/cuda/driver/cuda_abi.cc', '-o', 'build/native/cuda_abi']);
      },
    ),
  );

/** Builds the kernels of examples/kernels and of the tests, with the headers of the apache-tvm-ffi wheel. */
export const buildKernels = () =>
  step('C and C++: kernels for TVM-FFI, against the headers of apache-tvm-ffi', () =>
    whenChanged(
      'kernels',
      [
        'examples/kernels',
        'tests/interop/tvm-ffi/kernels',
        'native/abi',
        'native/tvm_ffi/library.h',
        'requirements/tests.txt',
        'scripts/lib/counterparts.mjs',
      ],
      ['build/kernels/kernels.so', 'build/kernels/probe.so', 'build/kernels/abi_layout'],
      async () => {
        const compiler = await findCompiler();
        let folders;
        try {
          const script =
            'import tvm_ffi.libinfo as l; print(l.find_include_path()); print(l.find_dlpack_include_path())';
          const { output } = await run(venvPython, ['-c', script]);
          folders = output.trim().split('\n').slice(-2);
        } catch {
          return 'left out: apache-tvm-ffi is not installed in .venv';
        }
        mkdirSync(at('build/kernels/other_version'), { recursive: true });
        const flags = ['-O2', '-Wall', '-Wextra', '-Werror', '-fPIC', ...folders.map((folder) => `-isystem${folder}`)];
        const c = [...flags, '-xc', '-c', 'examples/kernels/add_one.c', '-o', 'build/kernels/add_one.o'];
        await run(compiler, c);
        // Not linked with the library, because its functions come from the copy that the process has loaded.
        const library = (source, out, objects = []) =>
          run(compiler, [
            ...flags,
            '-std=c++17',
            '-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1',
            ...sharedFlags,
            source,
            ...objects,
            '-o',
            out,
            '-pthread',
          ]);
        await Promise.all([
          library('examples/kernels/kernels.cc', 'build/kernels/kernels.so', ['build/kernels/add_one.o']),
          library('tests/interop/tvm-ffi/kernels/probe.cc', 'build/kernels/probe.so'),
          library('tests/interop/tvm-ffi/kernels/other_version.cc', 'build/kernels/other_version/libtvm_ffi.so'),
        ]);
        const abi = ['tests/interop/tvm-ffi/kernels/abi_layout.cc', '-o', 'build/kernels/abi_layout'];
        await run(compiler, [...flags, '-std=c++17', ...abi]);
      },
    ),
  );
