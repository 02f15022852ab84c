/** The headings of docs/troubleshooting.md are messages that users really see. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromDLPack, Tensor } from 'dlpack';
import { fromSharp } from 'dlpack/adapters';
import { openSafetensors, writeNpy } from 'dlpack/files';
import { loadSession } from 'dlpack/onnxruntime';
import { kwargs, python } from 'dlpack/python';
import { equal } from '../assert.js';
import { test } from '../harness.js';
import { makeModel } from '../interop/libraries/model.js';
import { root } from './project.js';

process.env.DLPACK_CUDA_DRIVER = '/no/such/driver.so';
process.env.VIRTUAL_ENV = join(root, '.venv');
process.chdir(join(root, '.libraries')); // where ONNX Runtime is

const folder = mkdtempSync(join(tmpdir(), 'dlpack-troubleshooting-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Mistakes, each with one of the messages. */
const mistakes: (() => unknown)[] = [
  () =>
    Tensor.from([
      [1, 2],
      [3, 4],
    ]).transpose().data,
  () => {
    const x = Tensor.from([1]);
    x.dispose();
    return x.get(0);
  },
  () => python().import('numpy').sum(new Float32Array(3)),
  () =>
    fromDLPack(
      python()
        .import('torch')
        .ones(2, kwargs({ requires_grad: true })),
    ),
  () => python().import('no_such_module'),
  () => python() && python({ executable: '/no/python3' }),
  () => JSON.stringify(python().import('numpy').arange(3)),
  () =>
    python()
      .import('numpy')
      .from_dlpack(Tensor.wrap(new Float32Array(3)), kwargs({ copy: false })),
  () => fromDLPack(python().eval("__import__('numpy').broadcast_to(1, (2, 3))")).set(0, 0, 1),
  () => Tensor.from([1]).to('cuda:0'),
  () => Tensor.from([1]).to('gpu' as 'cpu'),
  () => Tensor.from([1]).astype('torch.float32' as 'float32'),
  async () => {
    const path = join(folder, 'x.npy');
    await writeNpy(path, Tensor.from([1]));
    return openSafetensors(path);
  },
  async () => (await loadSession(makeModel('Add', 2, 'float32'))).run({ x: Tensor.from([[1]]) }),
  () => fromSharp(Buffer.from([1]) as never),
  () => Tensor.from([Tensor.from([1])] as never),
  () => Tensor.zeros([1], 'uint8').set(0, 300),
  () => Tensor.from([[1, 2], [3]]),
  () => Tensor.from([1, 2, 3]).reshape([2, 2]),
];

async function messageOf(mistake: () => unknown): Promise<string> {
  try {
    await mistake();
    return 'no error';
  } catch (error) {
    return (error as Error).message;
  }
}

test('docs/troubleshooting.md: each heading is the beginning of a message', async () => {
  const page = readFileSync(join(root, 'docs/troubleshooting.md'), 'utf8');
  const [, messages = ''] = page.split(/^## .*$/m);
  const headings = [...messages.matchAll(/^### (.*)$/gm)].map(([, heading = '']) => heading);
  equal(headings.length > 15, true);
  const said = await Promise.all(mistakes.map(messageOf));
  const pattern = (heading: string) =>
    new RegExp(
      `^${heading
        .split('…')
        .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
        .join('[^]*')}`,
    );
  equal(
    headings.filter((heading) => !said.some((message) => pattern(heading).test(message))),
    [],
  );
});
