/**
 * Mistakes to plant in a library on WebGPU: this package behind functions that break a rule. Each names a case that must
 * notice it.
 */

import { DLPACK, DLPACK_DEVICE, type ManagedTensor, type Tensor } from 'dlpack';
import type { Recipe, Subject, Taken } from 'dlpack/conformance';
import { gpuMemoryOf } from 'dlpack/webgpu';
import { subject } from './subject.js';

export interface GpuMistake {
  readonly what: string;
  /** A case that fails. */
  readonly found: string;
  readonly subject: Subject;
}

type Request = Record<string, unknown>;
type Managed = { -readonly [K in keyof ManagedTensor]: ManagedTensor[K] };
const producer = subject.producer as Required<Subject>['producer'];
const consumer = subject.consumer as Required<Subject>['consumer'];

/** The library with other exports. */
const exporting = (answer: (send: (request: Request) => Managed, request: Request) => object): Subject => ({
  ...subject,
  producer: {
    ...producer,
    make(recipe: Recipe, device?: object) {
      const tensor = producer.make(recipe, device) as Tensor;
      return {
        tensor,
        [DLPACK]: (request: Request = {}) => answer((sent) => ({ ...(tensor[DLPACK](sent) as Managed) }), request),
        [DLPACK_DEVICE]: () => tensor[DLPACK_DEVICE](),
      };
    },
    dispose: (made) => (made as { tensor: Tensor }).tensor.dispose(),
  },
});

/** The library that sees other managed tensors than those that were sent. */
const seeing = (change: (managed: Managed) => object): Subject => ({
  ...subject,
  consumer: {
    ...consumer,
    consume(given, options) {
      const { [DLPACK]: method } = given as { [DLPACK](request: object): Managed };
      return consumer.consume({ [DLPACK]: (request: object) => change(method(request)) }, options);
    },
  },
});

/** The library with other results. */
const taking = (change: (taken: Taken) => Taken): Subject => ({
  ...subject,
  consumer: { ...consumer, consume: (given, options) => change(consumer.consume(given, options)) },
});

const destroyed = (tensor: Tensor): void => {
  (gpuMemoryOf(tensor).buffer as unknown as { destroy(): void }).destroy();
  tensor.dispose();
};

export const gpuMistakes: readonly GpuMistake[] = [
  {
    what: 'sends a buffer without its GPUDevice',
    found: 'gp.data',
    subject: exporting((send, request) => {
      const managed = send(request);
      const { gpuBuffer } = managed.data as { gpuBuffer: object };
      return { ...managed, data: { gpuBuffer } };
    }),
  },
  {
    what: 'never copies',
    found: 'gp.copy.true',
    subject: exporting((send, request) => send({ ...request, copy: null })),
  },
  {
    what: 'destroys the buffer with the tensor',
    found: 'gp.lifetime',
    subject: { ...subject, producer: { ...producer, dispose: (tensor) => destroyed(tensor as Tensor) } },
  },
  {
    what: 'sends strides in bytes',
    found: 'gp.values.f32',
    subject: exporting((send, request) => {
      const managed = send(request);
      return { ...managed, strides: managed.strides?.map((stride) => stride * 4) };
    }),
  },
  {
    what: 'takes any stream',
    found: 'gp.stream.-1',
    subject: exporting((send, request) => send({ ...request, stream: null })),
  },
  {
    what: 'reads strides as row-major',
    found: 'gk.layout.transpose',
    subject: seeing((managed) => ({ ...managed, strides: null })),
  },
  {
    what: 'ignores the offset',
    found: 'gk.layout.slice',
    subject: seeing((managed) => ({ ...managed, byteOffset: 0 })),
  },
  {
    what: 'forgets that memory is read-only',
    found: 'gk.readonly',
    subject: seeing((managed) => ({ ...managed, flags: 0 })),
  },
  {
    what: 'takes a managed tensor twice',
    found: 'gk.once',
    subject: seeing((managed) => ({ ...managed })),
  },
  {
    what: 'never releases',
    found: 'gk.values',
    subject: taking((taken) => ({ ...taken, release: () => {} })),
  },
  {
    what: 'reads after it called the deleter',
    found: 'gk.submitted',
    subject: taking((taken) => ({ ...taken, bytes: () => turn().then(() => taken.bytes()) })),
  },
];

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
