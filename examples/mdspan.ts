/** A typed span over an array, its parts, its DLTensor, and the same memory as a Tensor. */

import { fromDLPack } from 'dlpack';
import { dynamic, extents, fullExtent, hostMdspan, submdspan, toDLPackTensor, toHostMdspan } from 'dlpack/mdspan';

const data = new Int32Array([0, 1, 2, 3, 4, 5]);
const rows = data.length / 3;

const md = hostMdspan(data, extents(dynamic(rows), 3)); // rows known at run time, columns to the compiler
console.log(md.get(1, 2)); // 5

const column = submdspan(md, fullExtent, 1);
column.set(0, 10);
console.log([...data]); // [ 0, 10, 2, 3, 4, 5 ]

const dl = toDLPackTensor(md); // owns shape and strides, not the elements
const { ndim, device, dtype, shape, strides } = dl.get();
console.log(ndim, device, dtype, shape, strides);
// 2 { type: 1, id: 0 } { code: 0, bits: 32, lanes: 1 } BigInt64Array(2) [ 2n, 3n ] BigInt64Array(2) [ 3n, 1n ]

const back = toHostMdspan(dl.get(), { dtype: 'int32', rank: 2 });
back.set(1, 1, 40);
console.log(md.get(1, 1)); // 40
dl.dispose();

const tensor = fromDLPack(md); // spans are DLPack producers: the same memory again
tensor.set(0, 0, -1);
console.log(data[0]); // -1
tensor.dispose();
