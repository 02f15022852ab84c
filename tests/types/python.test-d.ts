/** Types of dlpack/python, checked by the compiler. */

import { fromDLPack, type Tensor } from 'dlpack';
import {
  callAsync,
  callTensorAsync,
  isPyObject,
  type Keywords,
  type PyObject,
  type Python,
  type TensorOptions,
  type TensorSource,
} from 'dlpack/python';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const assert = <_T extends true>(): void => {};

declare const py: Python;
declare const x: Tensor<'float32'>;
const torch = py.import('torch');

py.tensor(x);
py.tensor(x, torch.Tensor);
py.tensor(x.view(), torch.Tensor, { copy: false });
py.tensor(torch.ones(2), torch.Tensor, { copy: null });
// @ts-expect-error: not a tensor
py.tensor([1, 2], torch.Tensor);
// @ts-expect-error: no such copy
py.tensor(x, torch.Tensor, { copy: 'always' });

const sum = py.callTensor(torch.add, x, 1, py.kwargs({ alpha: 2 }));
assert<Equal<typeof sum, Tensor>>();
assert<Equal<TensorOptions, { copy?: boolean | null }>>();
const source: TensorSource = x;
void source;

// Without a type, everything is allowed and has the type any.
const anything: PyObject = py.import('numpy').linalg.norm([1, 2], py.kwargs({ ord: 1 }));
const fromCallback: PyObject = py.eval('lambda f: f(1)')((n: number) => n + 1);

// With a type, calls are checked like JavaScript calls.
interface Numbers {
  pi: number;
  floor(x: number): number;
  isclose(a: number, b: number, options?: Keywords): boolean;
  apply(f: (x: number) => number, x: number): number;
}
const math = py.import<Numbers>('math');
const floor: number = math.floor(math.pi);
math.isclose(1, 2, py.kwargs({ rel_tol: 0.1 }));
math.apply((x) => x * 2, 1);
// @ts-expect-error: a string is not a number
math.floor('1');
// @ts-expect-error: the function takes a number
math.apply((x: string) => x, 1);
const two = py.eval<number>('1 + 1');
assert<Equal<typeof two, number>>();

const later = callAsync(math.floor, 1.5);
assert<Equal<typeof later, Promise<number>>>();
const signal = new AbortController().signal;
const close: Promise<boolean> = py.callAsync.with({ signal })(math.isclose, 1, 2, py.kwargs({ rel_tol: 0.1 }));
void callAsync.with({ signal })(math.floor, 1.5);
// @ts-expect-error: a signal is an option
void callAsync(math.floor, 1.5, signal);
// @ts-expect-error: a string is not a number
void callAsync(math.floor, '1');
// @ts-expect-error: not a function
void callAsync(math.pi);
const tensorLater = callTensorAsync.with({ signal })(math.floor, 1.5);
assert<Equal<typeof tensorLater, Promise<Tensor>>>();
// @ts-expect-error: a string is not a number
void callTensorAsync(math.floor, '1');
const untyped: Promise<PyObject> = callAsync.with({ signal })(torch.matmul, x, x, py.kwargs({ out: x }));

const callback: PyObject = py.callable((n: number, options: { dim: number }) => n * options.dim);
// @ts-expect-error: a function is wanted
py.callable(5);

// The type of a converted value is the caller's word, and unknown without one.
const converted = py.toJS(torch, { depth: 3 });
assert<Equal<typeof converted, unknown>>();
const labels = py.toJS<{ label: string; score: number }[]>(torch.classify(x));
assert<Equal<typeof labels, { label: string; score: number }[]>>();
// @ts-expect-error: no such option
py.toJS(torch, { deep: 3 });

export { anything, callback, close, floor, fromCallback, untyped };

// isPyObject narrows: a Python object can be called, has any attribute, and is a source of a tensor.
const describe = (value: string | object) => {
  if (!isPyObject(value)) return 0;
  value.shape;
  value(1);
  return fromDLPack(value).size;
};
assert<Equal<ReturnType<typeof describe>, number>>();
