/** This package as a library under test: with native code, or as the pure core that browsers load. */

import type * as core from 'dlpack';
import type { Form, Subject } from 'dlpack/conformance';
import { WasmHeap } from 'dlpack/wasm';

type Core = Pick<typeof core, 'Tensor' | 'fromDLPack' | 'formatDType' | 'formatDevice'>;

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength).slice();

const view = (shape: readonly number[], elements: readonly number[], make: (tensor: core.Tensor) => object) => ({
  shape,
  elements,
  make: (tensor: object) => make(tensor as core.Tensor),
});

export function packageSubject(name: string, core: Core, forms: readonly Form[] = ['buffer']): Subject {
  const { Tensor, fromDLPack, formatDType, formatDevice } = core;
  return {
    name,
    producer: {
      forms,
      make: ({ dtype, shape, bytes, isPadded }) => {
        const wrapped = Tensor.wrap(bytes.slice(), { dtype: formatDType(dtype), shape, padded: isPadded });
        return isPadded ? wrapped : wrapped.copy();
      },
      makeReadOnly: ({ dtype, shape, bytes }) =>
        Tensor.wrap(bytes.slice(), { dtype: formatDType(dtype), shape, readonly: true }),
      wrap: ({ dtype, shape, isPadded, bytes }, memory, byteOffset) =>
        'buffer' in memory // a WebAssembly.Memory
          ? new WasmHeap({ memory: memory as WebAssembly.Memory }).tensorAt(byteOffset, {
              dtype: formatDType(dtype),
              shape,
            })
          : Tensor.wrap(new Uint8Array(memory, byteOffset, bytes.length), {
              dtype: formatDType(dtype),
              shape,
              padded: isPadded,
            }),
      dispose: (tensor) => (tensor as core.Tensor).dispose(),
      views: {
        transpose: view([3, 2], [0, 3, 1, 4, 2, 5], (x) => x.transpose()),
        slice: view([2, 2], [1, 2, 4, 5], (x) => x.slice(null, [1, 3])),
        flip: view([2, 3], [5, 4, 3, 2, 1, 0], (x) => x.flip()),
        broadcast: view([2, 2, 3], [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5], (x) => x.broadcastTo([2, 2, 3])),
        row: view([3], [3, 4, 5], (x) => x.slice(1)),
        packed: { ...view([2], [4, 5], (x) => x.slice(1, [0, 2])), recipe: 'i4' },
        packedOdd: { ...view([2], [1, 2], (x) => x.slice(0, [1, 3])), recipe: 'i4', startsInsideByte: true },
      },
    },
    consumer: {
      forms,
      consume(producer, { copy, device }) {
        const tensor = fromDLPack(producer as core.DLPackSource, {
          ...(copy === undefined ? {} : { copy }),
          ...(device === undefined ? {} : { device: formatDevice(device) }),
        });
        return {
          shape: tensor.shape,
          bytes: () => {
            const compact = tensor.contiguous();
            try {
              return bytesOf(compact.unsafeData());
            } finally {
              compact.dispose();
            }
          },
          write: (index, value) => {
            tensor.data[index] = value;
          },
          tensor,
          release: () => tensor.dispose(),
        };
      },
    },
  };
}
