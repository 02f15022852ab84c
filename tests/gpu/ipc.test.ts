/** Memory of a real device in two processes: this process, which has Python, and a process that is started for each test. */

import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { fromDLPack, Tensor } from 'dlpack';
import { devices, memoryInfo, Stream, synchronize } from 'dlpack/cuda';
import { describeTensor, openTensor, type TensorDescription } from 'dlpack/shared';
import { equal, notEqual, ok, throws } from '../assert.js';
import { testWith } from '../harness.js';
import type { actions } from './children/ipc-peer.js';
import { pythonExecutable } from './environment.js';
import { main, py, sleep, values } from './peers.js';

type Actions = typeof actions;

// Some containers do not allow CUDA IPC; these tests do not check that.
const probe = fileURLToPath(new URL('../../../tests/gpu/ipc_probe.py', import.meta.url));
const { status, stdout, stderr } = spawnSync(pythonExecutable, [probe], { encoding: 'utf8' });
const missing = status === 0 ? false : `CUDA IPC between processes of this machine: ${stdout}${stderr}`;
const test = (name: string, body: () => Promise<void>): void => testWith(missing, name, body);

class Peer {
  readonly child: ChildProcess;
  readonly #ended: Promise<never>;

  private constructor(env: Record<string, string>) {
    this.child = fork(fileURLToPath(new URL('./children/ipc-peer.js', import.meta.url)), {
      env: { ...process.env, ...env },
    });
    this.#ended = once(this.child, 'exit').then(([code, signal]) => {
      throw new Error(`the other process ended with ${signal ?? code}`);
    });
    this.#ended.catch(() => {}); // for callers that do not wait
  }

  static async start(env: Record<string, string> = {}): Promise<Peer> {
    const peer = new Peer(env);
    await peer.#answer();
    return peer;
  }

  async #answer(): Promise<unknown> {
    const [{ value, error }] = (await Promise.race([once(this.child, 'message'), this.#ended])) as [
      { value?: unknown; error?: string },
    ];
    if (error !== undefined) throw new Error(`in the other process: ${error}`);
    return value;
  }

  /** Sends a command to the other process, and waits for the result. */
  async ask<N extends keyof Actions>(name: N, ...args: Parameters<Actions[N]>): Promise<ReturnType<Actions[N]>> {
    this.child.send({ name, args });
    return (await this.#answer()) as ReturnType<Actions[N]>;
  }

  async end(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.disconnect();
    equal(await exit, [0, null]);
  }
}

function withPeer(name: string, body: (peer: Peer) => Promise<void>): void {
  test(name, async () => {
    const peer = await Peer.start();
    try {
      await body(peer);
      await peer.end();
    } finally {
      peer.child.kill('SIGKILL');
    }
  });
}

const share = (tensor: Tensor): TensorDescription => describeTensor(tensor);
const emptyShareable = (length: number): Tensor<'float32'> =>
  Tensor.empty([length], 'float32', { device: 'cuda:0', shareable: true });

/** Memory that another process may have open must not be left to the collector. */
const kept: Tensor[] = [];

function shareable(numbers: number[]): Tensor {
  const tensor = emptyShareable(numbers.length);
  tensor.copyFrom(Tensor.from(numbers, { dtype: 'float32' }));
  kept.push(tensor);
  return tensor;
}

const sixes = [6, 6, 6, 6];

withPeer('one memory in two processes', async (peer) => {
  const x = shareable([1, 2, 3, 4]);
  const there = await peer.ask('open', share(x));
  equal(await peer.ask('read', there), [1, 2, 3, 4]);
  await peer.ask('write', there, 7);
  equal(x.to('cpu').toArray(), [7, 7, 7, 7]);
  x.fill(8);
  synchronize();
  equal(await peer.ask('read', there), [8, 8, 8, 8]);
  await peer.ask('close', there);
  equal(await peer.ask('imports'), 0);
  x.dispose();
});

withPeer('views keep their layout', async (peer) => {
  const x = shareable(Array.from({ length: 24 }, (_, i) => i)).reshape([2, 3, 4]);
  for (const view of [x.slice(1), x.transpose(), x.flip(), x.slice(null, [0, 3, 2], [1, 4])]) {
    const there = await peer.ask('open', share(view));
    const { device, dtype, shape, strides } = view;
    equal(await peer.ask('describe', there), { device, dtype, shape, strides });
    equal(await peer.ask('read', there), view.to('cpu').toArray());
    await peer.ask('close', there);
  }
});

withPeer('a tensor of PyTorch, from the middle of its allocation', async (peer) => {
  py.exec("theirs = torch.arange(100, dtype=torch.float32, device='cuda')[40:44]; torch.cuda.synchronize()");
  const tensor = fromDLPack(main.theirs);
  const shared = share(tensor);
  ok(shared.bitOffset >= 40 * 32 && shared.size >= 400, JSON.stringify(shared));
  const there = await peer.ask('open', shared);
  equal(await peer.ask('read', there), [40, 41, 42, 43]);
  await peer.ask('write', there, 5);
  equal(values(main.theirs), [5, 5, 5, 5]);
  py.exec('theirs.fill_(6); torch.cuda.synchronize()');
  equal(await peer.ask('read', there), sixes);
  await peer.ask('close', there);
  tensor.dispose();
});

withPeer('memory of the other process, into PyTorch here', async (peer) => {
  const { id, shared } = await peer.ask('make', [1, 2, 3, 4]);
  const tensor = openTensor(shared);
  const theirs = main.torch.from_dlpack(tensor);
  equal(values(theirs), [1, 2, 3, 4]);
  theirs.fill_(6);
  synchronize();
  equal(await peer.ask('read', id), sixes);
  equal(share(tensor).memory, shared.memory);
});

/** Memory that is written, after a second, on a stream of its own. */
function busy(): { x: Tensor; stream: Stream } {
  const x = shareable([0, 0, 0, 0]);
  const stream = new Stream();
  synchronize();
  sleep(stream.handle, 1);
  stream.use(() => x.fill(6));
  return { x, stream };
}

withPeer('the test itself: without an event, what is there is old', async (peer) => {
  await peer.ask('open', share(shareable([1])));
  const { x, stream } = busy();
  const there = await peer.ask('open', describeTensor(x, { sync: false }));
  notEqual(await peer.ask('read', there), sixes);
  equal(stream.isDone, false);
  synchronize();
  equal(await peer.ask('read', there), sixes);
});

for (const name of ['open', 'openBeside'] as const) {
  withPeer(`the stream of who opens it waits for ours: ${name}`, async (peer) => {
    await peer.ask('open', share(shareable([1])));
    const { x, stream } = busy();
    const shared = share(x);
    const there = await peer.ask(name, shared);
    equal(stream.isDone, false, 'opening waits for nothing');
    equal(await peer.ask('read', there), sixes);
  });
}

withPeer('opened twice, it is mapped once', async (peer) => {
  const x = shareable([1, 2, 3, 4]);
  const shared = share(x);
  const [first, second] = [await peer.ask('open', shared), await peer.ask('open', shared)];
  equal(await peer.ask('address', second), await peer.ask('address', first));
  await peer.ask('close', first);
  equal(await peer.ask('read', second), [1, 2, 3, 4]);
  await peer.ask('close', second);
  const third = await peer.ask('open', shared);
  equal(await peer.ask('read', third), [1, 2, 3, 4]);
});

withPeer('when both are done with it, the device has its memory back', async (peer) => {
  await peer.ask('open', share(shareable([1])));
  synchronize();
  const before = memoryInfo().free;
  const x = emptyShareable(2 ** 28);
  const there = await peer.ask('open', share(x));
  ok(memoryInfo().free <= before - 2 ** 30);
  await peer.ask('close', there);
  x.dispose();
  ok(memoryInfo().free > before - 2 ** 26, `${before - memoryInfo().free} bytes are missing`);
});

test('a process that is killed with the memory open does not affect the others', async () => {
  const x = shareable([1, 2, 3, 4]);
  const killed = await Peer.start();
  await killed.ask('write', await killed.ask('open', share(x)), 3);
  const exit = once(killed.child, 'exit');
  killed.child.kill('SIGKILL');
  await exit;
  equal(x.to('cpu').toArray(), [3, 3, 3, 3]);
  const peer = await Peer.start();
  equal(await peer.ask('read', await peer.ask('open', share(x))), [3, 3, 3, 3]);
  await peer.end();
});

test('a process with other device numbers finds the same device', async () => {
  const x = shareable([1, 2, 3, 4]);
  const peer = await Peer.start({ CUDA_VISIBLE_DEVICES: `GPU-${devices()[0]?.uuid}` });
  equal(await peer.ask('read', await peer.ask('open', share(x))), [1, 2, 3, 4]);
  await peer.end();
});

withPeer('what cannot be shared, or not opened, says so', async (peer) => {
  const pooled = Tensor.zeros([4], 'float32', { device: 'cuda:0' });
  throws('BufferError', 'shareable: true', () => share(pooled));
  const x = shareable([1]);
  throws('BufferError', 'to this process', () => openTensor(share(x)));
  const unknown = { ...share(x), memory: 'ab'.repeat(64) };
  const refused = await peer.ask('open', unknown).catch(String);
  ok(/CudaError.*CUDA_ERROR_/.test(String(refused)), String(refused));
  const wrong = await peer.ask('open', { ...share(x), event: 'ab'.repeat(64) }).catch(String);
  ok(/CudaError.*CUDA_ERROR_/.test(String(wrong)), String(wrong));
  equal(await peer.ask('imports'), 0);
  equal(await peer.ask('read', await peer.ask('open', share(x))), [1]);
});
