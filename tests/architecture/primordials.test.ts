/** Captured built-in functions are a promise of SECURITY.md, and one module has them all. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const source = fileURLToPath(new URL('../../../src', import.meta.url));
const primordials = join('base', 'primordials.ts');

const builtIn = Reflect.ownKeys(globalThis).filter((name) => typeof name === 'string' && /^[A-Z]\w*$/.test(name));
const methods = builtIn.concat('Memory').filter((name) => name !== 'Object' && name !== 'Function');
/** A method or getter of a class: `WeakMap.prototype`. Those left out are what other prototypes are compared with. */
const ofPrototype = new RegExp(`\\b(?:${methods.join('|')})\\.prototype\\b`);
/** A constant of a module that is a built-in function or class: `const { apply } = Reflect`, `const Bytes = Uint8Array`. */
const alias = new RegExp(
  `^(?:export )?const [^=\\n]*= (?:globalThis\\.\\w+|(?:${builtIn.join('|')}))(?:\\.\\w+)*(?: as .*)?;`,
  'm',
);

function captureIn(text: string): string | undefined {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/ .*/g, '');
  return (ofPrototype.exec(code) ?? alias.exec(code))?.[0];
}

test('a capture is recognised', () => {
  for (const capture of [
    'const { apply } = Reflect;',
    'const { forEach } = Set.prototype;',
    'const Bytes = globalThis.Uint8Array;',
    'export const Bytes: typeof Uint8Array = Uint8Array;',
    'const clone = globalThis.structuredClone;',
    'const { isView } = ArrayBuffer;',
    'const { freeze } = Object;',
    'const has = WeakSet.prototype.has.bind(known);',
    "const get = Object.getOwnPropertyDescriptor(WebAssembly.Memory.prototype, 'buffer')?.get;",
  ]) {
    ok(captureIn(capture), capture);
  }
  for (const plain of [
    'const key = Symbol();',
    'const names = Object.keys(table);',
    '/** As Array.prototype.slice. */',
  ]) {
    equal(captureIn(plain), undefined);
  }
});

test('only base/primordials.ts captures built-in functions', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  ok(files.includes(primordials), primordials);
  for (const file of files) {
    // The cases for other libraries share no code with the package.
    if (file === primordials || file.startsWith('conformance')) continue;
    equal(captureIn(readFileSync(join(source, file), 'utf8')), undefined, file);
  }
});
