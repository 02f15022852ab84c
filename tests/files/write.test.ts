import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DType, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import {
  openGguf,
  openNpy,
  openNpySync,
  openNpz,
  openNpzSync,
  openSafetensors,
  openSafetensorsSync,
  writeNpy,
  writeNpz,
  writeSafetensors,
} from 'dlpack/files';
import { formatDirectory, formatLocal } from '../../src/files/formats/zip-format.js';
import { equal, ok, rejection, rejects, throws } from '../assert.js';
import { runtimeArgs } from '../child.js';
import { collectUntil, runtime, test, testWith } from '../harness.js';
import { fileOf, newPath, safetensors } from './make.js';
import { farValues, largeSize, writeLargeNpz } from './zip64.js';

const x = Tensor.from(
  [
    [1, 2, 3],
    [4, 5, 6],
  ],
  { dtype: 'float32' },
);

test('data is aligned to 64 bytes, and so are tensors where their sizes allow it', async () => {
  const path = newPath('model');
  await writeSafetensors(path, {
    odd: Tensor.zeros([3], 'int8'),
    double: Tensor.from([1.5, 2.5, 3.5]),
    row: Tensor.zeros([64], 'uint8'),
    'a much longer name, so that the header is not a multiple of anything': Tensor.zeros([16], 'float32'),
    half: Tensor.zeros([3], 'float16'),
  });
  using file = openSafetensorsSync(path);
  for (const name of file.names) equal(file.info(name).isShared, true, name);
  const offset = (name: string): number => file.info(name).offset as number;
  equal([offset('row') % 64, offset(file.names[1] as string) % 64, offset('double') % 8], [0, 0, 0]);
});

test('views, permutations and packed types are written as their elements', async () => {
  const path = newPath('model');
  const packed = Tensor.from([1, 2, 3, 4, 5, 6], { dtype: 'float4_e2m1fn' });
  const padded = Tensor.wrap(new Uint8Array([1, 2, 3, 4]), { dtype: 'float4_e2m1fn', shape: [4], padded: true });
  const given = {
    transposed: x.transpose(),
    reversed: x.flip(),
    broadcast: x.slice(0).broadcastTo([2, 3]),
    view: x.view(),
    wrapped: Tensor.wrap(new Int16Array([1, 2, 3, 4]), { shape: [2], strides: [2] }),
    packed,
    inside: packed.slice([1, 5]),
    padded,
    scalar: x.slice(1, 2),
    empty: Tensor.zeros([0, 3], 'int64'),
  };
  await writeSafetensors(path, given);
  using file = openSafetensorsSync(path);
  for (const [name, tensor] of Object.entries(given)) equal(file.get(name).toArray(), tensor.toArray(), name);
});

test('metadata, maps and open files', async () => {
  const [path, copy] = [newPath('model'), newPath('copy')];
  await writeSafetensors(path, new Map([['x', x]]), { metadata: { format: 'pt', é: '"\n' }, durable: true });
  using file = openSafetensorsSync(path);
  equal({ ...file.metadata }, { format: 'pt', é: '"\n' });
  await writeSafetensors(copy, file, { metadata: file.metadata as Record<string, string> });
  equal(readFileSync(copy).equals(readFileSync(path)), true);
});

test('half a surrogate pair in metadata is refused, when it is written and when it is read', async () => {
  for (const metadata of [{ note: 'cut \ud83d' }, { '\udc00key': 'x' }]) {
    await rejects('ValueError', 'half a surrogate pair', writeSafetensors(newPath('model'), { x }, { metadata }));
  }
  const whole = { note: 'whole \ud83d\ude00' };
  const path = newPath('model');
  await writeSafetensors(path, { x }, { metadata: whole });
  equal({ ...openSafetensorsSync(path).metadata }, whole);
  const read = (header: string) => openSafetensorsSync(fileOf(safetensors(header, new Uint8Array())));
  equal({ ...read('{"__metadata__":{"k":"\\ud83d\\ude00"}}').metadata }, { k: '\ud83d\ude00' });
  throws('FileFormatError', 'half a surrogate pair', () => read('{"__metadata__":{"k":"\\ud83d"}}'));
});

