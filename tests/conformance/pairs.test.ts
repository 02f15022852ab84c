/** Every library of this repository with every other: written from the text alone, they understand each other. */

import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import * as dlpack from 'dlpack';
import { formatReport, pairCases, runCases, type Subject } from 'dlpack/conformance';
import { ok } from '../assert.js';
import { test } from '../harness.js';
import { fileOf } from './command.js';
import { packageSubject } from './subjects/package.js';

const load = async (path: string): Promise<Subject> => (await import(pathToFileURL(fileOf(path)).href)).default;

const native = ['c', 'rust'].filter((name) => existsSync(fileOf(`build/native/conformance_${name}.node`)));
const subjects = [
  packageSubject('dlpack', dlpack, ['buffer', 'external']),
  await load('tests/conformance/plain/subject.mjs'),
  ...(await Promise.all(native.map((name) => load(`tests/conformance/${name}/subject.mjs`)))),
];

test(`each of ${subjects.length} libraries exchanges with each other`, async () => {
  const cases = pairCases(subjects);
  const report = await runCases(cases, { subject: 'pairs' });
  ok(cases.length >= 4 * 26 * 3, `${cases.length} cases`);
  ok(report.conforms, formatReport(report, 'text'));
});
