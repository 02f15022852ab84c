/** Types of `dlpack/mdspan`, checked by the compiler. Nothing here runs. */

import type { Tensor } from 'dlpack';
import {
  type Accessor,
  type DeviceMdspan,
  deviceMdspan,
  dims,
  dynamic,
  type Extents,
  extents,
  fullExtent,
  type HostMdspan,
  hostMdspan,
  type LayoutMapping,
  layoutLeft,
  layoutRight,
  layoutStride,
  layoutStrideRelaxed,
  managedMdspan,
  type RelaxedMapping,
  type RightMapping,
  submdspan,
  toDeviceMdspan,
  toDLPackTensor,
  toHostMdspan,
} from 'dlpack/mdspan';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function is<_T extends true>(): void {}

declare const n: number;
declare const data: Float32Array;
declare const address: bigint;
declare const tensor: Tensor<'float32'>;
declare const anyTensor: Tensor;

/** Never called. */
export function integersAreNumbersUnlessOneIsABigInt(): void {
  const numbers = layoutRight(extents(dynamic(n), 3));
  is<Equal<typeof numbers.isExhaustive, true>>();
  is<Equal<ReturnType<typeof layoutStride>['isUnique'], true>>();
  is<Equal<typeof numbers.extents.size, number>>();
  is<Equal<typeof numbers.requiredSpanSize, number>>();
  is<Equal<ReturnType<typeof numbers.offsetAt>, number>>();
  is<Equal<ReturnType<typeof numbers.stride>, number>>();
  is<Equal<Parameters<typeof numbers.offsetAt>, [number, number]>>();
  const span = toHostMdspan(null as never, { dtype: 'float32', rank: 2 });
  is<Equal<typeof span.shape, readonly [number, number]>>();
  is<Equal<typeof span.size, number>>();
  const big = extents(dynamic(address), 3);
  is<Equal<typeof big, Extents<readonly [number | bigint, 3]>>>();
  is<Equal<typeof big.size, number | bigint>>();
  const mapping = layoutStrideRelaxed(big, [address, 1], address);
  is<Equal<typeof mapping.requiredSpanSize, number | bigint>>();
  is<Equal<Parameters<typeof mapping.offsetAt>, [number | bigint, number | bigint]>>();
  const bigSpan = toHostMdspan(null as never, { dtype: 'float32', rank: 1, bigint: true });
  is<Equal<typeof bigSpan.shape, readonly [number | bigint]>>();
  toDLPackTensor(hostMdspan(data, mapping));
  // @ts-expect-error a bigint that is not a literal must be marked as dynamic
  extents(address);
  // @ts-expect-error negative
  extents(-1n);
  // @ts-expect-error extents of numbers have strides of numbers
  layoutStrideRelaxed(extents(1, 3), [address, 1]);
  // @ts-expect-error extents with bigints are not extents of numbers
  const narrow: Extents = big;
  void narrow;
}

/** Never called. */
export function extentsAreChecked(): void {
  const fixed = extents(2, 3);
  is<Equal<typeof fixed, Extents<readonly [2, 3]>>>();
  is<Equal<typeof fixed.rank, 2>>();
  const mixed = extents(dynamic(n), 3);
  is<Equal<typeof mixed, Extents<readonly [number, 3]>>>();
  is<Equal<ReturnType<typeof extents<[]>>, Extents<readonly []>>>();
  const two = dims([n, n]);
  is<Equal<typeof two, Extents<readonly [number, number]>>>();
  // More static lengths convert to fewer, not the other way round.
  const wider: Extents<readonly [number, 3]> = fixed;
  // @ts-expect-error a dynamic length is not a static one
  const narrower: Extents<readonly [2, 3]> = mixed;
  // @ts-expect-error other lengths
  const other: Extents<readonly [2, 4]> = fixed;
  // @ts-expect-error another rank
  const rank: Extents<readonly [2]> = fixed;
  // @ts-expect-error a length that is not a literal must be marked as dynamic
  extents(n, 3);
  // @ts-expect-error negative
  extents(-1);
  // @ts-expect-error not an integer
  extents(1.5);
  // @ts-expect-error there is no third axis
  fixed.lengths[2];
  void [wider, narrower, other, rank];
}

export function layoutsAreChecked(): void {
  is<Equal<ReturnType<typeof layoutRight<readonly [2, 3]>>, RightMapping<readonly [2, 3]>>>();
  layoutStride(extents(2, 3), [3, 1]);
  layoutStrideRelaxed(extents(2, 3), [-3, 0], 3);
  // @ts-expect-error one stride for each axis
  layoutStride(extents(2, 3), [1]);
  // @ts-expect-error an index for each axis
  layoutLeft(extents(2, 3)).offsetAt(1);
}

