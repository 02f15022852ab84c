/**
 * A process whose ArrayBuffers know whether they are immutable, as in engines to come. The getter stands in where the engine
 * has none; such a buffer can still be written here, which shows that the package alone refuses.
 */

import type { DLPackSource, ManagedTensor } from 'dlpack';

const fixed = new WeakSet<object>();
if (!('immutable' in ArrayBuffer.prototype)) {
  Object.defineProperty(ArrayBuffer.prototype, 'immutable', {
    configurable: true,
    get(this: object) {
      return fixed.has(this);
    },
  });
}
const made = (values: readonly number[]): ArrayBuffer => {
  const { buffer } = Float32Array.from(values);
  const { sliceToImmutable } = buffer as { sliceToImmutable?: () => ArrayBuffer };
  if (sliceToImmutable !== undefined) return Reflect.apply(sliceToImmutable, buffer, []);
  fixed.add(buffer);
  return buffer;
};

const dlpack = await import('dlpack');
const { fromDLPack, Tensor } = dlpack;
const wrapped = Tensor.wrap(new Float32Array(made([1, 2])));
const managed = wrapped[dlpack.DLPACK]() as ManagedTensor;
const producer: DLPackSource = { [dlpack.DLPACK]: () => ({ ...managed, flags: 0, data: made([3, 4]), deleter: null }) };
const taken = fromDLPack(producer);
const writable = Tensor.wrap(new Float32Array(2));
const tagOf = (write: () => void): string => {
  try {
    write();
    return 'written';
  } catch (error) {
    return (error as { tag: string }).tag;
  }
};
console.log(
  `RESULT ${JSON.stringify([
    [wrapped.isReadOnly, managed.flags, wrapped.toArray()],
    [taken.isReadOnly, taken.toArray(), tagOf(() => taken.set(0, 9))],
    [writable.isReadOnly, wrapped.copy().isReadOnly],
  ])}`,
);
