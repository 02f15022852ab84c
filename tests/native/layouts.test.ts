/** The numbers of checked layouts, written into a wire as faulty JavaScript could (src/native/wire-layout.ts). */

import { createRequire } from 'node:module';
import { nativeStatus } from 'dlpack';
import { equal } from '../assert.js';
import { runChild } from '../child.js';
import { test } from '../harness.js';

const WORDS = 131072;
const FIRST_SLOT = 8;
const EXPORT_WORDS = 10;
const [OK, NDIM, TOO_LARGE] = [0, 3, 6];

type Functions = Record<'allocate' | 'exportVersioned' | 'deleteVersioned', () => void>;

test('the number of a kept layout gives no access outside of the wire or the storage', () => {
  const wire = new ArrayBuffer(WORDS * 8);
  const f64 = new Float64Array(wire);
  const i32 = new Int32Array(wire);
  const addon = createRequire(import.meta.url)(nativeStatus().path as string) as {
    createInstance(options: object): Functions;
  };
  const native = addon.createInstance({ wire, onRelease: () => {} });
  const call = (name: keyof Functions, slot: number): number => {
    i32[0] = slot;
    native[name]();
    return i32[slot * 2] as number;
  };
  f64[FIRST_SLOT + 1] = 16;
  equal(call('allocate', FIRST_SLOT), OK);
  const handle = i32[FIRST_SLOT * 2 + 1] as number;

  /** Exports a uint8 tensor with the layout `number` at a slot; `shape` null leaves out the layout. */
  const exported = (slot: number, number: number, byteOffset: number, shape: number[] | null): number => {
    const tensor = slot + 2;
    i32.set([handle, 0x10801, shape === null ? -1 : shape.length, 0, 1, 0, 0, 0, 0, number], tensor * 2);
    f64.set([byteOffset, 0, 0], tensor + 5);
    if (shape !== null) f64.set([...shape, ...shape.map(() => 1)], tensor + 8);
    const status = call('exportVersioned', slot);
    if (status === OK) equal(call('deleteVersioned', slot), OK);
    return status;
  };
  equal(exported(FIRST_SLOT, 1, 0, null), NDIM, 'not kept yet');
  equal(exported(FIRST_SLOT, 1, 0, [16]), OK);
  equal(exported(FIRST_SLOT, 1, 0, null), OK);
  for (const offset of [1, -1, 0.5, Number.NaN, 1e300]) equal(exported(FIRST_SLOT, 1, offset, null), TOO_LARGE);
  equal(exported(FIRST_SLOT, 9, 0, null), NDIM, 'a number in the same place');
  equal(exported(FIRST_SLOT, 1, 0, null), NDIM, 'which dropped the kept layout');
  equal(exported(FIRST_SLOT, 2, 0, new Array(64).fill(1)), OK);
  const last = WORDS - EXPORT_WORDS;
  equal(exported(last, 2, 0, null), NDIM, 'no room behind the last slot');
  equal(exported(last, 2, 99, null), NDIM);
  equal(exported(last - 128, 2, 0, null), OK);
});

test('no number of a layout is used twice', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/last-layout.js');
  equal([code, signal, output], [0, null, 'true true 0\n']);
});
