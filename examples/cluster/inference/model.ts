/** The model of main.ts: ONNX Runtime in a process of its own. Ray's workers import this module. */

import type { Tensor } from 'dlpack';
import { fromOnnxRuntime } from 'dlpack/adapters';
import * as ray from 'dlpack/ray';
import * as ort from 'onnxruntime-node';

// y = x + x for a float32 matrix of any size. Your own program passes the path of its model.
const model =
  'CAg6VwoOCgF4CgF4EgF5IgNBZGQSBWdyYXBoWh4KAXgSGQoXCAESEwoGEgRyb3dzCgkSB2NvbHVtbnNiHgoBeRIZChcIARITCgYSBHJvd3MKCRIHY29sdW1uc0IECgAQDQ==';

export class Model {
  readonly #session = ort.InferenceSession.create(Buffer.from(model, 'base64'), { intraOpNumThreads: 1 });

  /** ONNX Runtime reads the batch where it lies, in the object store. The result is copied into the store once. */
  async predict(batch: Tensor<'float32'>): Promise<Tensor<'float32'>> {
    const session = await this.#session;
    const input = new ort.Tensor('float32', batch.unsafeData(), batch.shape);
    const { y } = await session.run({ x: input });
    return fromOnnxRuntime(y as ort.TypedTensor<'float32'>, { adopt: true });
  }

  pid(): number {
    return process.pid;
  }
}

/** Each actor uses one CPU. Ray starts an actor that died again, and repeats the calls that it had. */
export const RemoteModel = ray.actor<typeof Model>(import.meta.url, 'Model', {
  numCpus: 1,
  maxRestarts: 3,
  maxTaskRetries: 3,
});
