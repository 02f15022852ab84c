import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as abi from 'dlpack/abi';
import { equal } from '../../assert.js';
import { testWith } from '../../harness.js';

const program = fileURLToPath(new URL('../../../native/abi_layout', import.meta.url));
const missing = existsSync(program) ? false : 'build/native/abi_layout (needs Python and a C++ compiler)';

interface Printed {
  structs: Record<string, Record<string, number>>;
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
});
