/** Memory shared with Python processes, both ways: SharedMemory, torch.multiprocessing, and plain files. */

import { existsSync, unlinkSync, writeFileSync } from 'node:fs';
import { Tensor } from 'dlpack';
import { describeTensor, openForeign, openTensor, sharedPath } from 'dlpack/shared';
import { equal, ok, throws } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';
import { pythonMissing, runPython, startPython } from './peer.js';

const newName = (): string => `dlpack-test-${process.pid}-${Math.random().toString(36).slice(2)}`;

testWith(pythonMissing, "Python's SharedMemory opens here, and stays after Python removed it", async () => {
  const peer = startPython('make', []);
  const { name } = await peer.told<{ name: string }>();
  const x = openForeign({ name, dtype: 'uint8', shape: [2, 3] });
  equal(x.toArray(), [[0, 1, 2], [3, 4, 5]]); // biome-ignore format: a table
  x.set(1, 2, 200);
  peer.goOn();
  equal(await peer.told(), [0, 1, 2, 3, 4, 200]);
  equal(await peer.ended(), 0);
  equal(x.get(1, 2), 200);
  throws('BufferError', 'has ended or released it', () => openForeign({ name, dtype: 'uint8', shape: [1] }));
});

testWith(pythonMissing, 'named memory opens in Python, which keeps the name if it is not tracked', () => {
  const name = newName();
  using x = Tensor.zeros([4], 'uint8', { shareable: name });
  x.copyFrom(Tensor.from([1, 2, 3, 4], { dtype: 'uint8' }));
  equal(runPython('open_named', [name, 'careful']), [1, 2, 3, 4]);
  equal(x.get(0), 9, 'written there');
  ok(existsSync(`/dev/shm/${name}`));
  x.dispose();
  ok(!existsSync(`/dev/shm/${name}`), 'the name goes with the memory');
});

testWith(pythonMissing, 'a process that Python forks drops its copy, and the name stays', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/forked.js', { args: [newName()] });
  equal([code, signal, output.trim()], [0, null, 'true true 7'], output);
});

testWith(
  pythonMissing,
  "the resource tracker's trap: descriptions open without the name, and newer memory stays",
  () => {
    const name = newName();
    using x = Tensor.zeros([4], 'uint8', { shareable: name });
    runPython('open_named', [name, 'careless']);
    // Python 3.13 and newer can be told not to; older versions always remove the name.
    if (existsSync(`/dev/shm/${name}`)) unlinkSync(`/dev/shm/${name}`);
    using y = openTensor(describeTensor(x, { copy: false }));
    equal(y.get(0), 9);
    x.set(1, 7);
    equal(y.get(1), 7);
    writeFileSync(`/dev/shm/${name}`, 'newer');
    using z = openTensor(describeTensor(x, { copy: false }));
    equal(z.get(1), 7, 'the number tells them apart');
    x.dispose();
    ok(existsSync(`/dev/shm/${name}`), 'not ours any more');
    unlinkSync(`/dev/shm/${name}`);
  },
);

testWith(pythonMissing, 'a plain Python process opens memory by its path, but cannot write a read-only share', () => {
  using x = Tensor.zeros([4], 'uint8', { shareable: true });
  const path = sharedPath(describeTensor(x, { copy: false }));
  equal(path.split('/').slice(0, 3), ['', 'proc', String(process.pid)]);
  equal(runPython('open_path', [path, 'write']), [0, 0, 0, 0]);
  equal(x.get(0), 9);
  const sealed = describeTensor(x, { readonly: true });
  equal(sealed.readonly, true);
  equal(runPython('open_path', [sharedPath(sealed), 'read']), [9, 0, 0, 0]);
  equal(runPython('open_path', [sharedPath(sealed), 'write']), 'PermissionError');
  x.set(0, 5);
  using y = openTensor(sealed);
  equal(y.get(0), 5, 'the owner still writes');
  throws('ReadOnlyError', '', () => y.set(0, 1));
  equal(describeTensor(x).readonly, true, 'for good');
});

testWith(pythonMissing, 'torch.multiprocessing with both strategies, both ways', async () => {
  using plain = Tensor.zeros([4], 'float32', { shareable: true });
  plain.set(3, 3);
  const name = newName();
  using named = Tensor.zeros([16 + 4], 'int32', { shareable: name });
  named.set(0, 1); // torch counts its users in the first 64 bytes, and this process is one of them
  named.set(19, 0x40400000);
  const description = describeTensor(named, { copy: false });
  const path = sharedPath(describeTensor(plain, { copy: false }));
  const peer = startPython('torch_both', [path, `/${name}`]);
  for (const strategy of ['file_descriptor', 'file_system'] as const) {
    const place = await peer.told<{ name?: string; process?: number; file?: number; offset?: number }>();
    equal(place.name === undefined, strategy === 'file_descriptor');
    using x = openForeign({ ...place, dtype: 'float32', shape: [2, 3] });
    equal(x.toArray(), [[0, 1, 2], [3, 4, 5]]); // biome-ignore format: a table
    x.set(0, 1, 7);
    peer.goOn();
    equal(await peer.told(), [0, 7, 2, 3, 4, 5], strategy);
    equal(await peer.told(), [0, 0, 0, 3], strategy);
    peer.goOn();
  }
  equal(await peer.ended(), 0);
  equal([...plain], [8, 9, 0, 3], 'written by a process of torch, and by torch');
  equal([...named].slice(16), [0x41000000, 0x41100000, 0, 0x40400000], 'the same');
  equal(named.get(0), 1, 'torch released what it held');
  // Its manager removes the names of its processes when they end.
  using again = openTensor(description);
  equal(again.get(19), 0x40400000);
});
