/** Host memory in another process, without a copy, and nothing of it left behind. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { statSync, truncateSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { describeTensor, openTensor, type TensorDescription } from 'dlpack/shared';
import { equal, notEqual, ok, throws } from '../assert.js';
import { runChild, runtimeArgs } from '../child.js';
import { collectUntil, runtime, testWith } from '../harness.js';
import { memoryFiles } from './files.js';

const missing = process.platform === 'linux' ? false : 'sealed memory files (Linux)';
const other = (description: TensorDescription): string =>
  runChild(import.meta.url, './children/open.js', { args: [JSON.stringify(description)] }).output.trim();
const share = (tensor: Tensor, copy = true): TensorDescription => describeTensor(tensor, { copy });

testWith(missing, 'another process reads and writes the same memory', () => {
  const x = Tensor.empty([2, 3], 'float32', { shareable: true });
  x.copyFrom(Tensor.from([[1, 2, 3], [4, 5, 6]])); // biome-ignore format: a table
  const description = share(x, false);
  equal(description.kind, 'cpu');
  equal(JSON.parse(other(description)), ['float32', [2, 3], [1, 2, 3, 4, 5, 6], 'wrote']);
  equal(x.get(1, 2), 9, 'written there');
});

testWith(missing, 'views, packed types, scalars and empty tensors', () => {
  const x = Tensor.empty([2, 3], 'int64', { shareable: true });
  x.copyFrom(Tensor.from([[1n, 2n, 3n], [4n, 5n, 6n]])); // biome-ignore format: a table
  equal(JSON.parse(other(share(x.transpose().slice([1, 3]), false))), ['int64', [2, 2], [2, 5, 3, 6], 'wrote']);
  equal(x.toArray(), [[1n, 9n, 9n], [4n, 9n, 9n]]); // biome-ignore format: a table
  equal(JSON.parse(other(share(x.flip().slice(0, 1)))), ['int64', [], [9], 'wrote']);
  equal(JSON.parse(other(share(Tensor.zeros([0, 2], 'int8')))), ['int8', [0, 2], [], 'wrote']);
  equal(JSON.parse(other(share(Tensor.from([1, 2, 3], { dtype: 'uint4' })))), ['uint4', [3], [1, 2, 3], 'wrote']);
});

testWith(missing, 'other memory is copied once, or refused', () => {
  const x = Tensor.from([1, 2, 3]);
  equal(JSON.parse(other(share(x))), ['float64', [3], [1, 2, 3], 'wrote']);
  equal(x.toArray(), [1, 2, 3], 'the copy was written');
  throws('BufferError', 'shareable: true', () => share(x, false));
  throws('TypeError', 'a boolean', () => describeTensor(x, { copy: 1 as never }));
});

testWith(missing, 'a read-only tensor cannot be written in the other process', () => {
  const x = Tensor.wrap(new Int8Array([1, 2]), { readonly: true });
  equal(JSON.parse(other(share(x))), ['int8', [2], [1, 2], 'ReadOnlyError']);
});

testWith(missing, 'opened in the same process: two addresses, one memory', async () => {
  const before = liveCounts();
  const x = Tensor.empty([4], 'int32', { shareable: true });
  const y = openTensor(share(x, false));
  notEqual(addressOf(y), addressOf(x));
  x.fill(3);
  equal(y.get(3), 3);
  x.dispose();
  equal(y.get(0), 3, 'the mapping keeps the memory');
  y.fill(4);
  equal(y.get(0), 4);
  y.dispose();
  ok(await collectUntil(() => liveCounts().imports <= before.imports));
});

testWith(missing, 'opened in the same process: copyFrom reads first, although the addresses differ', () => {
  const count = 10_000;
  const x = Tensor.empty([count], 'float32', { shareable: true });
  const opened = [
    openTensor(share(x, false), { dtype: 'float32' }),
    openTensor(share(x, false), { dtype: 'float32' }),
  ] as const;
  for (const [target, source] of [[x, opened[0]], [opened[0], x], opened]) {
    x.data.forEach((_, i, all) => {
      all[i] = i;
    });
    target.copyFrom(source.flip());
    equal([x.get(0), x.get(1), x.get(count - 1)], [count - 1, count - 2, 0]);
    target.slice([1, null]).copyFrom(source.slice([0, -1]));
    equal([x.get(0), x.get(1), x.get(count - 1)], [count - 1, count - 1, 1]);
  }
  for (const tensor of [x, ...opened]) tensor.dispose();
});

testWith(missing, 'signals do not keep named memory from being made', async () => {
  const script = fileURLToPath(new URL('./children/signals.js', import.meta.url));
  const child = spawn(process.execPath, [...runtimeArgs[runtime], script], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  let sending: ReturnType<typeof setInterval> | undefined;
  child.stdout.on('data', (chunk) => {
    output += String(chunk);
    if (output.includes('ready')) sending ??= setInterval(() => child.kill('SIGUSR2'), 1);
  });
  await once(child, 'close');
  clearInterval(sending);
  equal(output.trim().split('\n'), ['ready', 'made']);
});

testWith(missing, 'files and counts return to their start values, even after many opens', async () => {
  ok(await collectUntil(() => liveCounts().storages === 0 && liveCounts().imports === 0), 'what earlier tests left');
  const before = { files: memoryFiles(), ...liveCounts() };
  const x = Tensor.empty([1 << 20], 'uint8', { shareable: true });
  const description = share(x, false);
  for (let i = 0; i < 10_000; i++) openTensor(description).dispose();
  equal([memoryFiles(), liveCounts().imports], [before.files + 1, before.imports]);
  const copied = Tensor.from([1]);
  share(copied);
  share(copied);
  equal(memoryFiles(), before.files + 3);
  copied.dispose();
  x.dispose();
  ok(await collectUntil(() => memoryFiles() === before.files && liveCounts().storages === before.storages));
  const { message } = throws('BufferError', '', () => openTensor(description));
  // The runtime may have opened another file, which has the number now.
  ok(/has ended or released it|belong to something else/.test(message), message);
});

testWith(missing, 'the size is sealed and the mode is private', () => {
  const x = Tensor.empty([4096], 'uint8', { shareable: true });
  const [file] = (share(x, false).memory as string).split('.');
  const path = `/proc/self/fd/${Number.parseInt(file as string, 16)}`;
  equal(statSync(path).mode & 0o777, 0o600);
  let refused = '';
  try {
    truncateSync(path, 10);
  } catch (error) {
    refused = String((error as { code?: string }).code ?? error);
  }
  notEqual(refused, '');
  x.fill(1);
  equal(x.get(4095), 1);
});

testWith(missing, 'when the owner is killed, its memory stays only in processes that have it open', async () => {
  const script = fileURLToPath(new URL('./children/owner.js', import.meta.url));
  const owner = spawn(process.execPath, [...runtimeArgs[runtime], script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: owner.stdout }), 'line')) as [string];
  const description = JSON.parse(line) as TensorDescription;
  const x = openTensor(description);
  equal(x.get(1023), 7);
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  equal(x.get(1023), 7);
  throws('BufferError', 'has ended or released it', () => openTensor(description));
  x.dispose();
});

testWith(missing, 'false descriptions are refused', () => {
  const x = Tensor.empty([16], 'uint8', { shareable: true });
  const good = share(x, false);
  const [file, number] = (good.memory as string).split('.') as [string, string];
  const wrong =
    (change: object): (() => unknown) =>
    () =>
      openTensor({ ...good, ...change } as TensorDescription);
  throws('BufferError', 'belong to something else', wrong({ memory: `${file}.1` }));
  throws('BufferError', 'belong to something else', wrong({ size: 32 }));
  throws('BufferError', 'Could not open', wrong({ memory: `0.${number}` }));
  throws('BufferError', 'Could not open', wrong({ memory: `7fffffff.${number}` }));
  throws('BufferError', 'has ended', wrong({ process: '00000000fffffff0' }));
  throws('ValueError', 'handle of shared host memory', wrong({ memory: '../../etc' }));
  throws('TypeError', '16 hexadecimal digits', wrong({ process: '1/../../etc' }));
  throws('LayoutError', 'inside the shared allocation', wrong({ shape: [17] }));
  throws('LayoutError', 'inside the shared allocation', wrong({ bitOffset: 8 }));
  x.fill(1);
  equal(openTensor(good).get(15), 1);
});

testWith(missing, 'more memory than the machine has gives an error', () => {
  throws('OutOfMemoryError', 'Out of memory', () => Tensor.empty([2 ** 44], 'uint8', { shareable: true }));
});

testWith(missing, 'too many open files are named as the reason, and not the memory', () => {
  const script = fileURLToPath(new URL('./children/many.js', import.meta.url));
  const command = `ulimit -n 200; exec "${process.execPath}" ${runtimeArgs[runtime].join(' ')} "${script}"`;
  const { stdout, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
  ok(
    stdout.includes('BufferError: Could not make 1 bytes for other processes: too many files are open'),
    stderr + stdout,
  );
  ok(stdout.includes('made again'), stderr);
});
