/** The cells of the table: producer, consumer, tensor and route. */

import { type DTypeRow, dtypes, isPacked, type LayoutRow, layouts } from './tables.js';

export type Direction = 'to JavaScript' | 'from JavaScript';
export type Copy = true | false | null;

export interface Cell {
  readonly peer: string;
  readonly direction: Direction;
  readonly route: string;
  readonly dtype: DTypeRow;
  readonly layout: LayoutRow;
  readonly readonly: boolean;
  readonly copy: Copy;
}

export interface PeerRow {
  readonly name: string;
  readonly title: string;
  /** The peer's functions that take a JavaScript tensor; the first is what a user writes. */
  readonly takes: readonly string[];
  /** JavaScript's requests; the first is the default of `fromDLPack(object)`. */
  readonly gives: readonly string[];
  /** Its tensors are immutable, so they must arrive read-only. */
  readonly isImmutable: boolean;
  /** Only these dtypes, where the peer is a set of dtypes. */
  readonly only?: (dtype: DTypeRow) => boolean;
  /** Elements narrower than a byte take one byte each. */
  readonly isPadded?: boolean;
}

export const EXCHANGE = 'exchange API';
export const VERSIONED = '__dlpack__(max_version=(1, 3))';
const LEGACY = '__dlpack__()';
const both = ['from_dlpack', 'from_dlpack, legacy'];
const capsules = [VERSIONED, LEGACY];
const isOfNumPy = ({ name }: DTypeRow) =>
  /^(bool|u?int\d\d?|float\d\d|complex(64|128))$/.test(name) && !/int4$/.test(name);
const isOfMlDtypes = (dtype: DTypeRow) => dtype.lanes === 1 && !isOfNumPy(dtype);

export const peers: readonly PeerRow[] = [
  {
    name: 'NumPy',
    title: 'NumPy 2',
    takes: [...both, 'asarray', 'asarray, array interface'],
    gives: capsules,
    isImmutable: false,
    only: isOfNumPy,
  },
  {
    name: 'NumPy 1',
    title: 'NumPy 1',
    takes: ['from_dlpack', 'asarray', 'asarray, array interface'],
    gives: capsules,
    isImmutable: false,
    only: isOfNumPy,
  },
  {
    name: 'ml_dtypes',
    title: 'NumPy with ml_dtypes',
    takes: ['asarray, view', 'from_dlpack'],
    gives: capsules,
    isImmutable: false,
    only: isOfMlDtypes,
    isPadded: true,
  },
  {
    name: 'PyTorch',
    title: 'PyTorch',
    takes: [...both, 'as_tensor'],
    gives: [EXCHANGE, ...capsules],
    isImmutable: false,
  },
  { name: 'JAX', title: 'JAX', takes: ['from_dlpack'], gives: capsules, isImmutable: true },
  { name: 'TVM-FFI', title: 'apache-tvm-ffi', takes: both, gives: [EXCHANGE, ...capsules], isImmutable: false },
  { name: 'Arrow Tensor', title: 'pyarrow.Tensor', takes: ['from_dlpack'], gives: capsules, isImmutable: false },
  { name: 'Arrow Array', title: 'pyarrow.Array', takes: ['from_dlpack'], gives: capsules, isImmutable: true },
];

export const copies: readonly Copy[] = [null, true, false];

/** The first route has every combination; the others have every dtype in two layouts and every layout in four dtypes. */
const isWorth = (isFirst: boolean, dtype: DTypeRow, layout: LayoutRow): boolean =>
  isFirst ||
  ['float32', 'int8', 'complex64', 'bfloat16'].includes(dtype.name) ||
  ['matrix', 'vector'].includes(layout.name);

/** Every cell of one peer. */
export function cellsOf({ name, takes, gives, only, isPadded = false }: PeerRow): Cell[] {
  const directions: readonly (readonly [Direction, readonly string[]])[] = [
    ['to JavaScript', gives],
    ['from JavaScript', takes],
  ];
  return directions.flatMap(([direction, routes]) =>
    routes.flatMap((route, place) =>
      dtypes
        .filter((dtype) => only?.(dtype) ?? true)
        .flatMap((dtype) =>
          layouts
            // Packed elements have no address of their own.
            .filter((layout) => layout.isCompact || isPadded || !isPacked(dtype))
            .filter((layout) => isWorth(place === 0, dtype, layout))
            .flatMap((layout) =>
              [false, true].flatMap((readonly) =>
                copies.map((copy): Cell => ({ peer: name, direction, route, dtype, layout, readonly, copy })),
              ),
            ),
        ),
    ),
  );
}
