// WebAssembly modules for the tests of dlpack/wasm, compiled with Zig: the same source for 32-bit and 64-bit memory.
import { mkdirSync } from 'node:fs';
import { at, run, step, whenChanged } from './steps.mjs';
import { installZig, zig } from './zig.mjs';

const source = 'tests/wasm/tensors.cc';
const targets = { wasm32: 'build/wasm/tensors32.wasm', wasm64: 'build/wasm/tensors64.wasm' };

export async function buildWasmModules() {
  try {
    await installZig();
  } catch (error) {
    console.log(`- WebAssembly modules ... left out: ${error.message.split('\n')[0]}`);
    return;
  }
  await step('WebAssembly modules', () =>
    whenChanged('wasm', [source, 'native/abi', 'scripts/lib/wasm.mjs'], Object.values(targets), async () => {
      mkdirSync(at('build/wasm'), { recursive: true });
      const flags = ['-std=c++17', '-O2', '-Wall', '-Wextra', '-Werror', '-fno-exceptions', '-fno-rtti', '-nostdlib'];
      const exported = ['--no-entry', '--export-dynamic', '--export-table', '--growable-table', '--export-memory'];
      for (const [target, file] of Object.entries(targets)) {
        const link = ['-fno-builtin', ...exported.map((flag) => `-Wl,${flag}`), source, '-o', file];
        await run(zig(), ['c++', '-target', `${target}-freestanding`, ...flags, ...link]);
      }
    }),
  );
}
