/** npx dlpack demo: one address in the rows of this process, and a command for what is missing. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { equal, ok } from '../assert.js';
import { runtime, test, testWith } from '../harness.js';
import { dlpack, root } from './dlpack.js';

/** The cells of the row that begins with a name. */
function cellsOf(output: string, name: string): string[] {
  const line = output.split('\n').find((it) => it.startsWith(`  ${name}  `)) ?? '';
  return line.trim().split(/ {2,}/);
}
const addressOf = (output: string, name: string): string => cellsOf(output, name)[2] ?? '';

const missing = existsSync(join(root, '.venv/pyvenv.cfg')) ? false : '.venv';

testWith(missing, 'dlpack demo: JavaScript, NumPy, PyTorch and ONNX Runtime name one address', () => {
  const { status, stdout, stderr } = dlpack(['demo'], {
    cwd: join(root, '.libraries'),
    env: { VIRTUAL_ENV: join(root, '.venv'), DLPACK_CUDA_DRIVER: '/no/driver.so', DLPACK_QUIET: '1' },
  });
  equal(status, 0, `${stdout}${stderr}`);
  const home = addressOf(stdout, 'JavaScript');
  ok(/^0x[0-9a-f]{6,}$/.test(home), stdout);
  for (const name of ['NumPy', 'PyTorch', 'ONNX Runtime']) equal(addressOf(stdout, name), home, stdout);
  ok(stdout.includes('4 rows have one address.'), stdout);
  ok(/^0x/.test(addressOf(stdout, 'a second process')) && stdout.includes('under its own address'), stdout);
  ok(/^0x/.test(addressOf(stdout, 'a file, mapped')), stdout);
  ok(/Not here yet\n\n {2}a GPU .*\n +nvidia-smi\n/.test(stdout), stdout);
  ok(stdout.includes('docs/tutorials') && existsSync(join(root, 'docs/tutorials')), stdout);
});

test('dlpack demo: without Python and ONNX Runtime the rest runs, and commands name what is missing', () => {
  const empty = mkdtempSync(join(tmpdir(), 'dlpack-demo-test-'));
  try {
    // An empty PATH has no Python. Bun and Deno are started by their path.
    const env = { PATH: empty, VIRTUAL_ENV: '', DLPACK_CUDA_DRIVER: join(empty, 'none.so'), DLPACK_ONNXRUNTIME: '' };
    const { status, stdout, stderr } = dlpack(['demo'], { cwd: empty, env });
    equal(status, 0, `${stdout}${stderr}`);
    const after = stdout.slice(stdout.indexOf('Not here yet'));
    for (const name of ['NumPy', 'PyTorch', 'a GPU']) ok(after.includes(`  ${name} `), stdout);
    ok(/python|apt install|uv /.test(after), stdout);
    if (runtime === 'node') ok(after.includes('npm install onnxruntime-node'), stdout);
    ok(stdout.includes('Install NumPy or ONNX Runtime') || stdout.includes('rows have one address'), stdout);
    ok(/^0x/.test(addressOf(stdout, 'a second process')), stdout);
  } finally {
    rmSync(empty, { recursive: true });
  }
});

testWith(
  existsSync(join(root, 'build/native/fake_cuda.node')) ? false : 'build/native/fake_cuda.node',
  'dlpack demo: a GPU has a row',
  () => {
    const env = { PATH: '', VIRTUAL_ENV: '', DLPACK_CUDA_DRIVER: join(root, 'build/native/fake_cuda.node') };
    const { stdout } = dlpack(['demo'], { cwd: tmpdir(), env });
    const [, call, address, note] = cellsOf(stdout, 'a GPU');
    equal([call, note], ["x.to('cuda:0')", 'one copy, into the memory of the GPU'], stdout);
    ok(address?.startsWith('0x'), stdout);
  },
);

test('dlpack demo: wrong usage prints the help, and a second process refuses a wrong description', () => {
  const { status, stderr } = dlpack(['demo', 'extra']);
  equal(status, 2);
  ok(stderr.includes('received "extra"') && stderr.includes('Usage: dlpack demo'), stderr);
  equal(dlpack(['demo', '--child', '{}']).status, 1);
});
