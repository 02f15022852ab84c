/** Comparison, hash, JSON and copies by structure, as in Python. */

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import {
  deepCopy,
  fromJSONGraph,
  List,
  objectClass,
  structuralEqual,
  structuralHash,
  toJSONGraph,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { testWith } from '../../harness.js';
import { ffiMissing, testing } from './peer.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const values = [[1, 'two', [2.5, null]], { a: [1], b: true }, 'a text that is long enough', 7];

testWith(ffiMissing, 'values with equal structure are equal', () => {
  for (const value of values) {
    ok(structuralEqual(value, structuredClone(value)), JSON.stringify(value));
    ok(structuralHash(value) === structuralHash(structuredClone(value)));
    ok(!structuralEqual(value, [value]) && structuralHash(value) !== structuralHash([value]));
  }
  const tensor = (last: number) => Tensor.from([1, last], { dtype: 'float32' });
  ok(structuralEqual(tensor(2), tensor(2)) && !structuralEqual(tensor(2), tensor(3)));
  ok(structuralEqual(tensor(2), tensor(3), { skipTensorContent: true }));
  throws('TypeError', 'did you mean', () => structuralEqual(1, 1, { skipTensorContents: true } as never));
});

testWith(ffiMissing, 'JSON is written and read with objects and shared references', () => {
  testing('echo');
  const Pair = objectClass<{ a: number; b: number }>('testing.TestIntPair');
  const pair = new Pair(1, 2);
  const back = fromJSONGraph(toJSONGraph([pair, pair, 'x'])) as [typeof pair, typeof pair, string];
  ok(back[0] !== pair && back[0] === back[1] && back[0] instanceof Pair);
  equal([back[0].a, back[0].b, back[2]], [1, 2, 'x']);
  ok(toJSONGraph(1, { by: 'a test' }).includes('a test'));
  throws('TypeError', 'JSON', () => fromJSONGraph(5 as never));
});

testWith(ffiMissing, 'a deep copy shares no object', () => {
  testing('echo');
  const Pair = objectClass<{ a: number; b: number }>('testing.TestIntPair');
  const inner = new List([new Pair(3, 4)]);
  const copy = deepCopy(inner);
  ok(copy instanceof List && copy !== inner && copy.at(0) !== inner.at(0));
  inner.push(inner.at(0) as never);
  equal([copy.length, copy.at(0)?.b], [1, 4]);
});

testWith(ffiMissing, "hashes and JSON equal Python's", () => {
  const script = `
import json, sys, tvm_ffi
from tvm_ffi import serialization
values = json.load(sys.stdin)
print(json.dumps([[str(tvm_ffi.structural_hash(v)), serialization.to_json_graph_str(v)] for v in values]))`;
  const output = execFileSync(`${root}.venv/bin/python`, ['-I', '-c', script], {
    encoding: 'utf8',
    input: JSON.stringify(values),
  });
  equal(
    values.map((value) => [String(structuralHash(value)), toJSONGraph(value)]),
    JSON.parse(output),
  );
});
