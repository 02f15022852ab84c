import { spawnSync } from 'node:child_process';
import * as abi from 'dlpack/abi';
import { equal } from '../../assert.js';
import { testWith } from '../../harness.js';
import { include, includeMissing } from './headers.js';

/** Static asserts over every field, made from our tables for a compiler to check against a real dlpack.h. */
function assertions(model: abi.DataModel): string {
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
  const lines = ['#include <dlpack/dlpack.h>', '#include <stddef.h>'];
  for (const struct of structs) {
    const { size, offset } = abi.layoutOf(struct, model);
    lines.push(`static_assert(sizeof(${struct.name}) == ${size}, "${struct.name}");`);
    for (const [field, at] of Object.entries(offset)) {
      lines.push(`static_assert(offsetof(${struct.name}, ${field}) == ${at}, "${struct.name}.${field}");`);
    }
  }
  return `${lines.join('\n')}\n`;
}

// Clang has the target itself; gcc has its rule: 4-byte pointers, 64-bit integers aligned to 8 bytes.
const compilers = [
  ['clang++', '--target=wasm32'],
  ['g++', '-m32', '-malign-double'],
];

function compile(command: readonly string[], source: string): { status: number | null; stderr: string } {
  const [name = '', ...flags] = command;
  const args = [...flags, '-std=c++17', '-ffreestanding', '-fsyntax-only', `-I${include}`, '-x', 'c++', '-'];
  return spawnSync(name, args, { input: source, encoding: 'utf8' });
}

const command = compilers.find((candidate) => compile(candidate, '#include <stdint.h>\n').status === 0);
const missing = includeMissing || (command === undefined ? 'a compiler for 32 bits' : false);

testWith(missing, "wasm32 layouts equal a compiler's layouts of the real dlpack.h", () => {
  const result = compile(command as string[], assertions(abi.wasm32));
  equal(result.status, 0, result.stderr);
});

testWith(missing, 'and the compiler would have noticed', () => {
  equal(compile(command as string[], assertions(abi.lp64)).status === 0, false);
});
