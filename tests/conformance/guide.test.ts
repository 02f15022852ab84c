/** People copy the code of the guides, so it must do what they say. */

import { readFileSync } from 'node:fs';
import { casesOf, runCases, type Subject } from 'dlpack/conformance';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { environment } from './environment.js';

interface Taken {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly elements: Float32Array;
  readonly first: number;
  readonly isReadOnly: boolean;
  get(...index: number[]): number;
  dispose(): void;
}

const pageOf = (name: string) => readFileSync(new URL(`../../../docs/guides/${name}`, import.meta.url), 'utf8');
const block = pageOf('adopt.md').split('## Import, in JavaScript')[1]?.split('```js\n')[1] ?? '';
const [code = ''] = block.split('\nconst x = ');
const take = new Function(`${code.replace(/^import .*$/m, '')}; return take;`)() as (
  producer: object,
  copy: boolean | null,
) => Taken;

/** All indices of a shape, in row-major order. */
const indicesOf = (shape: readonly number[]): number[][] =>
  shape.includes(0)
    ? []
    : shape.reduce<number[][]>(
        (all, length) => all.flatMap((index) => Array.from({ length }, (_, i) => [...index, i])),
        [[]],
      );

const subject: Subject = {
  name: 'docs/guides/adopt.md',
  consumer: {
    without: ['device', 'gpuDevice'],
    consume(producer, { copy = null }) {
      const taken = take(producer, copy);
      const { shape, strides, elements, first } = taken;
      const write = (index: number, value: number) => {
        const place = indicesOf(shape)[index]?.reduce((sum, i, axis) => sum + i * (strides[axis] as number), first);
        elements[place as number] = value;
      };
      return {
        shape,
        bytes: () => new Uint8Array(Float32Array.from(indicesOf(shape), (index) => taken.get(...index)).buffer),
        ...(taken.isReadOnly ? {} : { write }),
        release: () => taken.dispose(),
      };
    },
  },
};

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
