/** People copy the code of the guides, so it must do what they say. */

import { readFileSync } from 'node:fs';
import { casesOf, runCases, type Subject } from 'dlpack/conformance';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { environment } from './environment.js';
import subject from './subjects/guide.js';

const pageOf = (name: string) => readFileSync(new URL(`../../../docs/guides/${name}`, import.meta.url), 'utf8');
test('the consumer of the guide conforms', async () => {
  const { results } = await runCases(casesOf(subject, environment), { subject: subject.name });
  equal(
    results.filter(({ outcome }) => outcome === 'failed').map(({ id, message }) => `${id}: ${message}`),
    [],
  );
  const asked = results.find(({ id }) => id === 'c.device.checked');
  equal(asked?.outcome, 'skipped', 'a case with an option that it does not have');
});

test('the first subject of the guide on conformance breaks as many rules as the guide says', async () => {
  const guide = pageOf('conformance.md');
  const [code = ''] = (guide.split('```js\n')[1] ?? '').split('```');
  const subject = new Function(code.replace('export default', 'return'))() as Subject;
  const { counts, conforms } = await runCases(casesOf(subject, environment));
  equal(conforms, false);
  ok(guide.includes(`names ${counts.failed} broken rules`) && counts.passed > 30, JSON.stringify(counts));
});