test('options are read before the first wait', async () => {
  const [path, raw] = [newPath('model'), newPath('raw.npy')];
  const metadata: Record<string, string> = { format: 'pt' };
  const writing = writeSafetensors(path, { x }, { metadata });
  metadata.format = 'changed';
  await writing;
  equal({ ...openSafetensorsSync(path).metadata }, { format: 'pt' });
  await writeNpy(raw, Tensor.from([1, 2], { dtype: 'bfloat16' }));
  const options: { dtype: DType } = { dtype: 'bfloat16' };
  const opening = openNpy(new Blob([readFileSync(raw)]), options);
  options.dtype = 'float16';
  equal((await opening).dtype, 'bfloat16');
});

test('a stream instead of a path', async () => {
  const [path, parts] = [newPath('model'), [] as Uint8Array[]];
  await writeSafetensors(path, { x });
  await writeSafetensors(new WritableStream({ write: (part) => void parts.push(part) }), { x });
  equal(Buffer.concat(parts).equals(readFileSync(path)), true);
});

/** Writes while the program changes the tensor before and after each piece. */
async function changedWhile(write: (tensor: Tensor) => Promise<void>): Promise<void> {
  const changing = Tensor.zeros([2 << 20], 'float32');
  let isDone = false;
  const writing = write(changing).finally(() => {
    isDone = true;
  });
  for (let value = 1; !isDone; value++) {
    changing.fill(value);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await writing;
}

test('a tensor that changes while it is written gives a whole archive', async () => {
  for (let round = 0; round < 5; round++) {
    const path = newPath('changed.npz');
    await changedWhile((changing) => writeNpz(path, { a: x, changing, b: x }));
    using file = openNpzSync(path, { verify: true });
    equal([file.get('changing').shape, file.get('b').toArray()], [[2 << 20], x.toArray()]);
    const parts: Uint8Array[] = [];
    const stream = new WritableStream<Uint8Array>({ write: (part) => void parts.push(part) });
    await changedWhile((changing) => writeNpz(stream, { a: x, changing, b: x }));
    using streamed = openNpzSync(fileOf(Buffer.concat(parts)), { verify: true });
    equal([streamed.get('changing').shape, streamed.get('b').toArray()], [[2 << 20], x.toArray()]);
    equal((streamed.info('b').offset as number) % 64, 0);
  }
});

test('a damaged array of an npz file is refused: a small one always, a large one if it is asked for', async () => {
  const path = newPath('damaged.npz');
  const large = Tensor.zeros([1 << 20], 'float32');
  await writeNpz(path, { small: x, large });
  const bytes = readFileSync(path);
  const at = (name: string): number => openNpzSync(path).info(name).offset as number;
  for (const name of ['small', 'large']) {
    const damaged = Buffer.from(bytes);
    damaged[at(name) + 3] = (damaged[at(name) + 3] as number) ^ 0x40;
    {
      using file = openNpzSync(fileOf(damaged), { verify: true });
      equal(file.info(name).isShared, true);
      throws('FileFormatError', 'is damaged', () => file.get(name));
      await rejects('FileFormatError', 'is damaged', file.getAsync(name));
      await rejects('FileFormatError', 'is damaged', file.getAllAsync());
      using blob = await openNpz(new Blob([damaged]), { verify: true });
      await rejects('FileFormatError', 'is damaged', blob.getAsync(name));
    }
    using unchecked = openNpzSync(fileOf(damaged));
    if (name === 'small') throws('FileFormatError', 'is damaged', () => unchecked.get(name));
    else equal(unchecked.get(name).get(0), 2);
  }
  using good = openNpzSync(path, { verify: true, mode: 'c' });
  equal([good.get('small').toArray(), good.get('large').get(5)], [x.toArray(), 0]);
  good.get('small').set(0, 0, 9); // a write to private memory is no damage
  equal(good.get('small').get(0, 0), 9);
  throws('TypeError', 'a boolean', () => openNpzSync(path, { verify: 1 as never }));
});

test('tensors may be disposed while they are written', async () => {
  const path = newPath('model');
  const held = Tensor.from([1, 2, 3]);
  const writing = writeSafetensors(path, { held });
  held.dispose();
  await writing;
  equal(openSafetensorsSync(path).get('held').toArray(), [1, 2, 3]);
});

test('a link stays a link, and permissions stay', async () => {
  const path = fileOf('old');
  chmodSync(path, 0o640);
  const link = newPath('link');
  symlinkSync(path, link);
  await writeNpy(link, x);
  equal(lstatSync(link).isSymbolicLink(), true);
  equal(statSync(path).mode & 0o777, 0o640);
  ok(statSync(path).size > 3);
  chmodSync(path, 0o666);
  await writeNpy(link, x);
  equal(statSync(path).mode & 0o777, 0o666); // whatever the umask is
  const later = newPath('later');
  const dangling = newPath('dangling');
  symlinkSync(later, dangling);
  await writeNpy(dangling, x);
  equal([lstatSync(dangling).isSymbolicLink(), openNpySync(later).toArray()], [true, x.toArray()]);
});

test('a name of the longest length, and paths that cannot be written', async () => {
  const path = newPath(`${'é'.repeat(125)}.npy`);
  await writeNpy(path, x);
  equal(openNpySync(path).toArray(), x.toArray());
  const code = async (target: string, message: string) =>
    (await rejects('FileError', message, writeNpy(target, x))).code;
  equal(await code(dirname(path), 'this is a folder'), 'EISDIR');
  equal(await code(`${newPath('none')}/`, 'this is a folder'), 'EISDIR');
  equal(await code('a\0b', 'NUL'), 'EINVAL');
  equal(await code('', 'no such folder'), 'ENOENT');
  await rejects('ValueError', 'a path or a WritableStream', writeNpy('file:///x.npy', x));
});

test('a relative path counts from the folder at the call, and .. follows links', async () => {
  const path = newPath('relative.npy');
  const link = newPath('link');
  const inside = newPath('inside');
  mkdirSync(inside);
  symlinkSync(inside, link, 'dir');
  const before = process.cwd();
  process.chdir(dirname(path));
  const writing = writeNpy('relative.npy', x);
  process.chdir(before);
  await writing;
  equal(openNpySync(path).toArray(), x.toArray());
  if (process.platform === 'win32') return; // which removes '..' first
  await writeNpy(`${link}/../beside.npy`, x);
  equal(openNpySync(join(dirname(inside), 'beside.npy')).toArray(), x.toArray());
  // Without the folder before it, '..' leads nowhere: the link must not be replaced.
  await rejects('FileError', 'no such folder', writeNpy(`${dirname(link)}/none/../link`, x));
  equal(lstatSync(link).isSymbolicLink(), true);
  await rejects('FileError', 'no such folder', writeNpy(`${newPath('none')}/.`, x));
});

const pipes = process.platform === 'win32' ? 'named pipes, and open files that can be deleted' : false;

testWith(pipes, 'a pipe is refused and stays a pipe, because a new file would replace it', async () => {
  const path = newPath('pipe');
  spawnSync('mkfifo', [path]);
  // One after the other: the rejection of a promise that nothing waits for yet ends Deno.
  for (const write of [() => writeNpy(path, x), () => writeNpz(path, { x }), () => writeSafetensors(path, { x })]) {
    equal((await rejects('FileError', 'pass a WritableStream', write())).code, 'ENODEV');
  }
  equal([lstatSync(path).isFIFO(), readdirSync(dirname(path))], [true, ['pipe']]);
});

test('a failed write leaves the old file intact and no other file', async () => {
  const path = fileOf('old');
  const isUntouched = (): void => {
    equal([readFileSync(path, 'utf8'), readdirSync(dirname(path))], ['old', ['file']]);
  };
  const before = liveCounts().storages;
  await rejects(
    'UnsupportedDTypeError',
    'safetensors has',
    writeSafetensors(path, { x: Tensor.zeros([1], 'complex128') }),
  );
  isUntouched();
  await rejects(
    'UnsupportedDTypeError',
    'whole bytes',
    writeSafetensors(path, { x: Tensor.zeros([3], 'float4_e2m1fn') }),
  );
  await rejects('TypeError', "tensors['x']", writeSafetensors(path, { x: 1 as never }));
  await rejects('TypeError', 'an iterable of [name, tensor]', writeSafetensors(path, [x] as never));
  await rejects('TypeError', 'Tensor.from makes one of values) for tensor but', writeNpy(path, [1, 2] as never));
  await rejects('TypeError', 'an object of tensors', writeNpz(path, 3 as never));
  await rejects('TypeError', "metadata['k']", writeSafetensors(path, { x }, { metadata: { k: 1 as never } }));
  await rejects(
    'ValueError',
    'occurs once',
    writeNpz(path, [
      ['x', x],
      ['x', x],
    ]),
  );
  const long = 'é'.repeat(32766); // with '.npy' one byte more than a zip file can have
  await rejects('ValueError', 'at most 65535 bytes', writeNpz(path, { x, [long]: x }));
  await rejects('ValueError', '__metadata__', writeSafetensors(path, { __metadata__: x }));
  for (const write of [writeNpz, writeSafetensors]) {
    await rejects('ValueError', 'half a surrogate pair', write(path, { 'a\ud800': x }));
  }
  await rejects(
    'TypeError',
    'object of Map',
    writeSafetensors(path, { x }, { metadata: new Map([['k', 'v']]) as never }),
  );
  await rejects('TypeError', 'a path or a WritableStream', writeNpy(3 as never, x));
  await rejects('TypeError', "did you mean 'durable'", writeNpy(path, x, { durabel: true } as never));
  await rejects(
    'TypeError',
    "{ format: 'pt' } for metadata",
    writeSafetensors(path, { x }, { metadata: 'pt' as never }),
  );
  isUntouched();
  const nowhere = await rejects('FileError', 'no such folder', writeNpy(join(path, 'x'), x)).catch(() => null);
  equal(nowhere === null || nowhere.code.startsWith('E'), true);
  isUntouched();
  ok(liveCounts().storages <= before + 2);
});

test('a signal stops a writer, before it starts and in the middle, and leaves the old file', async () => {
  const path = fileOf('old');
  const reason = new Error('too slow');
  const large = Tensor.zeros([5 << 20], 'uint8'); // several pieces
  const before = liveCounts().storages;
  const writers = [
    (target: string | WritableStream, signal: AbortSignal) => writeNpy(target, large, { signal }),
    (target: string | WritableStream, signal: AbortSignal) => writeNpz(target, { large }, { signal }),
    (target: string | WritableStream, signal: AbortSignal) => writeSafetensors(target, { large }, { signal }),
  ];
  for (const write of writers) {
    const unused = new WritableStream();
    equal(await rejection(write(path, AbortSignal.abort(reason))), reason);
    equal(await rejection(write(unused, AbortSignal.abort(reason))), reason);
    equal(unused.locked, false);
    const controller = new AbortController();
    const writing = write(path, controller.signal);
    controller.abort(reason); // while the new file is opened
    equal(await rejection(writing), reason);
    equal([readFileSync(path, 'utf8'), readdirSync(dirname(path))], ['old', ['file']]);
    const inside = new AbortController();
    const stuck = new WritableStream({
      write: () => {
        inside.abort(reason);
        return new Promise<void>(() => {}); // never takes its first piece
      },
    });
    equal(await rejection(write(stuck, inside.signal)), reason);
  }
  ok(liveCounts().storages <= before); // fewer when the collector ran meanwhile
  await rejects('TypeError', 'an AbortSignal for signal', writeNpy(path, large, { signal: {} as never }));
});

testWith(pipes, 'an error while the new file is deleted does not hide the error before it', async () => {
  const path = fileOf('old');
  const folder = dirname(path);
  const writing = writeNpy(path, Tensor.zeros([64 << 20], 'uint8'));
  const newFile = () => readdirSync(folder).find((name) => name.endsWith('.tmp'));
  while (newFile() === undefined) await new Promise((resolve) => setImmediate(resolve));
  const beside = join(folder, newFile() as string);
  unlinkSync(beside);
  mkdirSync(join(beside, 'inside'), { recursive: true }); // it cannot take the place of a file, nor be deleted
  await rejects('FileError', 'could not write the file', writing);
  equal(readFileSync(path, 'utf8'), 'old');
});

testWith(pipes, 'a file that may not be written is replaced, and its hard links keep the old content', async () => {
  const path = fileOf('old');
  const link = `${path}.link`;
  linkSync(path, link);
  chmodSync(path, 0o444);
  await writeNpy(path, Tensor.from([1, 2], { dtype: 'int8' }));
  using x = openNpySync(path);
  equal([x.toArray(), readFileSync(link, 'utf8')], [[1, 2], 'old']);
});

const limited = process.platform === 'linux' ? false : 'a limit on the size of files (ulimit -f)';

testWith(limited, 'a full disk gives an error, and the old file stays intact', () => {
  const path = newPath('model');
  writeFileSync(path, 'old');
  const child = fileURLToPath(new URL('./children/write.js', import.meta.url));
  // A limit that the system enforces as it would a full disk; without the signal that goes with it.
  const command = [
    'trap "" XFSZ',
    'ulimit -f 64',
    `exec "${process.execPath}" ${runtimeArgs[runtime].join(' ')} "${child}" "${path}"`,
  ];
  const { stdout, stderr } = spawnSync('sh', ['-c', command.join('; ')], { encoding: 'utf8' });
  equal(stdout.trim(), 'FileError EFBIG', stderr);
  equal([readFileSync(path, 'utf8'), readdirSync(dirname(path))], ['old', ['model']]);
});

test('the same arrays make the same npz file', async () => {
  const paths = [newPath('a'), newPath('b')];
  for (const path of paths) await writeNpz(path, { x, y: x.transpose() });
  const [a, b] = paths.map((path) => readFileSync(path)) as [Buffer, Buffer];
  equal(a.equals(b), true);
  equal(openNpzSync(paths[0] as string).get('y').strides, [1, 3]);
});

test('the longest name that a zip file can have', async () => {
  const path = newPath('x.npz');
  const long = 'a'.repeat(65531);
  await writeNpz(path, { [long]: x });
  equal(openNpzSync(path).get(long).toArray(), x.toArray());
});

// Elsewhere the hole of this file may take 4 GiB of the disk.
const holes = process.platform === 'linux' ? false : 'files with holes';

testWith(holes, 'an npz file of more than 4 GiB has Zip64 records, with its arrays in place and aligned', async () => {
  const path = newPath('large.npz');
  await writeLargeNpz(path);
  using file = openNpzSync(path);
  equal(file.names, ['large', 'far']);
  for (const name of file.names) {
    const { isShared, offset } = file.info(name);
    equal([isShared, (offset as number) % 64], [true, 0], name);
  }
  using large = file.get('large');
  equal([large.size, large.get(0), large.get(1), large.get(-1)], [largeSize, 5, 0, 9]);
  using far = file.get('far');
  equal(far.toArray(), [...farValues]);
});

test('sizes, offsets and counts move to Zip64 fields at their limits', () => {
  const fields = (size: number, offset: number) => {
    const member = { name: 'a', crc: 1, size, offset };
    const [local, directory] = [formatLocal(member), formatDirectory([member], offset)];
    const [near, far] = [local, directory].map((bytes) => new DataView(bytes.buffer)) as [DataView, DataView];
    const hasEnd64 = Buffer.from(directory).includes('PK\x06\x06', 0, 'latin1');
    const extra = far.getUint16(30, true);
    return [near.getUint16(4, true), near.getUint32(18, true), far.getUint16(6, true), extra, hasEnd64];
  };
  const limit = 2 ** 32 - 1;
  equal(fields(limit - 1, limit - 1), [20, limit - 1, 20, 0, false]);
  equal(fields(limit, 0), [45, limit, 45, 20, false]);
  equal(fields(7, limit), [20, 7, 45, 12, true]);
  equal(fields(limit, limit), [45, limit, 45, 28, true]);
  const count = (members: number) => {
    const directory = formatDirectory(new Array(members).fill({ name: '', crc: 0, size: 0, offset: 0 }), 0);
    const end = new DataView(directory.buffer).getUint16(directory.length - 12, true);
    return [end, directory.length - 46 * members];
  };
  equal([count(65534), count(65535)], [[65534, 22], [65535, 98]]); // biome-ignore format: one line
});

const revoked = (): never => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy as never;
};

