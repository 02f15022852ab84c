/** The kit in a page, where a frame is the second realm. */

import * as dlpack from 'dlpack';
import { casesOf, type Environment, formatReport, runCases, type Subject } from 'dlpack/conformance';
import { ok } from '../../assert.js';
import { packageSubject } from '../../conformance/subjects/package.js';
import { collect, test } from '../../harness.js';

const frame = document.createElement('iframe');
document.body.append(frame);
const { eval: evaluate } = frame.contentWindow as unknown as { eval(code: string): unknown };
const environment: Environment = { collect, evaluate };

test('the package conforms, and no case needs more than a page has', async () => {
  const subject = packageSubject('dlpack', dlpack);
  const report = await runCases(casesOf(subject, environment), { subject: subject.name });
  ok(report.conforms && report.counts.passed > 300, formatReport(report, 'text'));
  ok(report.results.find(({ id }) => id === 'c.realm')?.outcome === 'passed');
});

test('a library in plain JavaScript conforms, too', async () => {
  const { default: subject } = (await import(String('/tests/conformance/plain/subject.mjs'))) as { default: Subject };
  const report = await runCases(casesOf(subject, environment), { subject: subject.name });
  ok(report.conforms && report.counts.passed > 300, formatReport(report, 'text'));
});
