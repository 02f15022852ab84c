/** Device, pinned and managed memory of this package, on the driver that tests/cuda makes: no GPU takes part. */

import { formatDevice, formatDType, Tensor } from 'dlpack';
import type { StreamSubject, Subject } from 'dlpack/conformance';
import { Stream } from 'dlpack/cuda';
import { fakeDriver, made } from '../../cuda/fake.js';
import '../../cuda/two-devices.js';

const places = ['cuda:0', 'cuda_host', 'cuda_managed'];

/** What the last write used. Its end would order the default stream after the write. */
let used: { dispose(): void }[] = [];

/** Work on a stream of that driver runs only when something waits for it, so a missing order shows as old elements. */
const streams: StreamSubject = {
  make: () => made(fakeDriver, 'cuStreamCreateWithPriority', 1, 0),
  destroy: (stream) => fakeDriver.must('cuStreamDestroy_v2', stream),
  write(tensor, bytes) {
    const { dtype, shape } = tensor as Tensor;
    const elements = Tensor.wrap(bytes.slice(), { dtype, shape }).to('cuda:0');
    const own = new Stream();
    own.use(() => (tensor as Tensor).copyFrom(elements));
    used.push(own, elements);
  },
  read(stream, address, length) {
    const bytes = new Uint8Array(length);
    fakeDriver.must('cuMemcpyAsync', bytes, address, length, stream);
    fakeDriver.must('cuStreamSynchronize', stream);
    return bytes;
  },
};

export default {
  name: 'dlpack/cuda, on a driver made for tests',
  producer: {
    forms: ['external'],
    make: () => null,
    makeOn({ dtype, shape, bytes }, device) {
      const place = formatDevice(device);
      if (!places.includes(place)) return null;
      return Tensor.wrap(bytes.slice(), { dtype: formatDType(dtype), shape }).to(place);
    },
    streams: (device) => (places.includes(formatDevice(device)) ? streams : null),
    dispose(tensor) {
      for (const owned of [tensor as Tensor, ...used]) owned.dispose();
      used = [];
    },
  },
} satisfies Subject;
