/**
 * Runs operations of the package under the limits of its process, and prints for each `ok` or the error:
 * `limited.js operation...`. A limit that would keep the runtime from starting is set here, with prlimit.
 */

import { execFileSync } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isDLPackError, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { openNpySync, writeNpy } from 'dlpack/files';
import { describeTensor, openTensor } from 'dlpack/shared';

const folder = process.env.LIMITED_FOLDER ?? '';
const MiB = 1 << 20;
const prlimit = (limit: string): void => void execFileSync('prlimit', ['--pid', String(process.pid), limit]);
const ownStatus = (name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);

const operations: Record<string, () => unknown> = {
  takeAllFiles() {
    try {
      for (;;) openSync('/dev/null', 'r');
    } catch (error) {
      if ((error as { code?: string }).code !== 'EMFILE') throw error;
    }
  },
  /** After the runtime has started its own pool, because libuv ends a process that cannot. */
  async forbidThreads() {
    await stat('/');
    prlimit(`--nproc=${ownStatus('Threads')}`);
  },
  limitMemory: () => prlimit(`--as=${ownStatus('VmSize') * 1024 + 1024 * MiB}`),
  native() {
    using x = Tensor.from([1, 2]);
    if (liveCounts().storages === 0) throw new Error(`${x.size} elements in JavaScript memory`);
  },
  shared() {
    using x = Tensor.zeros([MiB], 'uint8', { shareable: true });
    openTensor(describeTensor(x)).dispose();
  },
  named() {
    using x = Tensor.zeros([MiB], 'uint8', { shareable: `dlpack-limited-${process.pid}` });
    openTensor(describeTensor(x)).dispose();
  },
  async write() {
    using x = Tensor.zeros([MiB], 'uint8');
    await writeNpy(join(folder, 'new.npy'), x);
  },
  /** What a failed write has left. */
  leftovers() {
    const left = readdirSync(folder).filter((name) => name !== 'there.npy');
    if (left.length > 0) throw new Error(left.join());
  },
  read() {
    openNpySync(join(folder, 'there.npy')).dispose();
  },
  /** Large allocations until there is no room, all released, and then one more. */
  memory() {
    const made: Tensor[] = [];
    try {
      for (;;) made.push(Tensor.empty([128 * MiB], 'uint8'));
    } finally {
      for (const x of made) x.dispose();
      Tensor.empty([128 * MiB], 'uint8').dispose();
    }
  },
  async copies() {
    using x = Tensor.zeros([16 * MiB], 'float32').fill(3);
    using half = x.astype('float16');
    using back = await half.astypeAsync('float32');
    if (back.get(16 * MiB - 1) !== 3) throw new Error('wrong values');
  },
};

for (const name of process.argv.slice(2)) {
  try {
    await (operations[name] as () => unknown)();
    console.log(`${name}: ok`);
  } catch (error) {
    console.log(
      `${name}: ${isDLPackError(error) ? error.tag : 'UNTYPED'} ${(error as Error).message.split('\n').join(' ')}`,
    );
  }
}
process.exit(0);
