// Foreign code in the middle of a request: whatever it does with this package, the request ends as if it had not run.
import { DLPACK, type DLPackSource, fromDLPack, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf, exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import { openTensor, shareTensor } from 'dlpack/shared';
import { equal, ok, throws } from '../assert.js';
import { collectUntil, test, testWith } from '../harness.js';
import { stormOfLayouts } from '../layout-storm.js';
import { peer, peerMissing } from './peer.js';

/** Every kind of request, with tensors unlike all others in this file. */
function useEverything(): void {
  const x = Tensor.from(
    [
      [1, 2, 3, 4, 5],
      [6, 7, 8, 9, 10],
    ],
    { dtype: 'float64' },
  );
  const y = importManaged(exportManaged(x.transpose()));
  equal(y.shape, [5, 2]);
  releaseManaged(exportManaged(x));
  addressOf(x);
  const shared = openTensor({ ...shareTensor(x) });
  equal(shared.shape, [2, 5]);
  x.astype('int16').dispose();
  equal(fromDLPack(x[DLPACK]() as DLPackSource).data[0], 1);
  Tensor.wrap(new Uint8Array(3)).copy().dispose();
  throws('ValueError', 'address', () => importManaged(0n));
  liveCounts();
  for (const tensor of [shared, y, x]) tensor.dispose();
}

testWith(peerMissing, 'a deleter that replaces all layouts while an import with a known layout is refused', () => {
  const shape = [6n, 7n, 8n];
  importManaged(peer.makeVersioned({ shape })).dispose();
  const error = throws('LayoutError', '[6, 7, 8]', () =>
    importManaged(peer.makeCalling({ shape, nullData: true }, stormOfLayouts)),
  );
  equal(error.shape, [6, 7, 8]);
});

/** The message names the refused shape, whatever the deleter did. */
testWith(peerMissing, 'a deleter that uses everything while an import is refused', () => {
  const refused = { shape: [3n, 1n << 60n, 7n] };
  const error = throws('LayoutError', `[3, ${2 ** 60}, 7]`, () =>
    importManaged(peer.makeCalling(refused, useEverything)),
  );
  equal(error.shape, [3, 2 ** 60, 7]);
  throws('UnsupportedDTypeError', '(code 2, bits 0, lanes 1)', () =>
    importManaged(peer.makeCalling({ shape: [4n], bits: 0 }, useEverything)),
  );
  const { found } = throws('VersionError', '9', () =>
    importManaged(peer.makeCalling({ major: 9, minor: 4 }, useEverything)),
  );
  equal(found, [9, 4]);
  throws('LayoutError', 'data is NULL', () =>
    importManaged(peer.makeCalling({ shape: [11n], nullData: true }, useEverything)),
  );
});

testWith(peerMissing, 'a deleter that uses everything while its tensor is released', () => {
  let calls = 0;
  const use = () => {
    calls++;
    useEverything();
  };
  const before = Tensor.from([1, 2, 3], { dtype: 'int32' });
  importManaged(peer.makeCalling({ shape: [2n] }, use)).dispose();
  releaseManaged(peer.makeCalling({ shape: [2n] }, use));
  const nested = peer.makeCalling({ shape: [2n] }, use);
  releaseManaged(peer.makeCalling({ shape: [2n] }, () => importManaged(nested).dispose()));
  equal(calls, 3);
  equal(before.toArray(), [1, 2, 3]);
});

testWith(peerMissing, 'many deleters inside each other', () => {
  let depth = 0;
  const enter = (): void => {
    if (++depth < 40) {
      const refused = { shape: [BigInt(depth), 1n << 60n] };
      throws('LayoutError', `[${depth}, `, () => importManaged(peer.makeCalling(refused, enter)));
    }
    depth--;
  };
  enter();
  useEverything();
});

test('options whose getters use everything', () => {
  const x = Tensor.from([[1, 2, 3]], { dtype: 'float32' });
  const options = (versioned: boolean) => ({
    get versioned() {
      useEverything();
      return versioned;
    },
  });
  for (const versioned of [true, false]) {
    const address = exportManaged(x, options(versioned));
    const y = importManaged(address, options(versioned));
    equal([y.shape, y.dtype], [[1, 3], 'float32']);
    equal(addressOf(y), addressOf(x));
    y.dispose();
    releaseManaged(exportManaged(x, { versioned }), options(versioned));
  }
});

testWith(peerMissing, 'a finalizer that uses everything', async () => {
  let calls = 0;
  (() => {
    for (let i = 0; i < 100; i++) {
      importManaged(
        peer.makeCalling({ shape: [2n] }, () => {
          calls++;
          useEverything();
        }),
      );
    }
  })();
  const kept = Array.from({ length: 50 }, (_, i) => Tensor.from([i, i + 1], { dtype: 'int32' }));
  ok(await collectUntil(() => calls === 100), `${calls} deleters ran`);
  for (const [i, tensor] of kept.entries()) equal(tensor.toArray(), [i, i + 1]);
});
