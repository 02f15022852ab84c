/** The package with GPUBuffers follows the specification. */

import { casesOf, formatReport, runCases } from 'dlpack/conformance';
import { equal, ok } from '../assert.js';
import { testWith } from '../harness.js';
import { newDevice, noAdapter } from './device.js';
import { gpuMistakes } from './mistakes.js';
import { subject } from './subject.js';

const first = await newDevice('first');
const second = await newDevice('second');

testWith(first === null && noAdapter, 'the kit on GPUBuffers of two GPUDevices', async () => {
  const gpuDevices = [first as object, second as object] as const;
  const makeGPUDevice = async () => (await newDevice('lost')) as object;
  const report = await runCases(casesOf(subject, { gpuDevices, makeGPUDevice }), { subject: subject.name });
  ok(report.conforms && report.counts.skipped === 0 && report.counts.passed > 30, formatReport(report, 'text'));
});

testWith(first === null && noAdapter, `the kit finds each of ${gpuMistakes.length} mistakes on WebGPU`, async () => {
  const gpuDevices = [first as object, second as object] as const;
  const missed: string[] = [];
  for (const { what, found, subject } of gpuMistakes) {
    const cases = casesOf(subject, { gpuDevices }).filter(({ id }) => id === found);
    const { results } = await runCases(cases);
    if (results[0]?.outcome !== 'failed') missed.push(`${what}: ${found}`);
  }
  equal(missed, []);
});