export function elementsAreTyped(): void {
  const span = hostMdspan(data, extents(2, 3));
  is<Equal<typeof span.dtype, 'float32'>>();
  const value: number = span.get(1, 2);
  span.set(1, 2, value);
  // @ts-expect-error one index for each axis
  span.get(1);
  // @ts-expect-error one index for each axis
  span.set(1, 2);
  // @ts-expect-error float32 elements are numbers
  span.set(1, 2, 1n);
  const wide = hostMdspan(new BigInt64Array(6), extents(2, 3));
  is<Equal<ReturnType<typeof wide.get>, bigint>>();
  const flags = hostMdspan(new Uint8Array(6), extents(6), { dtype: 'bool' });
  is<Equal<ReturnType<typeof flags.get>, boolean>>();
  const vectors = hostMdspan(data, extents(2), { dtype: 'float32x4' });
  is<Equal<ReturnType<typeof vectors.get>, readonly number[]>>();
  const own = hostMdspan(tensor);
  is<Equal<typeof own.dtype, 'float32'>>();
  is<Equal<typeof own.mapping, RelaxedMapping<readonly number[]>>>();
  hostMdspan(anyTensor);
  // @ts-expect-error no C++ type has three lanes that DLPack can name
  hostMdspan(data, extents(2), { dtype: 'float32x3' });
  // @ts-expect-error no C++ type of four bits that is an integer
  hostMdspan(data, extents(2), { dtype: 'int4' });
  // @ts-expect-error an address does not say what its elements are
  hostMdspan(address, extents(2));
  const matrix = (m: HostMdspan<'float32', readonly [3, 3], LayoutMapping<readonly [3, 3]>>): void => void m;
  matrix(hostMdspan(data, extents(3, 3)));
  // @ts-expect-error extents differ
  matrix(span);
  // @ts-expect-error element types differ
  matrix(hostMdspan(new Int32Array(9), extents(3, 3)));
}

export function deviceElementsAreOutOfReach(): void {
  const device = deviceMdspan(address, extents(2, 3), { dtype: 'float16', deviceId: 0 });
  is<Equal<typeof device.shape, readonly [2, 3]>>();
  // @ts-expect-error device memory cannot be read here
  device.get(0, 0);
  // @ts-expect-error device memory cannot be written here
  device.set(0, 0, 1);
  // @ts-expect-error device memory cannot be iterated here
  for (const _ of device) break;
  const part = submdspan(device, 0, fullExtent);
  // @ts-expect-error nor can a part of it
  part.get(0);
  // @ts-expect-error a typed array is not device memory
  deviceMdspan(data, extents(2, 3));
  managedMdspan(address, extents(2, 3), { dtype: 'float32' }).get(0, 0);
  // @ts-expect-error a device span is not a host span
  const host: HostMdspan<'float16', readonly [2, 3]> = device;
  void host;
}

export function partsAreTyped(): void {
  const span = hostMdspan(data, extents(2, dynamic(n), 4));
  const part = submdspan(span, 1, [0, 2], fullExtent);
  is<Equal<typeof part.shape, readonly [number, 4]>>();
  // @ts-expect-error one slice for each axis
  submdspan(span, 1);
  // @ts-expect-error a range has two ends
  submdspan(span, [1], 0, 0);
}

export function onlyPointersBecomeTensors(): void {
  toDLPackTensor(hostMdspan(data, extents(2, 3)));
  toDLPackTensor(deviceMdspan(address, extents(2), { dtype: 'float32', deviceId: 0 }));
  toDLPackTensor(hostMdspan(tensor));
  const table: Accessor<string, readonly string[]> = {
    read: (rows, offset) => rows[offset] ?? '',
    offset: (rows, offset) => rows.slice(offset),
  };
  const words = hostMdspan(['a', 'b'], extents(2), { accessor: table });
  is<Equal<ReturnType<typeof words.get>, string>>();
  is<Equal<typeof words.dtype, null>>();
  // @ts-expect-error the handle is not a pointer
  toDLPackTensor(words);
  const diagonal: LayoutMapping<readonly [3]> = {
    extents: extents(3),
    requiredSpanSize: 9,
    isUnique: true,
    isExhaustive: false,
    isStrided: false,
    offsetAt: (i) => 4 * i,
  };
  // @ts-expect-error the layout has no strides
  toDLPackTensor(hostMdspan(data, diagonal));
}

export function theReverseIsTyped(): void {
  const dl = toDLPackTensor(hostMdspan(data, extents(2, 3))).get();
  const back = toHostMdspan(dl, { dtype: 'float32', rank: 2 });
  is<Equal<typeof back.shape, readonly [number, number]>>();
  is<Equal<typeof back.mapping, RelaxedMapping<readonly [number, number]>>>();
  const right = toHostMdspan(dl, { dtype: 'float32', rank: 2, layout: layoutRight });
  is<Equal<typeof right.mapping, RightMapping<readonly [number, number]>>>();
  const device: DeviceMdspan<'float32', readonly [number], LayoutMapping<readonly [number]>> = toDeviceMdspan(dl, {
    dtype: 'float32',
    rank: 1,
  });
  // @ts-expect-error device memory cannot be read here
  device.get(0);
  // @ts-expect-error not an element type
  toHostMdspan(dl, { dtype: 'handle', rank: 1 });
  const any = toHostMdspan(dl, { dtype: 'float32', readonly: true });
  is<Equal<typeof any.shape, readonly number[]>>();
  dl.ndim = 1;
  const constant = toDLPackTensor(hostMdspan(data, extents(2, 3))).getConst();
  // @ts-expect-error as const DLTensor&
  constant.ndim = 1;
}
