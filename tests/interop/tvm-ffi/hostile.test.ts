import { equal } from '../../assert.js';
import { runChild } from '../../child.js';
import { testWith } from '../../harness.js';
import { kernelsMissing, testing } from './peer.js';

testWith(kernelsMissing, 'no JavaScript can make native code follow a dangling pointer', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/hostile.js');
  equal([code, signal], [0, null], output);
  const container = 'BufferError: Expected memory that native code may keep inside of a contai';
  equal(JSON.parse(output.trim().split('\n').at(-1) ?? ''), {
    'resize by a later argument': 'taken away',
    'resize by a callback': 'taken away',
    'detach by a later argument': 'taken away',
    'detach by a callback': 'taken away',
    'a view in a container': container,
    'the result of a function': 'BufferError: Expected memory that native code may keep as the result of a',
    'a view of native memory in a container': container,
    rvalues: 'alive',
    'rvalues among more arguments than slots': 'alive',
    'a forged object': 'TypeError: Expected an object that a native function returned for handl',
    'a type that changes': 'returned 1',
    'a getter while a function is registered': 'returned 42',
  });
});

testWith(kernelsMissing, 'patched built-in functions do not receive the wire', () => {
  const echo = testing('echo');
  const typed = Object.getPrototypeOf(Uint8Array.prototype) as object;
  const targets: [object, string[]][] = [
    [typed, ['subarray', 'slice', 'fill', 'set']],
    [TextEncoder.prototype, ['encode', 'encodeInto']],
    [TextDecoder.prototype, ['decode']],
  ];
  const seen: number[] = [];
  const note = (value: unknown): void => {
    if (ArrayBuffer.isView(value)) seen.push(value.buffer.byteLength);
  };
  const undo: (() => void)[] = [];
  try {
    for (const [target, names] of targets) {
      for (const name of names) {
        const { value: original, writable } = Object.getOwnPropertyDescriptor(target, name) as PropertyDescriptor;
        if (writable !== true) continue; // on Bun a program cannot replace some of them
        undo.push(() => Object.defineProperty(target, name, { value: original }));
        Object.defineProperty(target, name, {
          value(this: unknown, ...args: unknown[]) {
            for (const value of [this, ...args]) note(value);
            return Reflect.apply(original as () => unknown, this, args);
          },
        });
      }
    }
    for (const value of ['x'.repeat(300), 'ü'.repeat(300), 'é', 'seven77']) equal(echo(value), value);
    equal(echo(new Uint8Array([1, 2, 3])), new Uint8Array([1, 2, 3]));
  } finally {
    for (const restore of undo) restore();
  }
  equal(
    seen.filter((bytes) => bytes >= 2 ** 20),
    [],
  );
});
