// Writes .gpu: everything that the GPU suite needs on a machine with a driver but without npm.
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { softwareAdapter } from './browser.mjs';
import { reference, runtimePath } from './runtimes.mjs';
import { at, Missing, root, run, step, whenChanged } from './steps.mjs';

const folder = '.gpu';
const limit = 64 * 2 ** 20;

const filesBelow = (path) =>
  existsSync(at(path))
    ? readdirSync(at(path), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    : [];

/** Compiled files and everything that they refer to by a relative path: modules, children, addons, scripts. */
function withReferences(files) {
  const found = new Set();
  const queue = [...files];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    if (!file.endsWith('.js')) continue;
    for (const [, path] of readFileSync(at(file), 'utf8').matchAll(/['"`](\.\.?\/[^'"`\n$]+)['"`]/g)) {
      const target = resolve(dirname(at(file)), path);
      if (existsSync(target) && statSync(target).isFile()) queue.push(relative(root, target));
    }
  }
  return found;
}

function copyInto(file) {
  mkdirSync(dirname(at(folder, file)), { recursive: true });
  copyFileSync(at(file), at(folder, file));
}

/** The Node of all figures if the runtimes are installed, otherwise the Node that runs this script. */
function nodeBinary() {
  const path = runtimePath(reference);
  return existsSync(path) ? path : process.execPath;
}

const runScript = `#!/bin/sh
# sh run.sh [part of a test's path]: unpacks Node, runs the tests of tests/gpu, prints a table. Not zero when one fails.
set -e
cd "$(dirname "$0")"
if [ ! -x node ]; then
  if command -v xz > /dev/null; then
    xz -dc node.xz > node.part
  else
    python3 -c "import lzma, shutil; shutil.copyfileobj(lzma.open('node.xz'), open('node.part', 'wb'))"
  fi
  chmod +x node.part
  mv node.part node
fi
exec ./node gpu-suite.mjs "$@"
`;

const packNode = () =>
  step('Node, compressed with xz', () =>
    whenChanged('gpu-node', [relative(root, nodeBinary())], ['.cache/node.xz'], async () => {
      mkdirSync(at('.cache'), { recursive: true });
      // Without symbols, for the room that the pack has.
      await run('strip', ['-o', at('.cache/node'), nodeBinary()]);
      await run('sh', ['-c', `xz -9 -T0 -c "$0" > "$1"`, at('.cache/node'), at('.cache/node.xz')]);
    }),
  );

/** libtvm_ffi, its headers and the kernel that the suite compiles. */
async function copyTvmFfi() {
  const script = 'import tvm_ffi, pathlib; print(pathlib.Path(tvm_ffi.__file__).parent)';
  const { output } = await run(at('.venv/bin/python'), ['-c', script]);
  const from = output.trim().split('\n').at(-1);
  cpSync(join(from, 'include'), at(folder, 'tvm_ffi/include'), { recursive: true });
  mkdirSync(at(folder, 'tvm_ffi/lib'), { recursive: true });
  copyFileSync(join(from, 'lib/libtvm_ffi.so'), at(folder, 'tvm_ffi/lib/libtvm_ffi.so'));
  copyInto('examples/kernels/add_one_cuda.cu');
}

/** Dawn for Node, and Chromium's Vulkan loader. The driver of the GPU is on the other machine. */
function copyDawn() {
  const dawn = '.libraries/node_modules/webgpu';
  for (const file of ['index.js', 'package.json', `dist/${process.platform}-${process.arch}/dawn.node`]) {
    copyInto(join(dawn, file));
  }
  copyInto('.libraries/package.json');
  const loader = join(softwareAdapter() ?? '', 'libvulkan.so.1');
  if (!existsSync(loader))
    throw new Missing('Chromium with its Vulkan loader. Install it (Debian: apt install chromium).');
  mkdirSync(at(folder, 'vulkan'));
  copyFileSync(loader, at(folder, 'vulkan/libvulkan.so.1'));
}

/** Packs, after everything is built. */
export async function packGpuSuite() {
  try {
    await run('xz', ['--version']);
  } catch {
    throw new Missing('xz, which compresses Node. Install it (Debian: apt install xz-utils).');
  }
  await packNode();
  await step('tests, package and addons', async () => {
    rmSync(at(folder), { recursive: true, force: true });
    const compiled = ['build/tests/gpu', 'build/tests/webgpu', 'build/bench']
      .flatMap(filesBelow)
      .filter(
        (file) =>
          file.endsWith('.js') &&
          (file.startsWith('build/tests') || /\/(cuda|dawn|files|frames|values|strided)[^/]*\.js$/.test(file)),
      );
    const scripts = [...filesBelow('tests/gpu'), 'bench/drivers/values.py', 'bench/drivers/files.py'].filter(
      (file) => !file.endsWith('.ts'),
    );
    const built = [...filesBelow('dist'), ...filesBelow('prebuilds')].filter((file) => /\.(c?js|node)$/.test(file));
    for (const file of [...withReferences(compiled), ...scripts, ...built, 'package.json']) copyInto(file);
    await copyTvmFfi();
    copyDawn();
    copyFileSync(at('scripts/lib/gpu-suite.mjs'), at(folder, 'gpu-suite.mjs'));
    copyFileSync(at('.cache/node.xz'), at(folder, 'node.xz'));
    writeFileSync(at(folder, 'run.sh'), runScript);
    chmodSync(at(folder, 'run.sh'), 0o755);
    const bytes = filesBelow(folder).reduce((sum, file) => sum + statSync(at(file)).size, 0);
    const size = `${(bytes / 2 ** 20).toFixed(1)} MiB in ${folder}`;
    if (bytes > limit) throw new Error(`${size}, over the limit of ${limit / 2 ** 20}`);
    return size;
  });
  console.log(`Copy ${folder} to the machine with the GPU and run there: sh ${folder}/run.sh`);
}
