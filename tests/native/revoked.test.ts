/** Every function that the package exports refuses a revoked proxy, on which every operation throws, with a typed error. */

import * as core from 'dlpack';
import * as abi from 'dlpack/abi';
import { adapt } from 'dlpack/adapters';
import * as cuda from 'dlpack/cuda';
import * as files from 'dlpack/files';
import * as mdspan from 'dlpack/mdspan';
import * as native from 'dlpack/native';
import * as python from 'dlpack/python';
import * as ray from 'dlpack/ray';
import * as shared from 'dlpack/shared';
import * as ffi from 'dlpack/tvm-ffi';
import * as wasm from 'dlpack/wasm';
import * as webgpu from 'dlpack/webgpu';
import { equal, throws } from '../assert.js';
import { test } from '../harness.js';

const entries = { core, abi, cuda, files, mdspan, native, python, ray, shared, ffi, wasm, webgpu };

/** These read their argument on a path where another check would slow down each call, or call it. */
const others = new Set([
  'core.fromDLPack',
  'core.scope',
  'core.scopeAsync',
  'ffi.deepCopy',
  'ffi.structuralEqual',
  'ffi.structuralHash',
  'ffi.toJSONGraph',
]);

const isClass = (value: object) => /^class\b/.test(Function.prototype.toString.call(value));

for (const [entry, module] of Object.entries(entries)) {
  test(`dlpack/${entry}: functions refuse a revoked proxy`, async () => {
    const bare: string[] = [];
    for (const [name, value] of Object.entries(module) as [string, unknown][]) {
      if (typeof value !== 'function' || isClass(value) || others.has(`${entry}.${name}`)) continue;
      for (const target of [{}, () => {}]) {
        const { proxy, revoke } = Proxy.revocable(target, {});
        revoke();
        try {
          await value(proxy, {});
        } catch (error) {
          if (!core.isDLPackError(error)) bare.push(`${name}: ${String(error)}`);
        }
      }
    }
    equal(bare, []);
  });
}

test('a revoked proxy is not an error of this package, and not a foreign object', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  throws('TypeError', 'a tensor of a library', () => adapt(proxy));
  equal([core.isDLPackError(proxy), python.isPyObject(proxy), ffi.sameAs(proxy, proxy)], [false, false, false]);
});
