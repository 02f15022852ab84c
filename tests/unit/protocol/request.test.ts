/** Section 2 of docs/spec.md: what a producer answers to a request. */

import { DLPACK, type DLPackRequest, ManagedFlag, type ManagedTensor, Tensor } from 'dlpack';
import { equal, ok, throws } from '../../assert.js';
import { test } from '../../harness.js';

const ask = (x: Tensor, request?: unknown): ManagedTensor => x[DLPACK](request as DLPackRequest) as ManagedTensor;
const bytesOf = (managed: ManagedTensor): Uint8Array =>
  new Uint8Array(managed.data as ArrayBuffer).subarray(managed.byteOffset);

test('2.3.1: undefined and null mean absent, for the request and for each field', () => {
  const x = Tensor.from([1, 2]);
  const fields = ['maxVersion', 'device', 'gpuDevice', 'copy', 'stream', 'native'];
  for (const absent of [undefined, null]) {
    const requests = [absent, Object.fromEntries(fields.map((name) => [name, absent]))];
    for (const request of requests) {
      const managed = ask(x, request);
      equal([managed.flags, managed.shape], [0, [2]]);
      managed.deleter?.();
    }
  }
});

test('2.3.2: unknown fields are ignored', () => {
  const managed = ask(Tensor.from([1]), { dlpackNext: true, toString: 5 });
  equal(managed.shape, [1]);
  managed.deleter?.();
});

test('2.3.3: a field of the wrong kind is a TypeError', () => {
  const x = Tensor.from([1, 2]);
  const wrong: Record<string, readonly unknown[]> = {
    copy: [1, 0, 'yes', ''],
    native: [1, 0, 'yes', {}],
    stream: [0, 1, -1, '1'],
    maxVersion: [1, '1.3', [1], [Number.NaN, 0], [1n, 0n], ['1', 0], [-1, 0], [1.5, 0], [1, 3, 0], {}],
    device: ['cpu', [1, 0], {}, { type: 1 }, { type: '1', id: 0 }, { type: 1n, id: 0n }],
  };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) throws('TypeError', name, () => ask(x, { [name]: value }));
  }
  for (const request of [5, 'copy', true, [], () => {}]) throws('TypeError', 'request', () => ask(x, request));
  throws('TypeError', 'gpuDevice', () => ask(x, { device: { type: 15, id: 0 }, gpuDevice: {} }));
});

test('2.3.4: each field is read once, and a frozen request works', () => {
  const reads: string[] = [];
  const request = Object.freeze({
    get copy() {
      reads.push('copy');
      return reads.filter((name) => name === 'copy').length === 1 ? true : null;
    },
  });
  const x = Tensor.from([1, 2]);
  const managed = ask(x, request);
  equal([reads, managed.flags], [['copy'], ManagedFlag.isCopied]);
  managed.deleter?.();
});

test('6.2: what cannot be exported as requested is a BufferError', () => {
  const x = Tensor.from([1, 2]);
  const refused: readonly [DLPackRequest, string][] = [
    [{ maxVersion: [0, 8] }, 'at most 0.8'],
    [{ device: { type: 99, id: 0 } }, '99'],
    [{ device: { type: 2, id: 0 } }, 'cuda:0'],
    [{ device: { type: 2, id: 0 }, native: true }, ''], // perhaps there is no driver
    [{ device: { type: 2, id: -1 } }, '-1'],
    [{ device: { type: 2, id: 0 }, copy: false, native: true }, 'cuda:0'],
    [{ device: { type: 15, id: 0 } }, 'without one'],
    [{ stream: 1n }, 'no stream'],
    [{ stream: 0n }, 'no stream'],
    [{ stream: -1n }, 'no stream'],
  ];
  for (const [request, text] of refused) throws('BufferError', text, () => ask(x, request));
});

test('2.1: the rows of the table for a tensor of host memory', () => {
  const array = new Float32Array([1, 2, 3]);
  const x = Tensor.wrap(array, { readonly: true });
  for (const device of [undefined, { type: 1, id: 0 }, { type: 1, id: 7 }]) {
    for (const copy of [undefined, null, false]) {
      const shared = ask(x, { device, copy });
      ok(shared.data === array.buffer);
      equal([shared.flags, shared.device], [ManagedFlag.readonly, { type: 1, id: 0 }]);
    }
    const copied = ask(x, { device, copy: true });
    ok(copied.data !== array.buffer);
    equal(copied.flags, ManagedFlag.isCopied, 'its only owner may write to it');
    equal([...new Float32Array(copied.data as ArrayBuffer, copied.byteOffset, 3)], [1, 2, 3]);
    copied.deleter?.();
  }
});

test('2.1: a packed view that starts inside a byte is copied, or refused without a copy', () => {
  const x = Tensor.from([1, 2, 3, 4], { dtype: 'uint4' }).slice([1, 3]);
  for (const copy of [null, true]) {
    const managed = ask(x, { copy });
    equal([managed.flags, managed.shape, bytesOf(managed)[0]], [ManagedFlag.isCopied, [2], 0x32]);
    managed.deleter?.();
  }
  for (const native of [false, true, 'only'] as const) {
    throws('BufferError', 'start on a byte', () => ask(x, { copy: false, native }));
  }
});

test('5.6: an export of imported memory keeps READ_ONLY and drops IS_COPIED', () => {
  const x = Tensor.wrap(new Uint8Array(4), { readonly: true });
  equal(ask(x).flags, ManagedFlag.readonly);
  const copy = x.copy();
  const [first, second] = [ask(copy), ask(copy)];
  equal([first.flags, second.flags], [0, 0]);
  for (const managed of [first, second]) managed.deleter?.();
});

test('5.3: a deleter works twice, alone, nested and after dispose', () => {
  const x = Tensor.from(new Float32Array([1, 2]));
  const [a, b] = [ask(x), ask(x)];
  const { deleter } = a;
  x.dispose();
  deleter?.();
  deleter?.();
  equal((b.data as ArrayBuffer).byteLength > 0, true, 'the other export lives');
  equal(new Float32Array(b.data as ArrayBuffer, b.byteOffset, 2)[1], 2);
  b.deleter?.();
});
