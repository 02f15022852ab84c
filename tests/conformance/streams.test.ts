/** Streams on devices that this process does not have: the package passes their handles on, and nothing else. */

import { type DLPackSource, fromDLPack, type Tensor } from 'dlpack';
import { casesOf, formatReport, runCases, type Subject } from 'dlpack/conformance';
import { conformancePeer } from 'dlpack/native';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

/** WebGPU has no handles, and the other ones have streams or are the host's: tests/cuda has them. */
const elsewhere = [4, 7, 8, 9, 12, 14, 16, 17, 18];

const subject: Subject = {
  name: 'dlpack with handles of other devices',
  producer: {
    forms: ['external'],
    make: () => null,
    makeOn({ dtype, shape }, device) {
      if (!elsewhere.includes(device.type)) return null;
      const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, length) => product * length, 1));
      const handle = {
        version: [1, 3],
        flags: 0,
        data: 4096n,
        byteOffset: 0,
        shape: [...shape],
        strides,
        dtype,
        device,
      };
      return fromDLPack({ [Symbol.for('dlpack')]: () => handle } as unknown as DLPackSource);
    },
    dispose: (tensor) => (tensor as Tensor).dispose(),
  },
};

test('a device without streams takes null, and refuses every stream', async () => {
  const cases = casesOf(subject, { peer: conformancePeer() }).filter(({ id }) => id.endsWith('.stream.none'));
  const report = await runCases(cases, { subject: subject.name });
  ok(report.conforms, formatReport(report, 'text'));
  equal(report.counts.passed, elsewhere.length);
});
