/**
 * This package, in a separate process, with the same protocol as values.py. DLPACK_NUM_THREADS is read at load time.
 */

import { createInterface } from 'node:readline';
import { type BaseDType, Tensor } from 'dlpack';
import type { Operation } from '../values/operations.js';

/** (x / 255 - mean) / std, which a scale and an offset are. */
const normal = {
  scale: [0.229, 0.224, 0.225].map((std) => 1 / (255 * std)),
  offset: [-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225],
  axis: 1,
};

function sourceOf({ count, from, padded }: Operation): Tensor {
  const floats = Tensor.empty([count], 'float32');
  const { data } = floats;
  for (let i = 0; i < count; i++) data[i] = (i % 13) - 6;
  if (from === 'float32') return floats;
  const source = Tensor.empty([count], from as BaseDType, { padded });
  source.copyFrom(floats);
  floats.dispose();
  return source;
}

/** Only writes the result. */
function fillOf({ count, to, fresh }: Operation): () => void {
  if (fresh) {
    return () =>
      Tensor.empty([count], to as BaseDType)
        .fill(1)
        .dispose();
  }
  const target = Tensor.zeros([count], to as BaseDType);
  return () => void target.fill(1);
}

function actionOf(op: Operation): () => void {
  const { count, kind, fresh } = op;
  const to = op.to as BaseDType;
  const source = sourceOf(op);
  if (kind === 'images') {
    const planes = source.reshape(op.shape as number[]).transpose(op.axes as number[]);
    return () => planes.astype(to, normal).dispose();
  }
  if (fresh) return () => source.astype(to).dispose();
  if (kind === 'permute') {
    const turned = source.reshape(op.shape as number[]).transpose(op.axes as number[]);
    const target = Tensor.zeros(turned.shape, to);
    return () => target.copyFrom(turned);
  }
  const target = Tensor.zeros([count], to);
  return () => target.copyFrom(source);
}

console.log(JSON.stringify({ node: process.versions.node }));
let known: { key: string; actions: Record<string, () => void> } = { key: '', actions: {} };
for await (const line of createInterface({ input: process.stdin })) {
  const { op, peer, repetitions } = JSON.parse(line) as { op: Operation; peer: string; repetitions: number };
  const key = JSON.stringify(op);
  if (known.key !== key) {
    known = { key: '', actions: {} };
    (globalThis as { gc?: () => void }).gc?.();
    known = { key, actions: { dlpack: actionOf(op), fill: fillOf(op) } };
  }
  const action = known.actions[peer] as () => void;
  const seconds: number[] = [];
  for (let i = 0; i < repetitions; i++) {
    const start = performance.now();
    for (let j = 0; j < op.times; j++) action();
    seconds.push((performance.now() - start) / 1000 / op.times);
  }
  console.log(JSON.stringify(seconds));
}
