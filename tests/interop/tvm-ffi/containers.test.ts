/** Containers and arguments of any length and depth, in both directions. */

import { Tensor, type TensorView } from 'dlpack';
import {
  ArrayView,
  callAsync,
  DataType,
  DeviceValue,
  Dict,
  getGlobalFunc,
  List,
  OpaquePointer,
  Shape,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { testWith } from '../../harness.js';
import { ffiMissing, kernelsMissing, probe, testing } from './peer.js';

const count = (length: number) => Array.from({ length }, (_, i) => i);
const nested = (depth: number) => {
  let value: unknown[] = [];
  for (let i = 1; i < depth; i++) value = [value];
  return value;
};
const depthOf = (value: unknown): number => {
  let depth = 0;
  for (let inner = value; Array.isArray(inner); inner = inner[0]) depth++;
  return depth;
};

for (const length of [0, 1, 63, 64, 65, 2045, 2046, 100_000]) {
  testWith(ffiMissing, `${length} elements`, () => {
    const echo = testing('echo');
    equal(echo(count(length)), count(length));
    equal([...(echo(new Shape(count(length))) as Shape)], count(length));
    equal((echo(new List(count(length))) as List).toArray(), count(length));
    const entries = count(length).map((i) => [i, `value ${i}`] as const);
    equal([...(echo(new Map(entries)) as Map<number, string>)], entries);
    equal([...(echo(new Dict(entries)) as Dict).toMap()], entries);
  });
}

testWith(ffiMissing, 'short arrays of values that are not objects, and their references', () => {
  const echo = testing('echo');
  const plain = [
    undefined,
    -3,
    true,
    0.5,
    2n ** 62n,
    'seven c',
    'é',
    new DataType('float16'),
    new DeviceValue('cuda:1'),
  ];
  equal(echo(plain), plain);
  equal(echo([new OpaquePointer(64n), new Uint8Array([1, 2])]), [new OpaquePointer(64n), new Uint8Array([1, 2])]);
  const use = testing('object_use_count');
  for (const elements of [[], plain, count(64), count(65), [1, 'a text that is an object'], [1, [2]]]) {
    const view = new ArrayView<unknown>(elements);
    for (let i = 0; i < 100; i++) equal(echo(view), elements);
    equal(use(view), 1);
  }
});

testWith(ffiMissing, 'long strings, bytes, tensors and functions in a long array', () => {
  const x = Tensor.from([1, 2], { dtype: 'float32' });
  const values = count(500).flatMap((i) => [`a text that is number ${i}`, new Uint8Array([i & 255]), x, [i]]);
  const back = testing('echo')(values) as unknown[];
  equal(back.length, values.length);
  equal([back[1996], back[1997], back[1999]], ['a text that is number 499', new Uint8Array([499 & 255]), [499]]);
  (back[1998] as Tensor<'float32'>).set(0, 7);
  equal(x.get(0), 7);
});

for (const depth of [1, 12, 13, 62, 63, 200]) {
  testWith(ffiMissing, `${depth} levels`, () => {
    equal(depthOf(testing('echo')(nested(depth))), depth);
    let map: Map<string, unknown> = new Map();
    for (let i = 1; i < depth; i++) map = new Map([['inner', map]]);
    let levels = 0;
    for (let inner = testing('echo')(map); inner instanceof Map; inner = inner.get('inner')) levels++;
    equal(levels, depth);
  });
}

testWith(ffiMissing, 'wide at every level', () => {
  let value: unknown = 'leaf';
  for (let level = 0; level < 30; level++) value = [...count(70), value, ...count(70)];
  equal(testing('echo')(value), value);
});

testWith(ffiMissing, 'a container after as many elements as one batch on the wire holds', () => {
  for (const length of [63, 64, 65, 128, 640]) {
    const value = [...count(length), ['a text that is an object', 1], new Map([['key', [2]]]), 3];
    for (let i = 0; i < 20; i++) equal(testing('echo')(value), value);
    const alternating = count(length).flatMap((i) => [[i], i]);
    equal(testing('echo')(alternating), alternating);
  }
});

testWith(ffiMissing, 'an array that contains itself, and a list that contains itself', () => {
  const cycle: unknown[] = [1];
  cycle.push(cycle);
  throws('ValueError', '200 deep', () => testing('echo')(cycle));
  equal(testing('echo')([1]), [1]); // the stack of slots is as it was
});

testWith(kernelsMissing, 'more arguments than slots, in calls, in callbacks and on another thread', async () => {
  for (const length of [2046, 2047, 2048, 10_000]) {
    equal((getGlobalFunc('ffi.Array')(...count(length)) as unknown[]).length, length);
    equal(await callAsync(getGlobalFunc('ffi.Array'), ...count(length)), count(length));
    const callback = (...args: number[]) => args.length * 100_000 + (args.at(-1) as number);
    equal(probe('call_with_many')(callback, length), length * 100_000 + length - 1);
  }
  for (const length of [0, 1, 2, 255, 256, 257]) {
    equal(
      probe('call_with_many')((...args: number[]) => args, length),
      count(length),
    );
  }
  const tensors = Array.from({ length: 3000 }, () => Tensor.from([1], { dtype: 'float32' }));
  equal((getGlobalFunc('ffi.Array')(...tensors) as Tensor[]).length, 3000);
  // Lent memory among them exists for the duration of the call.
  const wrapped = Tensor.wrap(new Float32Array([5]));
  testing('nop')(...count(3000), wrapped);
  equal(wrapped.get(0), 5);
  const lent = count(300).map((i) => Tensor.wrap(new Float32Array([i])));
  const seen: unknown[] = [];
  const see = (...views: TensorView[]) => void seen.push(views.map((view) => view.toArray()[0]));
  for (let i = 0; i < 2; i++) testing('apply')(see, ...lent);
  equal(seen, [count(300), count(300)]);
});

testWith(ffiMissing, 'an element that throws leaves nothing behind', () => {
  const values = count(200) as unknown[];
  values[150] = Symbol('none');
  const deep = [count(100), [count(100), values]];
  for (let i = 0; i < 100; i++) throws('TypeError', 'a type in TVM-FFI', () => testing('echo')(deep));
  equal(testing('echo')(deep.slice(0, 1)), [count(100)]);
});

for (const what of ['string', 'tensor', 'number', 'nothing', 'removed']) {
  testWith(kernelsMissing, `builtin functions that a program replaced: ${what}`, () => {
    const { code, signal, output } = runChild(import.meta.url, './children/replaced.js', { args: [what] });
    equal([code, signal], [0, null], output);
    const { after, worker } = JSON.parse(output) as { after: unknown[]; worker: unknown };
    equal(
      [after, worker],
      [
        [[1, 2, 3], 2, [1, 2], [5], 2, true, 'function', true],
        [4, 5],
      ],
      output,
    );
  });
}

testWith(ffiMissing, 'builtin functions that were replaced before this package loaded the library', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/replaced-first.js');
  equal([code, signal], [0, null], output);
  ok(output.includes('TVMFFIError TypeError') && output.includes("'ffi.Array'"), output);
});
