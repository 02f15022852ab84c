import * as abi from 'dlpack/abi';
import { equal } from '../../assert.js';
import { test } from '../../harness.js';

// Measured with a compiler that has wasm32's rule (4-byte pointers, 8-byte aligned 64-bit integers).
test('wasm32 by the same rule with 4-byte pointers', () => {
  const at = (struct: abi.Struct) => {
    const { size, offset } = abi.layoutOf(struct, abi.wasm32);
    return { size, ...offset };
  };
  equal(at(abi.DLTensor), {
    size: 40,
    data: 0,
    device: 4,
    ndim: 12,
    dtype: 16,
    shape: 20,
    strides: 24,
    byte_offset: 32,
  });
  equal(at(abi.DLManagedTensor), { size: 48, dl_tensor: 0, manager_ctx: 40, deleter: 44 });
  equal(at(abi.DLManagedTensorVersioned), {
    size: 64,
    version: 0,
    manager_ctx: 8,
    deleter: 12,
    flags: 16,
    dl_tensor: 24,
  });
  equal(at(abi.DLPackExchangeAPIHeader), { size: 12, version: 0, prev_api: 8 });
  equal(abi.layoutOf(abi.DLPackExchangeAPI, abi.wasm32).size, 32);
});
