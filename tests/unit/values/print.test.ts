import { inspect } from 'node:util';
import { equal } from '../../assert.js';
import { cores } from '../../cores.js';
import { test } from '../../harness.js';

const text = (...lines: string[]) => lines.join('\n');

for (const [core, { Tensor }] of cores) {
  test(`${core}: a head line, and aligned columns below it`, () => {
    using tensor = Tensor.from(
      [
        [1, -2.5, 10],
        [0.125, 3, 4],
      ],
      { dtype: 'float32' },
    );
    const expected = text('Tensor float32 [2, 3] cpu', '[[ 1.   , -2.5  , 10.   ],', ' [ 0.125,  3.   ,  4.   ]]');
    equal(String(tensor), expected);
    equal(inspect(tensor), expected);
    equal(String(tensor.view()), expected.replace('Tensor', 'TensorView'));
    const frozen = Tensor.wrap(new Int8Array([1, -100]), { readonly: true });
    equal(String(frozen), text('Tensor int8 [2] cpu read-only', '[   1, -100]'));
    tensor.dispose();
    equal(String(tensor), 'Tensor(disposed)');
  });

  test(`${core}: types that NumPy does not have`, () => {
    const body = (tensor: { toString(): string }) => tensor.toString().split('\n').slice(1).join('\n');
    equal(body(Tensor.from([true, false])), '[ true, false]');
    equal(body(Tensor.from([7, -8, 0], { dtype: 'int4' })), '[ 7, -8,  0]');
    equal(body(Tensor.from([1, 0.1, 3.14], { dtype: 'bfloat16' })), '[1.  , 0.1 , 3.14]');
    equal(body(Tensor.from([448, 0.002], { dtype: 'float8_e4m3fn' })), '[4.480000e+02, 1.953125e-03]');
    equal(body(Tensor.from([6, -0.5, 1.5], { dtype: 'float4_e2m1fn' })), '[ 6. , -0.5,  1.5]');
    equal(body(Tensor.from([1, Number.NaN], { dtype: 'float8_e8m0fnu' })), '[ 1., nan]');
    equal(
      body(Tensor.from([2n ** 100n, -1n], { dtype: 'int128' })),
      '[1267650600228229401496703205376,                              -1]',
    );
    equal(
      body(
        Tensor.from(
          [
            [1, 2],
            [3, 40],
          ],
          { dtype: 'uint8x2' },
        ),
      ),
      '[( 1,  2), ( 3, 40)]',
    );
    equal(body(Tensor.from([{ re: 1, im: -2 }], { dtype: 'complex32' })), '[1.-2.j]');
    equal(body(Tensor.from([{ re: 1.5, im: -2 }, 3], { dtype: 'bcomplex32' })), '[1.5-2.j, 3. +0.j]');
    equal(body(Tensor.wrap(new Uint8Array(16).fill(1, 15), { dtype: 'float128' })), `[0x01${'00'.repeat(15)}]`);
    equal(body(Tensor.zeros([3, 0], 'int8')), '[]');
  });

  test(`${core}: large tensors show their edges and read nothing else`, () => {
    using one = Tensor.from([7], { dtype: 'uint8' });
    const huge = one.reshape([1, 1]).broadcastTo([1_000_000, 1_000_000]);
    const row = '[7, 7, 7, ..., 7, 7, 7]';
    const rows = [row, row, row, '...', row, row, row].join(',\n ');
    equal(String(huge), `Tensor uint8 [1000000, 1000000] cpu\n[${rows}]`);
    using wide = Tensor.zeros([1000], 'int8');
    equal(String(wide).includes('...'), false);
    using wider = Tensor.zeros([1001], 'int8');
    equal(String(wider), 'Tensor int8 [1001] cpu\n[0, 0, 0, ..., 0, 0, 0]');
  });
}
