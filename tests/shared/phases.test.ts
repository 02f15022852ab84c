/** Processes that are killed in each phase of sharing, other users, and numbers that were used again. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import {
  describeTensor,
  openForeign,
  openTensor,
  sharedPath,
  shareTensor,
  type TensorDescription,
} from 'dlpack/shared';
import { equal, ok, throws } from '../assert.js';
import { runtimeArgs } from '../child.js';
import { collectUntil, runtime, testWith } from '../harness.js';
import { memoryFiles } from './files.js';
import { linuxMissing, nobody, otherUserMissing, runPython, startPython } from './peer.js';

const share = (tensor: Tensor): TensorDescription => describeTensor(tensor, { copy: false });
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
    const description = JSON.parse(await line()) as TensorDescription;
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
    const description = JSON.parse(await line()) as TensorDescription;
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
    ok(await collectUntil(() => liveCounts().storages === 0 && liveCounts().imports === 0), 'what earlier tests left');
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
    ok(await collectUntil(() => liveCounts().storages === 0 && memoryFiles() === before));
  },
);

for (const how of ['exit', 'exit without listeners', 'reallyExit', 'return']) {
  testWith(linuxMissing, `an owner that ends by itself removes its names: ${how}`, async () => {
    const name = newName();
    const [owner, line] = start('owner', [name]);
    await line();
    const ended = once(owner, 'exit');
    owner.stdin?.end(`${how}\n`);
    await ended;
    ok(!existsSync(`/dev/shm/${name}`));
  });
}

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
    throws('ValueError', 'no value except', () => openTensor(shareTensor(x), { file }));
    closeSync(file);
    const read = openSync(sharedPath(description), 'r');
    throws('BufferError', 'may only be read', () => openTensor(elsewhere, { file: read }));
    openTensor({ ...elsewhere, readonly: true }, { file: read }).dispose();
    closeSync(read);
  },
);

testWith(linuxMissing, 'a description opens no ordinary file, whatever it says about the memory', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-forged-'));
  const path = join(folder, 'file');
  writeFileSync(path, 'precious data...');
  const files = ['r', 'r+'].map((mode) => openSync(path, mode));
  using x = Tensor.zeros([16], 'uint8', { shareable: newName() });
  const good = share(x);
  try {
    for (const file of files) {
      const { ino, size } = fstatSync(file);
      const place = `${file.toString(16)}.${ino.toString(16)}`;
      for (const memory of [place, `${place}.${newName()}`]) {
        for (const readonly of [false, true]) {
          throws('BufferError', 'Could not open', () => openTensor({ ...good, memory, size, readonly }));
        }
      }
    }
    equal(readFileSync(path, 'utf8'), 'precious data...');
  } finally {
    for (const file of files) closeSync(file);
    rmSync(folder, { recursive: true });
  }
});

testWith(linuxMissing, 'a message cannot choose memory of another program', () => {
  const name = newName();
  using x = Tensor.zeros([16], 'uint8', { shareable: name });
  const rest = { dtype: 'uint8', shape: [16] } as const;
  const file = openSync(`/dev/shm/${name}`, 'r');
  for (const message of [
    { name, ...rest },
    { process: process.pid, file, ...rest },
  ]) {
    throws('TypeError', 'openForeign()', () => openTensor(JSON.parse(JSON.stringify(message))));
  }
  // Both forms at once are a description, whose identity is checked.
  throws('TypeError', 'description.process', () => openTensor({ ...share(x), ...rest, process: process.pid } as never));
  // The other function takes the caller's word, but gives no more access than the descriptor has.
  throws('BufferError', 'may only be read', () => openForeign({ process: process.pid, file, ...rest }));
  using y = openForeign({ process: process.pid, file, ...rest, readonly: true });
  x.set(0, 7);
  equal(y.get(0), 7);
  throws('TypeError', 'an object such as', () => openForeign('x' as never));
  closeSync(file);
});

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
  const theirs = JSON.parse(await line()) as TensorDescription;
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
  throws('BufferError', 'another user', () => openForeign({ process: owner, file, ...rest }));
  throws('BufferError', 'another user', () => openForeign({ name: theirs, ...rest }));
  peer.goOn();
  equal(await peer.ended(), 0);
});

testWith(linuxMissing, 'memory of other programs that does not exist, is too small, or is not memory', () => {
  const name = newName();
  using x = Tensor.zeros([16], 'uint8', { shareable: name });
  equal(openForeign({ name: `/${name}`, dtype: 'uint8', shape: [2], offset: 14 }).toArray(), [0, 0]);
  throws('LayoutError', 'inside the shared allocation of 16 bytes', () =>
    openForeign({ name, dtype: 'uint8', shape: [17] }),
  );
  throws('LayoutError', 'multiple of', () => openForeign({ name, dtype: 'float32', shape: [1], offset: 2 }));
  throws('BufferError', 'Could not open', () => openForeign({ name: newName(), dtype: 'uint8', shape: [1] }));
  throws('BufferError', 'Could not open', () =>
    openForeign({ process: process.pid, file: 0, dtype: 'uint8', shape: [1] }),
  );
  for (const bad of ['', '/', '..', 'a/b', '../etc/passwd', 'a\0b', 'x'.repeat(300)]) {
    throws('ValueError', 'a name without slashes', () => openForeign({ name: bad, dtype: 'uint8', shape: [1] }));
  }
  throws('TypeError', 'an integer', () => openForeign({ file: 1, dtype: 'uint8', shape: [1] }));
  throws('TypeError', "did you mean 'offset'", () => openForeign({ name, offsets: 1 } as never));
  throws('ValueError', "a name on 'cpu'", () => Tensor.empty([1], 'uint8', { shareable: name, device: 'cuda:0' }));
  for (const bad of [1, 0, null]) {
    throws('TypeError', 'a boolean or a name', () => Tensor.empty([1], 'uint8', { shareable: bad as never }));
  }
  throws('ValueError', 'a name without slashes', () => Tensor.zeros([1], 'uint8', { shareable: '' }));
  equal(liveCounts().imports >= 0, true);
  x.fill(1);
});

testWith(linuxMissing, 'named memory beyond the limit of its folder gives an error', () => {
  throws('OutOfMemoryError', 'Out of memory', () => Tensor.empty([2 ** 44], 'uint8', { shareable: newName() }));
});
