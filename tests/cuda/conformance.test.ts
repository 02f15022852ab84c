/** The cases of dlpack/conformance for pinned, managed and device memory. */

import type { Tensor } from 'dlpack';
import { casesOf, formatReport, runCases, type StreamSubject, type Subject } from 'dlpack/conformance';
import { conformancePeer } from 'dlpack/native';
import { equal, ok } from '../assert.js';
import { checkPage } from '../conformance/page.js';
import subject from '../conformance/subjects/cuda.js';
import { testWith } from '../harness.js';
import { fake, fakeMissing } from './fake.js';
import { cudaTest } from './machine.js';

const ofDevices = (tested: Subject) =>
  casesOf(tested, { peer: conformancePeer() }).filter(({ id }) => id.startsWith('dp.'));

cudaTest('streams, pinned and managed memory follow the specification', async () => {
  const report = await runCases(ofDevices(subject), { subject: subject.name });
  ok(report.conforms && report.counts.passed > 15, formatReport(report, 'text'));
  const skipped = report.results.filter(({ outcome }) => outcome === 'skipped');
  ok(
    skipped.every(({ id }) => !id.startsWith('dp.cuda')),
    'only other devices have no memory here',
  );
});

testWith(fakeMissing, 'the report of CUDA', () =>
  checkPage('dlpack-cuda', 'build/tests/conformance/subjects/cuda.js', {}, 'dp.'),
);

type Request = Record<string, unknown>;

/** The subject with exports that its requests go through `change` first. */
const changed = (change: (request: Request) => object): Subject => ({
  ...subject,
  producer: {
    ...subject.producer,
    makeOn(recipe, device) {
      const tensor = subject.producer.makeOn(recipe, device) as (Tensor & Record<symbol, unknown>) | null;
      if (tensor === null) return null;
      const method = Symbol.for('dlpack');
      const answer = tensor[method] as (request: object) => object;
      return { tensor, [method]: (request: Request) => answer.call(tensor, change(request)) };
    },
    streams: (device) => {
      const streams = subject.producer.streams(device);
      const write: StreamSubject['write'] = (made, bytes) => streams?.write((made as { tensor: Tensor }).tensor, bytes);
      return streams && { ...streams, write };
    },
    dispose: (made) => subject.producer.dispose((made as { tensor: Tensor }).tensor),
  },
});

cudaTest('a library that ignores streams, or the requested device, breaks rules', async () => {
  const failures = async (tested: Subject) =>
    (await runCases(ofDevices(tested))).results.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id);
  equal(await failures(changed(({ stream: _, ...request }) => request)), [
    'dp.cuda.stream.not0',
    'dp.cuda.stream.not-2',
    'dp.cudaManaged.stream.not0',
    'dp.cudaManaged.stream.not-2',
    'dp.cudaHost.stream.none',
    'dp.cuda.order.handle',
  ]);
  equal(await failures(changed(({ device: _, ...request }) => request)), [
    'dp.cudaHost.host',
    'dp.cudaManaged.host',
    'dp.cuda.order.host',
    'dp.cudaManaged.order.host',
    'dp.cuda.host',
  ]);
  // The producer then does nothing, and leaves the order to a consumer that did not ask for that.
  const unordered = await failures(changed((request) => ('stream' in request ? { ...request, stream: -1n } : request)));
  equal(
    unordered.filter((id) => id.includes('order')),
    ['cuda.order.null', 'cuda.order.1', 'cuda.order.2', 'cuda.order.handle'].map((id) => `dp.${id}`),
  );
  ok(
    fake.errors().every((text) => text.startsWith('race: ')),
    'the driver sees the same mistake, and nothing else',
  );
  fake.reset();
});