test('a wrong argument for tensors is refused at its first element, before anything is written', async () => {
  const path = fileOf('old');
  const before = liveCounts().storages;
  const wrong = [
    null,
    undefined,
    3,
    'x',
    revoked(),
    x,
    [x],
    new Uint8Array(8),
    [revoked()],
    [['x', revoked()]],
    { x: revoked() },
    new ArrayBuffer(8),
    Promise.resolve({ x }),
    () => ({ x }),
  ];
  for (const write of [writeSafetensors, writeNpz]) {
    for (const tensors of wrong) await rejects('TypeError', 'Expected', write(path, tensors as never));
  }
  for (const tensor of [...wrong.filter((value) => value !== x), { x }]) {
    await rejects('TypeError', 'a Tensor', writeNpy(path, tensor as never));
  }
  for (const target of [null, 3, {}, new Uint8Array(8), revoked()]) {
    await rejects('TypeError', 'a path or a WritableStream', writeNpz(target as never, { x }));
  }
  const stream = new WritableStream();
  const writer = stream.getWriter();
  await rejects('ValueError', 'a stream without another writer', writeNpy(stream, x));
  writer.releaseLock();
  let taken = 0;
  let isClosed = false;
  const values = (function* () {
    try {
      for (; taken < 1000; ) {
        taken++;
        yield 1;
      }
    } finally {
      isClosed = true;
    }
  })();
  await rejects('TypeError', 'an iterable of [name, tensor]', writeNpz(path, values as never));
  equal([taken, isClosed], [1, true]);
  equal([readFileSync(path, 'utf8'), readdirSync(dirname(path))], ['old', ['file']]);
  ok(await collectUntil(() => liveCounts().storages <= before));
});

