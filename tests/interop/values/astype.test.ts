import type { BaseDType } from 'dlpack';
import { equal, ok } from '../../assert.js';
import { cores } from '../../cores.js';
import { testWith } from '../../harness.js';
import { missingPython, oracle } from './python.js';

interface Case {
  readonly from: BaseDType;
  readonly to: BaseDType;
  readonly values: Uint8Array;
  readonly expected: Uint8Array;
}

let known: Case[] | null = null;

function cases(): Case[] {
  if (known !== null) return known;
  known = [];
  const answer = oracle('astype');
  for (let names = answer.text(); names !== ''; names = answer.text()) {
    const [from, to] = names.split(' ') as [BaseDType, BaseDType];
    known.push({ from, to, values: answer.bytes(), expected: answer.bytes() });
  }
  return known;
}

for (const [name, { Tensor }] of cores) {
  testWith(missingPython, `${name}: astype between all pairs of types equals NumPy and ml_dtypes`, () => {
    let compared = 0;
    for (const { from, to, values, expected } of cases()) {
      if (expected.length === 0) continue;
      const source = Tensor.wrap(values.buffer, { dtype: from, padded: true });
      const wanted = Tensor.wrap(expected.buffer, { dtype: to, padded: true });
      equal(source.size, 256, `${from} to ${to}`);
      using cast = source.astype(to);
      using reversed = source.flip().astype(to);
      for (let i = 0; i < 256; i++) {
        const label = `${from} ${String(source.get(i))} to ${to}`;
        equal(cast.get(i), wanted.get(i), label);
        equal(reversed.get(255 - i), wanted.get(i), `${label}, reversed`);
      }
      compared++;
    }
    ok(compared >= 900, `${compared} pairs compared`);
  });
}

for (const [name, { Tensor }] of cores) {
  testWith(
    missingPython,
    `${name}: astype with a scale and an offset for each channel equals NumPy, bit for bit`,
    () => {
      const answer = oracle('scaled');
      for (let text = answer.text(); text !== ''; text = answer.text()) {
        const [from, to, axis, lengths] = text.split(' ') as [BaseDType, BaseDType, string, string];
        const shape = lengths.split(',').map(Number);
        const source = Tensor.wrap(answer.bytes().buffer, { dtype: from, shape });
        const factors = answer.float64();
        const [scale, offset] = [factors.slice(0, factors.length / 2), factors.slice(factors.length / 2)];
        const wanted = Tensor.wrap(answer.bytes().buffer, { dtype: to, shape });
        using made = source.astype(to, { scale, offset, axis: Number(axis) });
        equal(made.toArray(), wanted.toArray(), text);
        // The same elements in another order in memory.
        const turned = source.transpose().copy().transpose();
        using again = turned.astype(to, { scale, offset, axis: Number(axis) - shape.length });
        equal(again.toArray(), wanted.toArray(), `${text}, turned`);
      }
    },
  );
}
