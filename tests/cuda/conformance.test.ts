/** The cases of dlpack/conformance for pinned, managed and device memory. */

import { formatDevice, formatDType, Tensor } from 'dlpack';
import { casesOf, formatReport, runCases, type Subject } from 'dlpack/conformance';
import { conformancePeer } from 'dlpack/native';
import { equal, ok } from '../assert.js';
import { cudaTest } from './machine.js';

const places = ['cuda:0', 'cuda_host', 'cuda_managed'];

const subject: Subject = {
  name: 'dlpack on CUDA',
  producer: {
    forms: ['external'],
    make: () => null,
    makeOn({ dtype, shape, bytes }, device) {
      const place = formatDevice(device);
      if (!places.includes(place)) return null;
      const host = Tensor.wrap(bytes.slice(), { dtype: formatDType(dtype), shape });
      return host.to(place);
    },
    dispose: (tensor) => (tensor as Tensor).dispose(),
  },
};

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

/** The subject with exports that its requests go through `change` first. */
const changed = (change: (request: Record<string, unknown>) => object): Subject => ({
  ...subject,
  producer: {
    ...(subject.producer as NonNullable<Subject['producer']>),
    makeOn(recipe, device) {
      const tensor = subject.producer?.makeOn?.(recipe, device) as Record<symbol, (request: object) => object> | null;
      if (tensor === null) return null;
      const method = Symbol.for('dlpack');
      return { [method]: (request: Record<string, unknown>) => tensor[method]?.(change(request)) };
    },
    dispose() {},
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
  ]);
  equal(await failures(changed(({ device: _, ...request }) => request)), [
    'dp.cudaHost.host',
    'dp.cudaManaged.host',
    'dp.cuda.host',
  ]);
});
