/** Every adapter refuses an option that it does not know. */

import { Tensor } from 'dlpack';
import * as adapters from 'dlpack/adapters';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

type AnyFunction = (...args: unknown[]) => unknown;

/** The arguments before the options; no entry: the function has no options. */
const places: Record<string, number> = {
  fromMLTensor: 2,
  toArrow: 2,
  toImageData: 2,
  toJaxJs: 2,
  toLiteRT: 2,
  toNdarray: 2,
  toOnnxRuntime: 2,
  toSharp: 2,
  toStdlib: 2,
  toTensorFlow: 2,
  toTransformers: 2,
  toZarrita: 1,
};
const without = ['toAudioBuffer', 'toMLTensor', 'toTvmjs', 'toVideoFrame'];
const more: Record<string, object> = {
  fromArrow: { nulls: 1 },
  fromAudioBuffer: { channel: 0 },
  fromSharp: { dtype: 1 },
};

/** What a call throws or rejects with. */
async function failureOf(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}

const x = Tensor.from([1, 2], { dtype: 'float32' });
for (const [name, convert] of Object.entries(adapters).filter(([key]) => /^(from|to)[A-Z]/.test(key))) {
  if (without.includes(name)) continue;
  const isFrom = name.startsWith('from');
  const before = (places[name] ?? (isFrom ? 1 : 0)) - 1;
  const call = (options: unknown): Promise<unknown> => {
    const args = [isFrom ? {} : x, ...new Array(before).fill({}), options];
    return failureOf(() => (convert as AnyFunction)(...args));
  };

  test(`${name} names an unknown option and the nearest known one`, async () => {
    ok(before >= 0, 'this test has no place for its options');
    const [unknown, wrong] = [await call({ cpoy: true }), await call('copy')];
    throws('TypeError', "received 'cpoy' (string); did you mean 'copy'?", () => {
      throw unknown;
    });
    throws('TypeError', 'an object such as { copy: true } for options', () => {
      throw wrong;
    });
  });

  test(`${name} takes its own options`, async () => {
    const names = isFrom ? { adopt: false, backend: undefined, ...more[name] } : {};
    const error = await call({ copy: undefined, gpuDevice: undefined, ...names });
    equal(String(error).includes('for options'), false, String(error));
  });
}

test('adapt passes its options on', () => {
  const image = { data: new Uint8ClampedArray(4), width: 1, height: 1 };
  throws('TypeError', "did you mean 'adopt'?", () => adapters.adapt(image, { adpot: true } as never));
  equal(adapters.adapt(image, { copy: true }).shape, [1, 1, 4]);
});
