import { isDLPackError } from 'dlpack';
import * as mdspan from 'dlpack/mdspan';
import { ok } from '../../assert.js';
import { test } from '../../harness.js';

const { extents, hostMdspan, layoutRight, pointerTo, toDLPackTensor } = mdspan;

const data = new Float32Array(6);
function detached(): ArrayBuffer {
  const buffer = new ArrayBuffer(8);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
}
const span = hostMdspan(data, extents(2, 3));
// Real arguments among the nonsense, so that it gets past the first check. No address: a wrong one is never checked.
const values: readonly unknown[] = [
  undefined,
  null,
  Number.NaN,
  -1,
  0,
  1,
  2 ** 60,
  0n,
  '',
  'float32',
  true,
  Symbol('x'),
  () => 1,
  {},
  [],
  [1],
  [1, 2],
  ['1', null],
  new Proxy({}, {}),
  { dtype: 'float32', rank: 2 },
  { dtype: 'nonsense', rank: -1 },
  { accessor: {} },
  { length: 2 },
  { offset: 0, extent: 1, stride: 1 },
  data,
  data.buffer,
  new DataView(data.buffer),
  detached(),
  { ...layoutRight(extents(2, 3)), offsetAt: () => 0, part: () => undefined },
  span,
  extents(2, 3),
  layoutRight(extents(2, 3)),
  { ...layoutRight(extents(2, 3)) },
  pointerTo(data),
  mdspan.fullExtent,
  toDLPackTensor(span).get(),
  { ...toDLPackTensor(span).get(), data: null },
];

function refuses(name: string, call: (...args: unknown[]) => unknown, args: readonly unknown[]): void {
  try {
    call(...args);
  } catch (error) {
    ok(isDLPackError(error), `${name}: ${String(error)} is not an error of this package`);
  }
}

test('functions give only typed errors for nonsense', () => {
  const functions = Object.entries(mdspan).filter(
    ([, value]) => typeof value === 'function' && !/^class/.test(`${value}`),
  );
  ok(functions.length > 15);
  const last = [undefined, null, 1, [0, 1], { dtype: 'float32' }, { dtype: 'bool', rank: 2, layout: layoutRight }];
  for (const [name, call] of functions) {
    if (name === 'setPointerDriver') continue;
    for (const a of values) {
      for (const b of values) {
        for (const c of last) refuses(name, call as never, [a, b, c]);
      }
    }
  }
});

test('methods give only typed errors for nonsense', () => {
  const pointer = pointerTo(data);
  const mapping = layoutRight(extents(2, 3));
  const methods: Record<string, (...args: unknown[]) => unknown> = {
    get: span.get.bind(span) as never,
    set: span.set.bind(span) as never,
    extent: span.extent.bind(span) as never,
    stride: span.stride.bind(span) as never,
    plus: pointer.plus.bind(pointer) as never,
    read: pointer.read.bind(pointer) as never,
    write: pointer.write.bind(pointer) as never,
    equals: mapping.equals.bind(mapping) as never,
    mappingStride: mapping.stride.bind(mapping) as never,
    extentsEquals: mapping.extents.equals.bind(mapping.extents) as never,
    withIndexType: mapping.extents.withIndexType.bind(mapping.extents) as never,
    staticExtent: mapping.extents.staticExtent.bind(mapping.extents) as never,
  };
  const bare: unknown = Object.create(null); // has no text
  for (const [name, call] of Object.entries(methods)) {
    refuses(name, call, [bare, bare]);
    for (const a of values) for (const b of values) refuses(name, call, [a, b]);
  }
});
