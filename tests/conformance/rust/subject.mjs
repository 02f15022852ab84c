// The Rust library as a subject. `npm test -- tests/conformance` builds it where cargo is installed.

import { RustTensor, take } from './tensor.mjs';

const tensorOf = ({ bytes, shape, dtype, isPadded }, flags) =>
  new RustTensor(bytes, [...shape], dtype, flags | (isPadded ? 4 : 0));

export default {
  name: 'the Rust library',
  producer: {
    forms: ['buffer', 'external'],
    make: (recipe) => tensorOf(recipe, 0),
    makeReadOnly: (recipe) => tensorOf(recipe, 1),
    dispose: (tensor) => tensor.dispose(),
  },
  consumer: {
    forms: ['external'],
    without: ['device'],
    consume(producer, { copy }) {
      const taken = take(producer, copy);
      return {
        shape: taken.shape,
        bytes: () => taken.bytes(),
        write: (index, value) => taken.write(index, value),
        release: () => taken.release(),
      };
    },
  },
};
