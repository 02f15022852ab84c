/** Patches every method that a program can patch after loading the package, and records the arguments of the patches. */

import { DLPACK, fromDLPack, type ManagedTensor, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { exportManaged, importManaged, releaseManaged } from 'dlpack/native';

Tensor.from([1]).dispose(); // loaded
const seen: unknown[] = [];
const record = (value: unknown) => {
  if (typeof value === 'object' && value !== null) seen[seen.length] = value;
};

type Methods = Record<string | symbol, (...args: unknown[]) => unknown>;
const typed = Object.getPrototypeOf(Uint8Array.prototype) as Methods;
const methodsOf = (prototype: object): [Methods, (string | symbol)[]] => [
  prototype as Methods,
  Reflect.ownKeys(prototype).filter((name) => {
    const { value } = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
    return typeof value === 'function' && name !== 'constructor';
  }),
];
const patches: [Methods, (string | symbol)[]][] = [
  methodsOf(typed),
  methodsOf(DataView.prototype),
  methodsOf(Map.prototype),
  methodsOf(Set.prototype),
  methodsOf(WeakMap.prototype),
  methodsOf(WeakSet.prototype),
  methodsOf(TextEncoder.prototype),
  methodsOf(TextDecoder.prototype),
  methodsOf(Array.prototype),
  methodsOf(FinalizationRegistry.prototype),
  [Function.prototype as unknown as Methods, ['call', 'apply', 'bind']],
  [globalThis as unknown as Methods, ['structuredClone', 'queueMicrotask']],
];
const undo: (() => void)[] = [];
for (const prototype of [ArrayBuffer.prototype, typed]) {
  for (const name of ['byteLength', 'byteOffset', 'buffer', 'length', 'resizable']) {
    const original = Object.getOwnPropertyDescriptor(prototype, name);
    const getter = original?.get;
    if (getter === undefined) continue;
    undo.push(() => Object.defineProperty(prototype, name, original as PropertyDescriptor));
    Object.defineProperty(prototype, name, {
      configurable: true,
      get() {
        record(this);
        return Reflect.apply(getter, this, []);
      },
    });
  }
}
for (const [target, names] of patches) {
  for (const name of names) {
    const original = target[name] as (...args: unknown[]) => unknown;
    // Bun forbids to define methods of TextEncoder again.
    if (Object.getOwnPropertyDescriptor(target, name)?.configurable !== true) continue;
    undo.push(() => Object.defineProperty(target, name, { value: original, configurable: true, writable: true }));
    Object.defineProperty(target, name, {
      configurable: true,
      writable: true,
      value(this: unknown, ...args: unknown[]) {
        record(this);
        for (let i = 0; i < args.length; i++) record(args[i]);
        return Reflect.apply(original, this, args);
      },
    });
  }
}

const array = new Uint8Array(512).fill(7);
const adopted = Tensor.adopt(array);
const x = Tensor.zeros([16], 'float32');
const y = importManaged(exportManaged(x));
releaseManaged(exportManaged(adopted));
fromDLPack(x);
liveCounts();
x.copy().astype('complex64').dispose();
for (const dtype of ['float64', 'float32', 'int16', 'int64', 'bool', 'float16'] as const) {
  Tensor.from([[1, 0, 1]], { dtype }).dispose();
}
x.fill(1)
  .copyFrom(Tensor.wrap(new Float32Array(16)))
  .transpose()
  .dispose();
x.copyFrom(x.flip());
Tensor.from([x.data, x.data]).reshape([32]).dispose();
await x.slice([null, null, 2]).copyAsync();
String(x);
const managed = x[DLPACK]() as ManagedTensor;
fromDLPack({ [DLPACK]: () => ({ ...managed, deleter: () => managed.deleter?.() }) }).fill(2 as never).data;
fromDLPack({ [DLPACK]: () => x[DLPACK]({ copy: true, native: true }) }, { copy: true }).dispose();
try {
  exportManaged(Tensor.wrap(new Uint8Array(2)), { copy: false });
} catch {
  // formatting an error calls patched methods, too
}
for (let i = 0; i < undo.length; i++) undo[i]?.();

const problems: string[] = [];
const inside = seen.flatMap((value) => (ArrayBuffer.isView(value) ? [] : Object.values(value as object)));
for (const value of [...seen, ...inside.filter((value) => typeof value === 'object' && value !== null)]) {
  const name = Object.getPrototypeOf(value)?.constructor?.name as string | undefined;
  if (/(Storage|Descriptor|Owner|Handle)$/.test(name ?? '')) problems.push(name as string);
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === 1 << 20) problems.push('the wire');
  if (buffer instanceof ArrayBuffer && buffer !== adopted.data.buffer && buffer.byteLength === 512)
    problems.push('a hidden buffer');
}
console.log(problems.length === 0 ? 'nothing leaked' : problems.join(', '));
void [y];
