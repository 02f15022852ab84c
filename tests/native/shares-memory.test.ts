import { DLPACK, fromDLPack, Tensor } from 'dlpack';
import { exportManaged, importManaged } from 'dlpack/native';
import { ok } from '../assert.js';
import { test } from '../harness.js';

test('sharesMemory: an import of an export, and an array over native memory', () => {
  const x = Tensor.arange(6, 'float32');
  const imported = importManaged(exportManaged(x));
  ok(imported.sharesMemory(x) && x.sharesMemory(imported));
  ok(!imported.slice([3, 6]).sharesMemory(x.slice([0, 3])));
  ok(imported.slice([3, 6]).sharesMemory(x.data.subarray(3)));
  const wrapped = Tensor.wrap(x.data);
  ok(wrapped.sharesMemory(imported) && imported.sharesMemory(wrapped));
  ok(!importManaged(exportManaged(x.copy())).sharesMemory(x));
  ok(fromDLPack({ [DLPACK]: () => x[DLPACK]() }).sharesMemory(x));
});

test('sharesMemory: adopted memory, and a copy for native code', () => {
  const adopted = Tensor.adopt(new Float32Array(4));
  ok(importManaged(exportManaged(adopted)).sharesMemory(adopted));
  const wrapped = Tensor.wrap(new Float32Array(4));
  ok(!importManaged(exportManaged(wrapped)).sharesMemory(wrapped), 'native code gets a copy');
});
