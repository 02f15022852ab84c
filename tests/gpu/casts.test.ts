/** Casts on a real device: the bits of the host's casts, for every value of the small types. */

import { Tensor } from 'dlpack';
import 'dlpack/cuda';
import { equal } from '../assert.js';
import { bytesOf, castPairs, castValues, compareCast, compareScaled, scaledPairs } from '../cuda/cast-values.js';
import { test } from '../harness.js';
import { randomFrom } from '../random.js';

test('every value of the small types, and float32 numbers around them, as the host converts them', () => {
  for (const pair of castPairs) {
    using values = castValues(pair, 1);
    compareCast(pair, values);
  }
});

test('large tensors with random bits, views, and addresses that vectors cannot use', () => {
  const count = (1 << 22) + 77;
  const random = randomFrom(5).bytes(count * 4);
  using host = Tensor.from(new Float32Array(random.buffer, random.byteOffset, count));
  using there = host.to('cuda:0');
  for (const dtype of ['float16', 'bfloat16', 'float8_e4m3fn', 'float8_e5m2', 'float8_e4m3fnuz'] as const) {
    using down = there.astype(dtype);
    using wanted = host.astype(dtype);
    using back = down.to('cpu');
    equal(Buffer.compare(bytesOf(back), bytesOf(wanted)), 0, dtype);
    using up = down.slice([3, count]).astype('float32').to('cpu');
    using wantedUp = wanted.slice([3, count]).astype('float32');
    equal(Buffer.compare(bytesOf(up), bytesOf(wantedUp)), 0, `${dtype} to float32, misaligned`);
    using turned = there.slice([0, 4096]).reshape([64, 64]).transpose().astype(dtype).to('cpu');
    using wantedTurned = host.slice([0, 4096]).reshape([64, 64]).transpose().astype(dtype);
    equal(Buffer.compare(bytesOf(turned), bytesOf(wantedTurned)), 0, `${dtype}, transposed`);
  }
});

test('a scale and an offset, for all elements and for each channel, as the host converts them', () => {
  for (const [from, to] of scaledPairs) compareScaled(from, to);
});
