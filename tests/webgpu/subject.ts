/** This package with GPUBuffers as a library under test, in pages and on Node with Dawn. */

import { type DLPackSource, formatDType, fromDLPack, type GPUDeviceLike, Tensor } from 'dlpack';
import type { Subject } from 'dlpack/conformance';
import 'dlpack/webgpu';

async function bytesOf(tensor: Tensor): Promise<Uint8Array> {
  const compact = tensor.contiguous();
  try {
    const { buffer, byteOffset, byteLength } = (await compact.toAsync('cpu')).unsafeData();
    return new Uint8Array(buffer, byteOffset, byteLength).slice();
  } finally {
    compact.dispose();
  }
}

export const subject: Subject = {
  name: 'dlpack on WebGPU',
  producer: {
    forms: ['gpuBuffer'],
    make: ({ dtype, shape, bytes }, device) =>
      Tensor.wrap(bytes.slice(), { dtype: formatDType(dtype), shape }).to(device as GPUDeviceLike),
    dispose: (tensor) => (tensor as Tensor).dispose(),
  },
  consumer: {
    forms: ['gpuBuffer'],
    consume(producer, { gpuDevice: device }) {
      const tensor = fromDLPack(
        producer as DLPackSource,
        device === undefined ? {} : { device: device as GPUDeviceLike },
      );
      return { shape: tensor.shape, bytes: () => bytesOf(tensor), tensor, release: () => tensor.dispose() };
    },
  },
};
