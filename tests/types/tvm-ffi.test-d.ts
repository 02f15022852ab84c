/** Types of dlpack/tvm-ffi, checked by the compiler. Nothing here runs. */

import type { Tensor, TensorView } from 'dlpack';
import {
  callAsync,
  type FFIFunction,
  getGlobalFunc,
  List,
  live,
  loadModule,
  setAllocator,
  withStream,
} from 'dlpack/tvm-ffi';

interface Kernels {
  add_one(x: TensorView, y: TensorView): void;
  iota(length: number): Tensor;
}

const kernels = loadModule<Kernels>('kernels.so');
const made: Tensor = kernels.iota(3);
kernels.add_one(made, made.view());
// @ts-expect-error a number is not a tensor
kernels.add_one(1, made);
// @ts-expect-error not a function of the interface
kernels.add_two(made, made);

const untyped: FFIFunction | undefined = loadModule('kernels.so').add_one;
const found: FFIFunction = getGlobalFunc('name');
const maybe: FFIFunction | null = getGlobalFunc('name', { allowMissing: true });
const pending: Promise<unknown> = callAsync(found, made);
// Functions with types of their own are native functions, too.
void callAsync(kernels.add_one, made, made);
void callAsync.with({ signal: null as never })(kernels.iota, 3);
const viewing: FFIFunction = live(kernels.iota);
viewing.dispose();
using disposable: Disposable = found;
new List([1])[Symbol.dispose]();
const inside: number = withStream('cuda:0', 1n, () => 1);
// @ts-expect-error a stream is a bigint
withStream('cuda:0', 1, () => 1);
// @ts-expect-error an allocator returns a tensor
setAllocator(() => 5);

export { disposable, inside, maybe, pending, untyped };
