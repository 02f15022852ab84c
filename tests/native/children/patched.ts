/** Patches what a program can patch after loading the package, and looks at what the patches are handed. */

import { fromDLPack, Tensor } from 'dlpack';
import { exportManaged, importManaged, releaseManaged, stats } from 'dlpack/native';

Tensor.from([1]).dispose(); // loaded
const seen: unknown[] = [];
const record = (value: unknown) => {
  if (typeof value === 'object' && value !== null) seen[seen.length] = value;
};

type Methods = Record<string | symbol, (...args: unknown[]) => unknown>;
const typed = Object.getPrototypeOf(Uint8Array.prototype) as Methods;
const patches: [Methods, (string | symbol)[]][] = [
  [typed, ['subarray', 'slice', 'set', Symbol.iterator]],
  [Map.prototype as unknown as Methods, ['get', 'set', 'delete']],
  [Set.prototype as unknown as Methods, ['add', 'has']],
  [Array.prototype as unknown as Methods, ['push', 'slice', Symbol.iterator]],
  [FinalizationRegistry.prototype as unknown as Methods, ['register']],
  [globalThis as unknown as Methods, ['structuredClone']],
];
const undo: (() => void)[] = [];
for (const [target, names] of patches) {
  for (const name of names) {
    const original = target[name] as (...args: unknown[]) => unknown;
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
stats();
try {
  exportManaged(Tensor.wrap(new Uint8Array(2)), { copy: false });
} catch {
  // the error's own formatting is part of what is looked at
}
for (const restore of undo) restore();

const problems: string[] = [];
for (const value of seen) {
  const name = Object.getPrototypeOf(value)?.constructor?.name as string | undefined;
  if (name === 'NativeStorage' || name === 'Descriptor' || name === 'BufferStorage') problems.push(name);
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === 2048) problems.push('the frame');
  if (buffer instanceof ArrayBuffer && buffer !== adopted.data.buffer && buffer.byteLength === 512)
    problems.push('a hidden buffer');
}
console.log(problems.length === 0 ? 'nothing leaked' : problems.join(', '));
void [y];
