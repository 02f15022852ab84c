/** jax-js, whose arrays dlpack/adapters turns into tensors of this package; it takes tensors as copies. */

import { type DLPackSource, formatDType, Tensor } from 'dlpack';
import { fromJaxJs, type JaxArray, type JaxModule, toJaxJs } from 'dlpack/adapters';
import type { Subject } from 'dlpack/conformance';
import { loadModule, versionOf } from '../../adapters/libraries.js';

interface Jax {
  readonly numpy: JaxModule<JaxArray>;
  init(device: string): Promise<unknown>;
  defaultDevice(device: string): unknown;
}

const jax = await loadModule<Jax>('@jax-js/jax/dist/index.js');
await jax.init('cpu');
jax.defaultDevice('cpu');
const names = ['float32', 'int32', 'uint32'];

export default {
  name: `jax-js ${versionOf('@jax-js/jax')}, through dlpack/adapters`,
  producer: {
    make: ({ dtype, shape, bytes }) => {
      const name = formatDType(dtype);
      if (!names.includes(name) || shape.includes(0)) return null;
      const array = toJaxJs(Tensor.wrap(bytes.slice(), { dtype: name, shape }), jax.numpy);
      return fromJaxJs(array);
    },
    dispose: (tensor) => (tensor as Tensor).dispose(),
  },
  consumer: {
    without: ['copy', 'device', 'gpuDevice'],
    copies: true,
    consume(producer) {
      const array = toJaxJs(producer as DLPackSource, jax.numpy);
      return {
        shape: array.shape,
        bytes: () => {
          const data = array.ref.dataSync();
          if (array.dtype === 'bool') return Uint8Array.from(data as Int32Array); // which the library has as 32 bits
          const { buffer, byteOffset, byteLength } = data as Float32Array;
          return new Uint8Array(buffer, byteOffset, byteLength).slice();
        },
        release: () => array.dispose(),
      };
    },
  },
} satisfies Subject;
