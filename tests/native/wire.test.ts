/** The stack of requests. Its slots are of another instance here, so no request of this process is disturbed. */

import { nativeStatus } from 'dlpack';
import { cpu } from '../../src/device.js';
import { dtypeFromName } from '../../src/dtype.js';
import { loadAddon } from '../../src/native/load/load.js';
import { Wire } from '../../src/native/wire/constants.js';
import { numberOf } from '../../src/native/wire/layouts.js';
import { enter, leave } from '../../src/native/wire/wire.js';
import { findLayout, type Layout } from '../../src/storage/layouts.js';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

test('slots that a request could not leave, where the stack was full, are free after the tick', async () => {
  const first = enter(2);
  leave(first);
  throws('BufferError', 'the wire is full', () => {
    for (;;) enter(1000);
  });
  throws('BufferError', 'the wire is full', () => enter(1000));
  await Promise.resolve();
  equal(enter(2), first);
  leave(first);
});

test('a slot that was left behind keeps layouts from being replaced only until the tick ends', async () => {
  loadAddon(nativeStatus().path as string);
  let length = 0;
  const newLayout = (): Layout => findLayout(dtypeFromName('int8'), cpu, [++length], null, 0);
  for (let i = 0; i < Wire.KEPT_LAYOUTS; i++) ok(numberOf(newLayout()) !== 0);
  const sample = (): number[] =>
    Array.from({ length: 100 }, () => numberOf(newLayout())).filter((number) => number !== 0);
  ok(sample().length > 0, 'a full table replaces some');
  enter(2);
  equal(sample(), []);
  await Promise.resolve();
  ok(sample().length > 0);
});
