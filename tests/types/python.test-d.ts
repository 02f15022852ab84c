/** Types of dlpack/python, checked by the compiler. */

import type { Tensor } from 'dlpack';
import type { Python, TensorOptions, TensorSource } from 'dlpack/python';

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
