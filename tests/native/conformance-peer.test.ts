/** The peer of dlpack/conformance with tokens and arrays that are not its own: it refuses them, and nothing crashes. */

import { DLPACK, Tensor } from 'dlpack';
import { conformancePeer } from 'dlpack/native';
import { equal } from '../assert.js';
import { test } from '../harness.js';

const external = (tensor: Tensor): object => tensor[DLPACK]({ native: 'only' } as never) as object;

test('numbers that are no token of a taken tensor do nothing', () => {
  const peer = conformancePeer();
  for (const token of [0n, 1n, 2n ** 63n, undefined as never, 'x' as never]) {
    equal(peer.read(token, 0, 4), undefined);
    peer.write(token, 0, 1);
    peer.release(token);
  }
  peer.releaseOnThreads(BigUint64Array.of(0n, 8n), 2);
  for (const tokens of [null, new Uint8Array(3), new Float64Array(3)]) peer.releaseOnThreads(tokens as never, 2);
});

test('a token is valid until its release, which happens once', () => {
  const peer = conformancePeer();
  const x = Tensor.from([1, 2], { dtype: 'uint8' });
  const taken = peer.take(external(x));
  const token = BigInt.asUintN(64, taken?.[0][11] as bigint);
  equal([...new Uint8Array(peer.read(token, 0, 2))], [1, 2]);
  equal(peer.read(token, 0, -1), undefined);
  peer.write(token, 1, 7);
  equal(x.toArray(), [1, 7]);
  peer.release(token);
  peer.release(token);
  peer.releaseOnThreads(BigUint64Array.of(token), 1);
  equal(peer.read(token, 0, 2), undefined);
});

test('arrays of another type are no header', () => {
  const peer = conformancePeer();
  for (const header of [new Uint8Array(12), new BigUint64Array(12), new Float64Array(12), null]) {
    equal(peer.make(header as never, null, null, null), undefined);
  }
});
