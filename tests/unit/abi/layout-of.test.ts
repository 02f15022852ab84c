import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as abi from 'dlpack/abi';
import { equal } from '../../assert.js';
import { test, testWith } from '../../harness.js';

const program = fileURLToPath(new URL('../../../native/abi_layout', import.meta.url));
const missing = existsSync(program) ? false : 'build/native/abi_layout (needs Python and a C++ compiler)';

interface Printed {
  structs: Record<string, Record<string, number>>;
  deviceTypes: Record<string, number>;
  typeCodes: Record<string, number>;
}

const structs: abi.Struct[] = [
  abi.DLPackVersion,
  abi.DLDevice,
  abi.DLDataType,
  abi.DLTensor,
  abi.DLManagedTensor,
  abi.DLManagedTensorVersioned,
  abi.DLPackExchangeAPIHeader,
  abi.DLPackExchangeAPI,
];

testWith(missing, "lp64 layouts equal a compiler's layouts of the real dlpack.h", () => {
  const printed = JSON.parse(spawnSync(program, { encoding: 'utf8' }).stdout) as Printed;
  equal(Object.keys(printed.structs).length, structs.length);
  for (const struct of structs) {
    const { size, alignment, offset } = abi.layoutOf(struct, abi.lp64);
    equal({ size, alignment, ...offset }, printed.structs[struct.name], struct.name);
  }
  equal(abi.DLDeviceType, printed.deviceTypes);
  equal(abi.DLDataTypeCode, printed.typeCodes);
});

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
