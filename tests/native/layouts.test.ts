/** Layouts that native code keeps under numbers, and numbers that faulty JavaScript could write. */

import { createRequire } from 'node:module';
import { nativeStatus, Tensor } from 'dlpack';
import { exportManaged, importManaged } from 'dlpack/native';
import { Status, Wire } from '../../src/native/wire/constants.js';
import { equal } from '../assert.js';
import { test } from '../harness.js';
import { stormOfLayouts } from '../layout-storm.js';

interface Generator {
  indicesOf(message: string): Record<string, number>;
}
const { indicesOf } = (await import(new URL('../../../scripts/wire/layout.mjs', import.meta.url).href)) as Generator;
/** The index of a field in the array of its type. */
const index = (message: string, field: string): number => indicesOf(message)[field] as number;
const words = (message: string): number => index(message, 'WORDS');
const statusOf = (message: string): number => index(message, 'status');

type Functions = Record<'allocate' | 'exportVersioned' | 'keepLayout', () => void> & {
  deleteVersioned(address: bigint): boolean;
};

test('the number of a layout gives no access outside of the wire or the storage', () => {
  const wire = new ArrayBuffer(Wire.WORDS * 8);
  const [f64, i32, u64] = [new Float64Array(wire), new Int32Array(wire), new BigUint64Array(wire)];
  const addon = createRequire(import.meta.url)(nativeStatus().path as string) as {
    createInstance(options: object): Functions;
  };
  const native = addon.createInstance({ wire, onRelease: () => {} });
  const call = (name: 'allocate' | 'exportVersioned' | 'keepLayout', slot: number, status: number): number => {
    i32[index('WireHeader', 'slot')] = slot;
    native[name]();
    return i32[slot * 2 + status] as number;
  };
  const first = Wire.FIRST_SLOT;
  const LAYOUT_SLOT = index('LayoutRequest', 'AT');
  f64[first + index('AllocateRequest', 'nbytes')] = 16;
  equal(call('allocate', first, statusOf('AllocateRequest')), Status.ok);
  const handle = i32[first * 2 + index('AllocateRequest', 'handle')] as number;

  /** Writes the layout of a uint8 tensor into the tensor at a word. */
  const write = (at: number, shape: readonly number[], ndim = shape.length): void => {
    i32.set([0x10801, ndim, 0, 1, 0], at * 2 + index('WireTensor', 'dtype'));
    f64.set(
      [...shape, ...shape.map(() => 1)].slice(0, Wire.WORDS - at - index('WireTensor', 'shape')),
      at + index('WireTensor', 'shape'),
    );
  };
  const keep = (number: number, shape: readonly number[], ndim?: number): number => {
    i32[LAYOUT_SLOT * 2 + index('LayoutRequest', 'number')] = number;
    write(LAYOUT_SLOT + index('LayoutRequest', 'tensor'), shape, ndim);
    return call('keepLayout', LAYOUT_SLOT, statusOf('LayoutRequest'));
  };
  /** Exports a tensor with a numbered layout, or with `shape` if the number is 0. */
  const exported = (slot: number, number: number, byteOffset: number, shape: readonly number[] = []): number => {
    const at = slot + index('ExportRequest', 'tensor');
    i32[at * 2 + index('WireTensor', 'handle')] = handle;
    i32[at * 2 + index('WireTensor', 'layout')] = number;
    f64[at + index('WireTensor', 'byteOffset')] = byteOffset;
    if (number === 0) write(at, shape);
    const status = call('exportVersioned', slot, statusOf('ExportRequest'));
    const address = u64[slot + index('ExportRequest', 'address')] as bigint;
    if (status === Status.ok) equal(native.deleteVersioned(address), true);
    return status;
  };
  equal(exported(first, 1, 0), Status.unknownLayout, 'not kept yet');
  equal(keep(0, [16]), Status.unknownLayout, 'not a number');
  equal(keep(1, [16]), Status.ok);
  equal(exported(first, 1, 0), Status.ok);
  for (const offset of [1, -1, 0.5, Number.NaN, 1e300]) equal(exported(first, 1, offset), Status.tooLarge);
  for (const ndim of [-1, 65, 2 ** 30]) equal(keep(2, [16], ndim), Status.ndim);
  for (const length of [-1, 0.5, Number.NaN, 1e300]) equal(keep(2, [length]), Status.tooLarge);
  equal(exported(first, 2, 0), Status.unknownLayout, 'a layout that was refused');
  const same = 1 + Wire.KEPT_LAYOUTS;
  for (const number of [same, -1, 2 ** 31 - 1]) equal(exported(first, number, 0), Status.unknownLayout);
  equal(keep(same, [8]), Status.ok);
  equal(exported(first, same, 8), Status.ok);
  equal(exported(first, 1, 0), Status.unknownLayout, 'its place has another layout');
  equal(exported(first, 0, 0, [16]), Status.ok, 'a layout without a number');
  const last = Wire.WORDS - words('ExportRequest');
  equal(exported(last, same, 0), Status.ok, 'a number needs no room behind the last slot');
  equal(exported(last, 0, 0, new Array(64).fill(1)), Status.ndim);
});

test('tensors of more layouts than native code keeps, in turns', () => {
  const tensors = Array.from({ length: 3000 }, (_, i) => Tensor.zeros([i + 1], 'int8').fill(i % 128));
  for (let turn = 0; turn < 3; turn++) {
    for (const [i, x] of tensors.entries()) {
      const back = importManaged(exportManaged(x));
      equal([back.shape, back.strides, back.dtype, back.get(i)], [[i + 1], [1], 'int8', i % 128]);
      back.dispose();
    }
  }
  stormOfLayouts();
  const x = Tensor.zeros([2, 3], 'float32');
  equal(importManaged(exportManaged(x.transpose())).strides, [1, 3]);
});
