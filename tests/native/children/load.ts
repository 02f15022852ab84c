/** How the addon is found or not found. One case in each process, because an addon is loaded once. */

import { isDLPackError, nativeStatus, Tensor } from 'dlpack';
import { addressOf, exportManaged, loadAddon } from 'dlpack/native';

const [, , name, file = ''] = process.argv;

function attempt(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    if (!isDLPackError(error)) throw error;
    return { tag: error.tag, message: error.message, stack: error.stack };
  }
}
// Arrays, because Bun omits the caller of a tail call from the stack.
const first = () => [exportManaged(Tensor.wrap(new Float32Array(2)))];
const second = () => [exportManaged(Tensor.wrap(new Float32Array(2)))];

const cases: Record<string, () => unknown> = {
  status: () => nativeStatus(),
  named: () => {
    loadAddon(file);
    loadAddon(file);
    return { status: nativeStatus(), isNative: addressOf(Tensor.empty([2], 'float32')) > 0n };
  },
  conflict: () => {
    Tensor.empty([2], 'float32');
    return attempt(() => loadAddon(file));
  },
  fallback: () => {
    const x = Tensor.from([1, 2, 3]);
    Tensor.from([4]);
    return { status: nativeStatus(), sum: x.get(0) + x.get(2), first: attempt(first), second: attempt(second) };
  },
  recovery: () => {
    Tensor.from([1]);
    loadAddon(file);
    return { status: nativeStatus(), isNative: addressOf(Tensor.empty([2], 'float32')) > 0n };
  },
  mistake: () => [attempt(() => loadAddon(1 as unknown as string)), attempt(() => loadAddon(file))],
};

console.log(`RESULT ${JSON.stringify(cases[name as string]?.())}`);
