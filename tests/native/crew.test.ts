/** The threads that share large copies and casts. */

import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { test } from '../harness.js';

for (const threads of ['2', '6']) {
  test(`${threads} threads share conversions that run at once, stay for later conversions, and do not keep the process running`, () => {
    const { code, signal, output } = runChild(import.meta.url, './children/crew.js', {
      env: { DLPACK_NUM_THREADS: threads },
    });
    equal([code, signal], [0, null], output);
    const { before, after } = JSON.parse(output.trim().split('\n').at(-1) as string) as Record<string, number>;
    // The runtime starts and ends threads, too, one for each of 12 conversions at most; new threads of this package for each
    // of 72 conversions would be more.
    ok((after as number) < (before as number) + 24, output);
  });
}
