/** The copy kernels as the fake driver runs them. */

import { equal } from '../assert.js';
import { code, fake } from './fake.js';
import { alloc, call, expectErrors, fakeTest, fill, make, must, stream } from './fake-test.js';

/** Memory of a CopyPlan: axes as [length, source step, target step], outermost first. */
function planOf(source: bigint, target: bigint, axes: [number, number, number][], breakAxis = -1): Uint8Array {
  const plan = new Uint8Array(24 + 8 * 32);
  const view = new DataView(plan.buffer);
  view.setBigUint64(0, source, true);
  view.setBigUint64(8, target, true);
  view.setUint32(
    16,
    axes.reduce((count, [length]) => count * length, 1),
    true,
  );
  view.setUint32(20, axes.length, true);
  axes.forEach(([length, sourceStep, targetStep], i) => {
    const at = 24 + i * 32;
    const shift = length === 1 ? 0 : Math.ceil(Math.log2(length));
    const multiplier = ((1n << 32n) * ((1n << BigInt(shift)) - BigInt(length))) / BigInt(length) + 1n;
    view.setUint32(at, length, true);
    view.setUint32(at + 4, Number(multiplier) + (i === breakAxis ? 1 << 30 : 0), true);
    view.setUint32(at + 8, shift, true);
    view.setBigInt64(at + 16, BigInt(sourceStep), true);
    view.setBigInt64(at + 24, BigInt(targetStep), true);
  });
  return plan;
}

fakeTest('kernels follow their plan, and its divisions are checked', () => {
  const module = make('cuModuleLoadData', '.entry strided_copy_16() .entry strided_copy_2() .entry transpose_copy_2()');
  const out = new BigUint64Array(1);
  equal(call('cuModuleGetFunction', out, module, 'strided_copy_1'), code.notFound);
  const strided = make('cuModuleGetFunction', module, 'strided_copy_2');
  const transposed = make('cuModuleGetFunction', module, 'transpose_copy_2');
  const on = stream();
  const [source, target] = [alloc(24), alloc(24)];
  fake.poke(source, new Uint8Array(new Uint16Array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]).buffer));
  let kept: BigUint64Array | undefined;
  const launch = (kernel: bigint, plan: Uint8Array, grid = 1, block = 256): number => {
    // The parameter array holds the address of the plan; pinned memory gives both an address.
    const place = make('cuMemHostAlloc', plan.length, 0);
    fake.poke(place, plan);
    kept = new BigUint64Array([place]);
    return call('cuLaunchKernel', kernel, grid, 1, 1, block, 1, 1, 0, on, kept, null);
  };
  const result = (): number[] => {
    must('cuStreamSynchronize', on);
    return [...new Uint16Array(fake.peek(target, 24).buffer)];
  };
  // A [3, 4] matrix transposed, by either kernel: axes [4][3] of the target.
  const turned = [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11];
  equal(
    launch(
      strided,
      planOf(source, target, [
        [4, 1, 3],
        [3, 4, 1],
      ]),
    ),
    0,
  );
  equal(fake.pending(on), ['strided_copy_2']);
  equal(result(), turned);
  fill(target, 0, 24, on);
  equal(
    launch(
      transposed,
      planOf(source, target, [
        [4, 1, 3],
        [3, 4, 1],
      ]),
    ),
    0,
  );
  equal(result(), turned);
  // Backwards, over three axes.
  equal(
    launch(
      strided,
      planOf(source + 22n, target, [
        [2, -6, 6],
        [3, -2, 2],
        [2, -1, 1],
      ]),
    ),
    0,
  );
  equal(result(), [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  equal(fake.errors(), []);
  equal(
    launch(
      strided,
      planOf(
        source,
        target,
        [
          [4, 1, 3],
          [3, 4, 1],
        ],
        1,
      ),
    ),
    0,
  );
  result();
  expectErrors(/^error: a plan divides/);
  equal(launch(strided, planOf(source, target, [[13, 1, 1]])), 0);
  result();
  expectErrors(/^violation: strided_copy_2 touches 2 bytes at .* outside/, /^violation: strided_copy_2 .* outside/);
  equal(launch(strided, planOf(source, target, [[2, 1, 1]]), 1, 1025), code.invalidValue);
  equal(launch(strided, planOf(source, target, [[2, 1, 1]]), 0), code.invalidValue);
  equal(
    launch(
      transposed,
      planOf(source, target, [
        [2, 2, 1],
        [2, 1, 2],
      ]),
    ),
    code.invalidValue,
  );
  equal(launch(strided, planOf(source + 1n, target, [[2, 1, 1]])), code.invalidValue);
  expectErrors(/block 1025/, /grid 0/, /last axes/, /misaligned/);
  const freed = alloc(24);
  must('cuMemFree_v2', freed);
  equal(launch(strided, planOf(freed, target, [[12, 1, 1]])), 0);
  result();
  expectErrors(/^violation: strided_copy_2 touches freed device memory/);
  // Memory that a kernel reads must not be written at the same time.
  equal(launch(strided, planOf(source, target, [[12, 1, 1]])), 0);
  fill(source + 22n, 0, 2, stream());
  expectErrors(/^race: strided_copy_2 on .* and a fill on .* no order/);
});
