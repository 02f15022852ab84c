/** This package, in a process of its own: the same protocol as values.py. DLPACK_NUM_THREADS is read when it loads. */

import { createInterface } from 'node:readline';
import { type BaseDType, Tensor } from 'dlpack';
import type { Operation } from '../values.bench.js';

function values(count: number): Tensor<'float32'> {
  const tensor = Tensor.empty([count], 'float32');
  const { data } = tensor;
  for (let i = 0; i < count; i++) data[i] = (i % 13) - 6;
  return tensor;
}

function actionOf(op: Operation): () => void {
  const source = values(op.count);
  if (op.kind === 'copy') {
    const target = Tensor.zeros([op.count], 'float32');
    return () => target.copyFrom(source);
  }
  if (op.kind === 'fresh') return () => source.astype(op.to as BaseDType).dispose();
  if (op.kind === 'permute') {
    const turned = source.reshape(op.shape as number[]).transpose(op.axes as number[]);
    const target = Tensor.zeros(turned.shape, 'float32');
    return () => target.copyFrom(turned);
  }
  const from = source.astype(op.from as BaseDType);
  const to = Tensor.zeros([op.count], op.to as BaseDType);
  return () => to.copyFrom(from);
}

console.log(JSON.stringify({ node: process.versions.node }));
let known = { key: '', action: () => {} };
for await (const line of createInterface({ input: process.stdin })) {
  const { op, repetitions } = JSON.parse(line) as { op: Operation; repetitions: number };
  const key = JSON.stringify(op);
  if (known.key !== key) {
    known = { key: '', action: () => {} };
    (globalThis as { gc?: () => void }).gc?.();
    known = { key, action: actionOf(op) };
  }
  const seconds: number[] = [];
  for (let i = 0; i < repetitions; i++) {
    const start = performance.now();
    for (let j = 0; j < op.times; j++) known.action();
    seconds.push((performance.now() - start) / 1000 / op.times);
  }
  console.log(JSON.stringify(seconds));
}
