/** Every adapter refuses an option that it does not know. */

import { Tensor } from 'dlpack';
import * as adapters from 'dlpack/adapters';
import { equal, throws } from '../assert.js';
import { test } from '../harness.js';

type AnyFunction = (...args: unknown[]) => unknown;

/** The options of each function beside `copy`, and `adopt` for `fromX`. */
const own: Record<string, object> = {
  fromArrow: { nulls: 1 },
  fromAudioBuffer: { channel: 0 },
  fromDuckDB: { nulls: 1 },
  fromJaxJs: { gpuDevice: {} },
  fromLiteRT: { gpuDevice: {} },
  fromMLTensor: { context: {}, gpuDevice: {} },
  fromOnnxRuntime: { gpuDevice: {} },
  fromSharp: { dtype: 1 },
  fromTensorFlow: { backend: {} },
  fromTransformers: { gpuDevice: {} },
  fromTypeGPU: { gpuDevice: {} },
  toAudioBuffer: { sampleRate: 1 },
  toJaxJs: { gpuDevice: {} },
  toLiteRT: { gpuDevice: {} },
  toOnnxRuntime: { gpuDevice: {} },
  toTransformers: { gpuDevice: {} },
  toTvmjs: { device: {} },
  toVideoFrame: { timestamp: 1, duration: 1 },
};
/** A chunk of zarrita is a plain object, so its `toX` takes no library. */
const withoutLibrary = ['toZarrita'];

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
  const isFrom = name.startsWith('from');
  // One shape for all: fromX(object, options), toX(tensor, library, options).
  const call = (options: unknown): Promise<unknown> => {
    const args = isFrom ? [{}, options] : withoutLibrary.includes(name) ? [x, options] : [x, {}, options];
    return failureOf(() => (convert as AnyFunction)(...args));
  };

  test(`${name} names an unknown option and the nearest known one`, async () => {
    const [unknown, wrong] = [await call({ cpoy: true }), await call('copy')];
    throws('TypeError', "received 'cpoy' (string); did you mean 'copy'?", () => {
      throw unknown;
    });
    throws('TypeError', 'an object such as { copy: true } for options', () => {
      throw wrong;
    });
  });

  test(`${name} takes its own options, and no others`, async () => {
    const isRefused = async (options: object) => String(await call(options)).includes('for options');
    const names = { copy: undefined, ...(isFrom ? { adopt: false } : {}), ...own[name] };
    equal(await isRefused(names), false);
    for (const other of ['adopt', 'gpuDevice', 'backend', 'device', 'nulls', 'sampleRate']) {
      if (name === 'fromVideoFrame' && other === 'device') continue; // a tensor on the GPU, with the options of fromImage
      equal(await isRefused({ [other]: undefined }), !(other in names), other);
    }
  });
}

test('adapt passes its options on', () => {
  const image = { data: new Uint8ClampedArray(4), width: 1, height: 1 };
  throws('TypeError', "did you mean 'adopt'?", () => adapters.adapt(image, { adpot: true } as never));
  throws('TypeError', 'gpuDevice', () => adapters.adapt(image, { gpuDevice: {} }));
  equal(adapters.adapt(image, { copy: true }).shape, [1, 1, 4]);
});
