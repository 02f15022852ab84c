/** Without native code (in a browser) spans work over JavaScript memory, and no function returns an address. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { equal } from '../assert.js';
import { test } from '../harness.js';

const script = `
import { fromDLPack, isDLPackError } from 'dlpack';
import { extents, hostMdspan, layoutLeft, toDLPackTensor, toHostMdspan } from 'dlpack/mdspan';

const data = new Float32Array([9, 1, 2, 3, 4, 5, 6]);
const span = hostMdspan(data.subarray(1), layoutLeft(extents(2, 3)));
const tensor = fromDLPack(span);
tensor.set(1, 2, 60);

const wrapper = toDLPackTensor(span);
const dl = wrapper.get();
const back = toHostMdspan(dl, { dtype: 'float32', rank: 2 });
back.set(0, 0, 10);

const empty = toDLPackTensor(hostMdspan(data, extents(0)));
const attempt = (action) => {
  try {
    return action();
  } catch (error) {
    return isDLPackError(error, 'BufferError') ? 'BufferError' : String(error);
  }
};
console.log(JSON.stringify({
  data: [...data],
  bytes: [dl.data instanceof Uint8Array, dl.data.buffer === data.buffer, dl.data.byteOffset],
  address: span.dataHandle.address,
  strides: Array.from(dl.strides, Number),
  back: [...back],
  empty: empty.get().data,
  followed: attempt(() => hostMdspan(4096n, extents(1), { dtype: 'int8' }).get(0)),
  named: toDLPackTensor(hostMdspan(4096n, extents(1), { dtype: 'int8' })).get().data === 4096n,
}));
`;

// The condition that bundlers for browsers set is a command-line flag of Node's; the code under test is the same everywhere.
test('spans without native code', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=browser', '--input-type=module', '--eval', script],
    { cwd: fileURLToPath(new URL('../../../', import.meta.url)), encoding: 'utf8' },
  );
  equal(status, 0, stderr);
  equal(JSON.parse(stdout), {
    data: [9, 10, 2, 3, 4, 5, 60],
    bytes: [true, true, 4],
    address: null,
    strides: [1, 2],
    back: [10, 3, 5, 2, 4, 60],
    empty: null,
    followed: 'BufferError',
    named: true,
  });
});
