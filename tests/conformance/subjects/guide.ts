/** The consumer in docs/guides/adopt.md, as the page shows it. */

import { readFileSync } from 'node:fs';
import type { Subject } from 'dlpack/conformance';

interface Taken {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly elements: Float32Array;
  readonly first: number;
  readonly isReadOnly: boolean;
  get(...index: number[]): number;
  dispose(): void;
}

const page = readFileSync(new URL('../../../../docs/guides/adopt.md', import.meta.url), 'utf8');
const block = page.split('## Import, in JavaScript')[1]?.split('```js\n')[1] ?? '';
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

export default {
  name: 'the consumer of the guide',
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
} satisfies Subject;
