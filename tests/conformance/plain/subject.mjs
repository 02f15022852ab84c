// The library of tensor.mjs as a subject: npx dlpack conformance tests/conformance/plain/subject.mjs

import * as plain from './tensor.mjs';

export const subjectOf = ({ PlainTensor, take }) => ({
  name: 'the plain JavaScript library',
  producer: {
    make: ({ bytes, shape, dtype, isPadded }) => PlainTensor.fromBytes(bytes, shape, dtype, { isPadded }),
    makeReadOnly: ({ bytes, shape, dtype }) => PlainTensor.fromBytes(bytes, shape, dtype, { isReadOnly: true }),
    wrap: ({ shape, dtype, isPadded }, memory, byteOffset) =>
      PlainTensor.over(memory, shape, dtype, { isPadded, byteOffset }),
    dispose: (tensor) => tensor.dispose(),
    views: {
      transpose: { make: (x) => x.view([3, 2], [1, 3]), shape: [3, 2], elements: [0, 3, 1, 4, 2, 5] },
      flip: { make: (x) => x.view([6], [-1], 5), shape: [6], elements: [5, 4, 3, 2, 1, 0] },
      broadcast: { make: (x) => x.view([2, 3], [0, 1], 3), shape: [2, 3], elements: [3, 4, 5, 3, 4, 5] },
      packed: { recipe: 'i4', make: (x) => x.view([2], [1], 2), shape: [2], elements: [2, 3] },
      packedOdd: {
        recipe: 'i4',
        make: (x) => x.view([2], [1], 1),
        shape: [2],
        elements: [1, 2],
        startsInsideByte: true,
      },
    },
  },
  consumer: {
    consume(producer, options) {
      const tensor = take(producer, options);
      return {
        shape: tensor.shape,
        bytes: () => tensor.bytes(),
        write: (index, value) => tensor.write(index, value),
        tensor,
        release: () => tensor.dispose(),
      };
    },
  },
});

export default subjectOf(plain);
