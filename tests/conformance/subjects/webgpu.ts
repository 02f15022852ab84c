/** This package with GPUBuffers, on Node with Dawn. */

import type { Subject } from 'dlpack/conformance';
import { load } from '../../adapters/libraries.js';
import { subject } from '../../webgpu/subject.js';

interface Dawn {
  create(options: readonly string[]): {
    requestAdapter(): Promise<{ requestDevice(): Promise<object> } | null>;
  };
  readonly globals: object;
}

const { create, globals } = load<Dawn>('webgpu');
Object.assign(globalThis, globals);
const gpu = create([]);

async function gpuDevice(): Promise<object> {
  const adapter = await gpu.requestAdapter();
  if (adapter === null) throw new Error('expected a WebGPU adapter but Dawn finds none');
  return adapter.requestDevice();
}

export default { ...subject, gpuDevice } satisfies Subject;
