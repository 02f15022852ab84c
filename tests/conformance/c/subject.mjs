// The library of tensor.c as a subject. `npm test -- tests/conformance` compiles it.

import { createRequire } from 'node:module';

const { make, dispose, take, bytes, write, release } = createRequire(import.meta.url)(
  '../../../build/native/conformance_c.node',
);

/** Other device types: the library has handles of such devices, not the devices, and follows their rules for numbers. */
const elsewhere = [3, 4, 7, 8, 9, 10, 11, 12, 14, 16, 17, 18, 20];

const host = { type: 1, id: 0 };
const tensorOf = ({ dtype, shape, bytes: elements, isPadded }, flags, { type, id } = host, isView = false) =>
  make(elements, [...shape], dtype.code, dtype.bits, dtype.lanes, flags | (isPadded ? 4 : 0), type, id, isView);

export default {
  name: 'the C library',
  producer: {
    forms: ['buffer', 'external'],
    make: (recipe) => tensorOf(recipe, 0),
    makeReadOnly: (recipe) => tensorOf(recipe, 1),
    makeOn: (recipe, device) => (elsewhere.includes(device.type) ? tensorOf(recipe, 0, device) : null),
    wrap: (recipe, memory) =>
      memory instanceof ArrayBuffer
        ? tensorOf({ ...recipe, bytes: new Uint8Array(memory, 0, recipe.bytes.length) }, 0, host, true)
        : null,
    dispose,
  },
  consumer: {
    forms: ['external'],
    without: ['device'],
    consume(producer, { copy }) {
      const taken = take(producer, copy);
      return {
        shape: taken.shape,
        bytes: () => bytes(taken),
        write: (index, value) => write(taken, index, value),
        release: () => release(taken),
      };
    },
  },
};
