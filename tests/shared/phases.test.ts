/** Processes that are killed in each phase of sharing, other users, and numbers that were used again. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, unlinkSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { stats } from 'dlpack/native';
import { openTensor, type SharedTensor, sharedPath, shareTensor } from 'dlpack/shared';
import { equal, ok, throws } from '../assert.js';
import { runtimeArgs } from '../child.js';
import { collectUntil, runtime, testWith } from '../harness.js';
import { memoryFiles } from './files.js';
import { linuxMissing, otherUserMissing, runPython, startPython } from './peer.js';

const share = (tensor: Tensor): SharedTensor => shareTensor(tensor, { with: 'process', copy: false });
const newName = (): string => `dlpack-test-${process.pid}-${Math.random().toString(36).slice(2)}`;

/** A process with a script of `children/`, and the lines that it prints. */
function start(script: string, args: string[], extra: number[] = []): [ChildProcess, () => Promise<string>] {
  const path = fileURLToPath(new URL(`./children/${script}.js`, import.meta.url));
  const child = spawn(process.execPath, [...runtimeArgs[runtime], path, ...args], {
    stdio: ['pipe', 'pipe', 'inherit', ...extra],
  });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  return [child, async () => String((await lines.next()).value)];
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

testWith(
  linuxMissing,
  'an owner that is killed before the memory is opened: an error, and nothing remains',
  async () => {
    const [owner, line] = start('owner', ['']);
    const description = JSON.parse(await line()) as SharedTensor;
    await kill(owner);
    throws('BufferError', 'has ended or released it', () => openTensor(description));
  },
);

testWith(
  linuxMissing,
  'when an owner of named memory is killed, the name remains, opens, and can be removed',
  async () => {
    const name = newName();
    const [owner, line] = start('owner', [name]);
    const description = JSON.parse(await line()) as SharedTensor;
    await kill(owner);
    ok(existsSync(`/dev/shm/${name}`));
    using x = openTensor(description);
    equal(x.get(1023), 7);
    throws('ValueError', 'a name that no memory has', () => Tensor.empty([1], 'uint8', { shareable: name }));
    unlinkSync(`/dev/shm/${name}`);
    throws('BufferError', 'has ended or released it', () => openTensor(description));
    equal(x.get(0), 7);
  },
);

testWith(
  linuxMissing,
  'openers that are killed with the memory open, or while they open it, do not affect the owner',
  async () => {
    ok(await collectUntil(() => stats().storages === 0 && stats().imports === 0), 'what earlier tests left');
    const before = memoryFiles();
    const x = Tensor.zeros([1 << 20], 'uint8', { shareable: true });
    for (const times of ['1', 'always']) {
      const [opener, line] = start('opener', [JSON.stringify(share(x)), times]);
      equal(await line(), 'open');
      await kill(opener);
    }
    x.fill(3);
    equal([x.get(0), memoryFiles()], [3, before + 1]);
    x.dispose();
    ok(await collectUntil(() => stats().storages === 0 && memoryFiles() === before));
  },
);

testWith(linuxMissing, 'an owner that ends by itself removes its names', async () => {
  const name = newName();
  const [owner, line] = start('owner', [name]);
  await line();
  const ended = once(owner, 'exit');
  owner.stdin?.end('end\n');
  await ended;
  ok(!existsSync(`/dev/shm/${name}`));
});

testWith(
  linuxMissing,
  'a process with an inherited descriptor opens the memory without /proc of its owner',
  async () => {
    using x = Tensor.zeros([4], 'uint8', { shareable: true });
    const description = share(x);
    const file = openSync(sharedPath(description), 'r+');
    // A process that does not exist, as in another container.
    const elsewhere = { ...description, process: '00000000fffffff0' };
    const [child, line] = start('opener', [JSON.stringify(elsewhere), '1', '3'], [file]);
    equal(await line(), 'open');
    await kill(child);
    equal(x.get(0), 9);
    using y = openTensor(elsewhere, { file });
    equal(y.get(0), 9);
    throws('BufferError', 'belong to something else', () => openTensor({ ...elsewhere, size: 8 }, { file }));
    throws('ValueError', 'a file descriptor', () => openTensor(description, { file: -1 }));
    throws('ValueError', 'no value except', () => openTensor({ name: 'x', dtype: 'int8', shape: [1] }, { file }));
    closeSync(file);
  },
);

testWith(linuxMissing, 'process and file numbers that now belong to something else', () => {
  using x = Tensor.zeros([16], 'uint8', { shareable: true });
  using y = Tensor.zeros([16], 'uint8', { shareable: true });
  const [first, second] = [share(x), share(y)];
  const [file] = (second.memory as string).split('.');
  const [, number] = (first.memory as string).split('.');
  // The descriptor of y replaces that of x: the same size, the same seals, another file.
  throws('BufferError', 'belong to something else', () => openTensor({ ...first, memory: `${file}.${number}` }));
  // A file with the same number could exist without seals: an ordinary one.
  const ordinary = openSync(fileURLToPath(import.meta.url), 'r');
  const memory = `${ordinary.toString(16)}.${number}`;
  throws('BufferError', 'belong to something else', () => openTensor({ ...first, memory, readonly: true }));
  closeSync(ordinary);
});

testWith(linuxMissing, 'a process number that a process with memory of its own has now', async () => {
  using x = Tensor.zeros([1024], 'float32', { shareable: true });
  const [owner, line] = start('owner', ['']);
  const theirs = JSON.parse(await line()) as SharedTensor;
  const ours = share(x);
  const [file] = (theirs.memory as string).split('.');
  const [, number] = (ours.memory as string).split('.');
  // Their process and descriptor: the same user, size and seals, but not the memory that the description is of.
  const memory = `${file}.${number}`;
  throws('BufferError', 'belong to something else', () => openTensor({ ...ours, process: theirs.process, memory }));
  equal(openTensor(theirs).get(0), 7);
  await kill(owner);
});

testWith(otherUserMissing, 'another user cannot open our memory, and we cannot open theirs', async () => {
  const nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];
  const name = newName();
  using plain = Tensor.zeros([16], 'uint8', { shareable: true });
  using named = Tensor.zeros([16], 'uint8', { shareable: name });
  for (const tensor of [plain, named]) {
    equal(runPython('open_path', [sharedPath(share(tensor)), 'read'], nobody), 'PermissionError');
  }
  const theirs = newName();
  const peer = startPython('hold_file', [theirs], nobody);
  const { process: owner, file, user } = await peer.told<{ process: number; file: number; user: number }>();
  equal(user, 65534);
  const rest = { dtype: 'uint8', shape: [16] } as const;
  throws('BufferError', 'another user', () => openTensor({ process: owner, file, ...rest }));
  throws('BufferError', 'another user', () => openTensor({ name: theirs, ...rest }));
  peer.goOn();
  equal(await peer.ended(), 0);
});

