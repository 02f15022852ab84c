/** People copy examples/producer.ts and section 8 of docs/spec.md, so both must keep the rules of docs/spec.md. */

import { readFileSync } from 'node:fs';
import { fromDLPack } from 'dlpack';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

interface Matrix {
  readonly values: Float32Array;
}
type MatrixClass = new (rows: number, columns: number) => Matrix;

const page = readFileSync(new URL('../../../docs/spec.md', import.meta.url), 'utf8');
const section = page.split('\n## 8. ')[1]?.split('```js\n')[1]?.split('```')[0] ?? '';
const example = new URL('../../examples/producer.js', import.meta.url).href;

const classes: Record<string, () => Promise<MatrixClass>> = {
  'examples/producer.ts': async () => ((await import(example)) as { Matrix: MatrixClass }).Matrix,
  'section 8 of docs/spec.md': async () => new Function(`${section}; return Matrix;`)() as MatrixClass,
};

const refusals: readonly [tag: string, requests: readonly unknown[]][] = [
  [
    'BufferError',
    [
      { maxVersion: [0, 8] },
      { device: { type: 2, id: 0 } },
      { device: { type: 99, id: 0 } },
      { stream: 1n },
      { stream: 0n },
      { stream: -1n },
      { native: 'only' },
    ],
  ],
  [
    'TypeError',
    [
      5,
      { copy: 1 },
      { copy: 'yes' },
      { stream: 0 },
      { native: 1 },
      { maxVersion: [Number.NaN, 0] },
      { maxVersion: '1.3' },
      { device: 'cpu' },
    ],
  ],
];

for (const [name, load] of Object.entries(classes)) {
  test(`${name} answers requests as the specification says`, async () => {
    const Matrix = await load();
    const matrix = new Matrix(2, 2);
    const method = Reflect.get(matrix, Symbol.for('dlpack')) as (request?: unknown) => { flags: number; data: object };
    const ask = (request?: unknown) => method.call(matrix, request);
    const fields = { maxVersion: null, device: null, copy: null, stream: null, native: null };
    for (const request of [
      undefined,
      null,
      {},
      fields,
      { copy: false },
      { device: { type: 1, id: 5 } },
      { later: 1 },
    ]) {
      const { flags, data } = ask(request);
      equal(flags, 0);
      ok(data === matrix.values.buffer);
    }
    const copy = ask({ copy: true });
    equal(copy.flags, 2);
    ok(copy.data !== matrix.values.buffer);
    for (const [tag, requests] of refusals) {
      for (const request of requests)
        equal(
          tagOf(() => ask(request)),
          tag,
          JSON.stringify(Object.keys(request as object)),
        );
    }
    const x = fromDLPack(matrix);
    matrix.values[3] = 7;
    equal(x.get(1, 1), 7);
  });
}

/** The name that the thrown error carries. */
function tagOf(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return (error as { tag?: unknown }).tag;
  }
}
