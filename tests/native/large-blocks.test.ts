/** Large blocks of native memory: in large pages where the system has them, and released by `trim`. */

import { existsSync, readFileSync } from 'node:fs';
import { Tensor } from 'dlpack';
import { emptyCache } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const MiB = 2 ** 20;

/** The part of /proc/self/smaps about the mapping that holds an address. */
function mappingOf(address: bigint): string {
  const mappings = readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const found = mappings.find((mapping) => {
    const [, low, high] = /^([0-9a-f]+)-([0-9a-f]+) /.exec(mapping) as RegExpExecArray;
    return address >= BigInt(`0x${low}`) && address < BigInt(`0x${high}`);
  });
  return found ?? '';
}

const residentBytes = () => Number(readFileSync('/proc/self/statm', 'utf8').split(' ')[1]) * 4096;

if (process.platform === 'linux' && existsSync('/sys/kernel/mm/transparent_hugepage/enabled')) {
  test('a large block starts on a large page and asks for more of them', () => {
    for (const nbytes of [4 * MiB, 64 * MiB + 12]) {
      using tensor = Tensor.empty([nbytes], 'uint8');
      const address = addressOf(tensor);
      equal(address % BigInt(2 * MiB), 0n, String(nbytes));
      ok(/^VmFlags:.*\bhg\b/m.test(mappingOf(address)), `${nbytes}: advised\n${mappingOf(address)}`);
    }
    using small = Tensor.empty([2 * MiB], 'uint8');
    equal(addressOf(small) % 256n, 0n);
  });
}

if (process.platform === 'linux') {
  test('large blocks are used again, and trim releases them', () => {
    using source = Tensor.zeros([64 * MiB], 'uint8');
    source.copy().dispose();
    emptyCache('cpu');
    const before = residentBytes();
    for (let i = 0; i < 8; i++) {
      const copy = source.copy();
      ok(residentBytes() - before > 60 * MiB, 'the copy is in memory');
      copy.dispose();
    }
    emptyCache('cpu');
    ok(residentBytes() - before < 16 * MiB, `${(residentBytes() - before) / MiB} MiB more than before`);
  });
}