test('tensors of an iterable stay valid after it disposes them, and are released if it throws', async () => {
  const path = newPath('model');
  const before = liveCounts().storages;
  function* both(fails: boolean): Generator<[string, Tensor]> {
    const a = Tensor.from([1, 2]);
    yield ['a', a];
    a.dispose();
    if (fails) throw new RangeError('the iterable failed');
    const b = Tensor.from([3]);
    yield ['b', b];
    b.dispose();
  }
  await writeNpz(path, both(false));
  equal((await rejection<Error>(writeNpz(path, both(true)))).message, 'the iterable failed');
  ok(await collectUntil(() => liveCounts().storages <= before));
  using file = openNpzSync(path);
  equal([file.get('a').toArray(), file.get('b').toArray()], [[1, 2], [3]]);
});

test('a source that is not a file is refused', async () => {
  for (const open of [openSafetensors, openNpy, openNpz, openGguf]) {
    for (const source of [null, undefined, 3, {}, [], new Uint8Array(8), x, revoked()]) {
      await rejects('TypeError', 'a path, a URL, a File or a Blob', open(source as never));
    }
  }
  const path = newPath('model');
  await writeNpz(path, { x });
  using file = openNpzSync(path);
  await rejects('TypeError', 'an AbortSignal', file.getAsync('x', { signal: {} as never }));
  await rejects('TypeError', 'an AbortSignal', file.getAsync('x', { signal: revoked() }));
  await rejects('TypeError', 'a function for onProgress', file.getAllAsync({ onProgress: 1 as never }));
});
