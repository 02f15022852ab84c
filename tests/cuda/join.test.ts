import { type DType, Tensor } from 'dlpack';
import { equal, ok, throws } from '../assert.js';
import { cudaTest } from './machine.js';

const dtypes: DType[] = ['uint8', 'float16', 'float32', 'complex64'];

for (const dtype of dtypes) {
  cudaTest(`${dtype}: tensors joined on a device, and from the host to a device`, () => {
    const host = Tensor.arange(6, 'int32').reshape([2, 3]).astype(dtype) as Tensor;
    const parts = [host, host.flip() as Tensor, host.slice([null, null, -1]) as Tensor];
    const there = parts.map((part) => part.to('cuda:0'));
    for (const join of [Tensor.stack, Tensor.concat] as (typeof Tensor.concat)[]) {
      for (const axis of [0, 1]) {
        const want = join(parts, { axis });
        const joined = join(there, { axis });
        equal(joined.device, 'cuda:0');
        ok(joined.to('cpu').equals(want), `on the device, axis ${axis}`);
        ok(join(parts, { axis, device: 'cuda:0' }).to('cpu').equals(want), `to the device, axis ${axis}`);
        const mixed = join([parts[0], ...there.slice(1)] as Tensor[], { axis, device: 'cuda:1' });
        ok(mixed.to('cpu').equals(want), `from several devices, axis ${axis}`);
        const out = Tensor.zeros(want.shape, dtype, { device: 'cuda:0' });
        ok(join(parts, { axis, out }) === out && out.to('cpu').equals(want), `into memory, axis ${axis}`);
      }
    }
  });
}

cudaTest('tensors are converted to the dtype of a batch on the device', () => {
  const there = [Tensor.arange(3, 'uint8').to('cuda:0'), Tensor.arange(3, 'uint8', { device: 'cuda:0' })];
  const out = Tensor.full([2, 3], 7, 'float32', { device: 'cuda:0' });
  equal(Tensor.stack(there, { out }).to('cpu').toArray(), [
    [0, 1, 2],
    [0, 1, 2],
  ]);
});

cudaTest('full and arange write into memory of a device', () => {
  const memory = Tensor.zeros([2, 3], 'float32', { device: 'cuda:0' });
  const rows = [memory.slice(0), memory.slice(1)] as const;
  ok(Tensor.full([3], 7, 'float32', { out: rows[0] }) === rows[0]);
  ok(Tensor.arange(3, 'float32', { out: rows[1] }) === rows[1]);
  equal(memory.to('cpu').toArray(), [
    [7, 7, 7],
    [0, 1, 2],
  ]);
});

cudaTest('packed elements are joined on a device where they fill their bytes', () => {
  const host = Tensor.arange(8, 'int8').reshape([2, 4]).astype('int4');
  const there = host.to('cuda:0');
  ok(
    Tensor.stack([there, there])
      .to('cpu')
      .equals(Tensor.stack([host, host])),
  );
  const odd = there.reshape([8]).slice([0, 3]);
  throws('UnsupportedDTypeError', "copy them on the host: to('cpu')", () => Tensor.concat([odd, odd]));
});

cudaTest('a batch of several devices needs a device, and errors release the memory', () => {
  const host = Tensor.arange(2, 'int8');
  const parts = [host, host.to('cuda:0')];
  throws('UnsupportedDeviceError', "'cpu' and 'cuda:0'; name the result's: { device: 'cpu' }", () =>
    Tensor.stack(parts),
  );
  throws('TypeError', 'float128', () => Tensor.full([2], 1 as never, 'float128', { device: 'cuda:0' }));
});