testWith(linuxMissing, 'memory of other programs that does not exist, is too small, or is not memory', () => {
  const name = newName();
  using x = Tensor.zeros([16], 'uint8', { shareable: name });
  equal(openTensor({ name: `/${name}`, dtype: 'uint8', shape: [2], offset: 14 }).toArray(), [0, 0]);
  throws('LayoutError', 'inside the shared allocation of 16 bytes', () =>
    openTensor({ name, dtype: 'uint8', shape: [17] }),
  );
  throws('LayoutError', 'multiple of', () => openTensor({ name, dtype: 'float32', shape: [1], offset: 2 }));
  throws('BufferError', 'Could not open', () => openTensor({ name: newName(), dtype: 'uint8', shape: [1] }));
  throws('BufferError', 'Could not open', () =>
    openTensor({ process: process.pid, file: 0, dtype: 'uint8', shape: [1] }),
  );
  for (const bad of ['', '/', '..', 'a/b', '../etc/passwd', 'a\0b', 'x'.repeat(300)]) {
    throws('ValueError', 'a name without slashes', () => openTensor({ name: bad, dtype: 'uint8', shape: [1] }));
  }
  throws('TypeError', 'an integer', () => openTensor({ file: 1, dtype: 'uint8', shape: [1] }));
  throws('TypeError', "did you mean 'offset'", () => openTensor({ name, offsets: 1 } as never));
  throws('ValueError', "a name on 'cpu'", () => Tensor.empty([1], 'uint8', { shareable: name, device: 'cuda:0' }));
  for (const bad of [1, 0, null]) {
    throws('TypeError', 'a boolean or a name', () => Tensor.empty([1], 'uint8', { shareable: bad as never }));
  }
  throws('ValueError', 'a name without slashes', () => Tensor.zeros([1], 'uint8', { shareable: '' }));
  equal(stats().imports >= 0, true);
  x.fill(1);
});

testWith(linuxMissing, 'named memory beyond the limit of its folder gives an error', () => {
  throws('BufferError', 'Out of memory', () => Tensor.empty([2 ** 44], 'uint8', { shareable: newName() }));
});
