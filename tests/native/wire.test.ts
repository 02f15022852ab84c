/** The stack of requests. Its slots are of another instance here, so no request of this process is disturbed. */

import { enter, leave } from '../../src/native/wire/wire.js';
import { equal, throws } from '../assert.js';
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
