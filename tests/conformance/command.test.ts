/** npx dlpack conformance: usage, exit codes, reports and expected failures. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { conformance, fileOf } from './command.js';

const plain = fileOf('tests/conformance/plain/subject.mjs');

function inFolder(body: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-conformance-'));
  try {
    body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('wrong usage exits with 2 and names what was expected', () =>
  inFolder((folder) => {
    const empty = join(folder, 'empty.mjs');
    writeFileSync(empty, 'export default {};');
    const list = join(folder, 'list.json');
    writeFileSync(list, '["p.symbol"]');
    const wrong: [args: string[], text: string][] = [
      [[], 'the path of one subject'],
      [[empty], '{ name, producer, consumer }'],
      [[plain, '--report', 'report.html'], '.md'],
      [[plain, '--level', 'may'], 'must or should'],
      [[plain, '--only', 'q.nothing'], 'the beginning of an id'],
      [[plain, '--expect', empty], 'a JSON object'],
      [[plain, '--expect', list], 'a JSON object'],
      [['--python', 'numbers'], 'numpy, ml_dtypes'],
    ];
    for (const [args, text] of wrong) {
      const { status, output } = conformance(args);
      ok(status === 2 && output.includes(text), `${args}: ${status} ${output}`);
    }
  }));

test('a case that crashes the process has failed, and the next case runs', () =>
  inFolder((folder) => {
    const subject = join(folder, 'subject.mjs');
    const report = join(folder, 'report.json');
    writeFileSync(
      subject,
      `import plain from ${JSON.stringify(plain)};
       const make = (recipe) => (recipe.name === 'f64' ? process.kill(process.pid, 'SIGKILL') : plain.producer.make(recipe));
       export default { name: 'crashing', producer: { make } };`,
    );
    const { status, output } = conformance([subject, '--only', 'p.values', '--report', report]);
    ok(status === 1 && output.includes('p.values.f64') && output.includes('SIGKILL'), output);
    const { counts } = JSON.parse(readFileSync(report, 'utf8')) as { counts: Record<string, number> };
    equal([counts.failed, counts.passed], [1, 25]);
  }));

test('expected failures are read from a file, and reports are written by their endings', () =>
  inFolder((folder) => {
    const [expected, xml, svg] = ['expect.json', 'r.xml', 'r.svg'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(expected, JSON.stringify({ 'p.symbol': 'does not fail' }));
    const { status, output } = conformance([plain, '--only', 'p.s', '--expect', expected, '--report', `${xml},${svg}`]);
    ok(status === 1 && output.includes('passed, but was expected to fail'), output);
    ok(readFileSync(xml, 'utf8').includes('<testsuite') && readFileSync(svg, 'utf8').startsWith('<svg'));
  }));
