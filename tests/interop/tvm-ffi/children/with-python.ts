/**
 * libtvm_ffi loaded by Python, by JavaScript, or by both, in the order of the arguments; prints what each side loaded
 * and whether WebAssembly traps still throw after every step.
 */

import { readFileSync } from 'node:fs';
import { python } from 'dlpack/python';
import { getGlobalFunc, loadLibrary, loadModule, registerGlobalFunc } from 'dlpack/tvm-ffi';
import { trap } from './trap.js';

const [probePath = '', ...order] = process.argv.slice(2);
const py = python();
const traps = [trap()];
const steps: Record<string, () => void> = {
  import: () => py.import('tvm_ffi'),
  exec: () => py.exec('import tvm_ffi'),
  // Python code that imports when it is called, so that this package does not notice.
  lazily: () => {
    py.exec('def lazily():\n  import tvm_ffi');
    (py.eval('lazily') as unknown as () => void)();
    py.import('sys');
  },
  javascript: () => loadLibrary(),
};
for (const step of order) {
  steps[step]?.();
  traps.push(trap());
}

py.exec(`
import ctypes, tvm_ffi
tvm_ffi.register_global_func("with_python.of_python", lambda x: x + 1)
def address():
    function = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi()).TVMFFIGetVersion
    return ctypes.cast(function, ctypes.c_void_p).value
def of_probe(path):
    return tvm_ffi.load_module(path).library_address()
def of_javascript(x):
    return tvm_ffi.get_global_func("with_python.of_javascript")(x)
`);
const run = (name: string, ...args: unknown[]) => (py.eval(name) as unknown as (...args: unknown[]) => number)(...args);
registerGlobalFunc('with_python.of_javascript', (x: number) => x * 2);
const copies = new Set(readFileSync('/proc/self/maps', 'utf8').match(/\/\S*\/libtvm_ffi\.so$/gm));
console.log(
  JSON.stringify({
    traps,
    copies: [...copies].length,
    addresses: [run('address'), run('of_probe', probePath), loadModule(probePath).library_address?.()],
    calls: [getGlobalFunc('with_python.of_python')(1), run('of_javascript', 21)],
  }),
);
