import { fromDLPack, Tensor } from 'dlpack';
import { leaks, setDebug } from 'dlpack/debug';
import { exportManaged, releaseManaged, toExternal } from 'dlpack/native';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

/** The warnings of an action in debug mode. */
function warningsOf(action: () => void): string[] {
  const { emitWarning } = process;
  const warnings: string[] = [];
  process.emitWarning = ((text: string, { code }: { code: string }) => void warnings.push(`${code} ${text}`)) as never;
  setDebug(true);
  try {
    action();
  } finally {
    setDebug(false);
    process.emitWarning = emitWarning;
  }
  return warnings;
}

function exportTwice(x: Tensor): void {
  for (let i = 0; i < 2; i++) releaseManaged(exportManaged(x));
}

test('debug mode: a copy for native code is reported once with its line', () => {
  const [warning = '', ...more] = warningsOf(() => exportTwice(Tensor.wrap(new Float32Array(6), { shape: [2, 3] })));
  equal(more, []);
  ok(warning.startsWith('DLPACK_COPY Native code gets a copy of a float32 tensor of shape [2, 3]'), warning);
  ok(warning.includes('Tensor.adopt') && warning.split('\n')[1]?.includes('report-copy.test'), warning);
});

test('debug mode: an external for an addon is reported like an address', () => {
  const x = Tensor.wrap(new Float32Array(2));
  const [warning = '', ...more] = warningsOf(() => {
    for (let i = 0; i < 2; i++) fromDLPack(toExternal(x)).dispose();
    for (const copy of [true, null]) fromDLPack(toExternal(copy ? x : Tensor.from([1]), { copy })).dispose();
  });
  equal(more, []);
  ok(warning.startsWith('DLPACK_COPY Native code gets a copy of a float32 tensor of shape [2]'), warning);
  ok(warning.split('\n')[1]?.includes('report-copy.test'), warning);
  throws('BufferError', 'Tensor.adopt', () => toExternal(x, { copy: false }));
});

test('debug mode is on or off: other values throw, and change nothing', () => {
  for (const value of ['false', 0, undefined, {}]) {
    throws('TypeError', 'true or false', () => setDebug(value as never));
    throws('ValueError', 'setDebug', () => leaks()); // debug mode is off
  }
});

test('memory that native code shares, and a copy that was asked for, are not reported', () => {
  const wrapped = Tensor.wrap(new Float32Array(2));
  equal(
    warningsOf(() => {
      exportTwice(Tensor.from([1, 2]));
      exportTwice(Tensor.adopt(new Float32Array(2)));
      releaseManaged(exportManaged(wrapped, { copy: true }));
    }),
    [],
  );
  releaseManaged(exportManaged(wrapped));
});
