/**
 * The same spans here and in the CUDA C++ library: every DLTensor field, the facts of every layout, and what is refused.
 * tensors.json is what tensors.cc printed; where the library's headers are installed, it is printed anew and compared.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isDLPackError } from 'dlpack';
import {
  type BigShape,
  type DescribableSpan,
  type DLTensorFields,
  deviceMdspan,
  dims,
  dynamic,
  type ElementType,
  Extents,
  elementTypes,
  extents,
  hostMdspan,
  type Integer,
  type LayoutName,
  type LayoutPolicy,
  layoutLeft,
  layoutRight,
  layoutStride,
  layoutStrideRelaxed,
  managedMdspan,
  type OwnedDLTensor,
  type StridedMapping,
  setPointerDriver,
  toDeviceMdspan,
  toDLPackTensor,
  toHostMdspan,
  toManagedMdspan,
} from 'dlpack/mdspan';
import { equal, ok, throws } from '../../assert.js';
import { test, testWith } from '../../harness.js';

interface Mapping {
  readonly layout: LayoutName;
  readonly extents: readonly number[];
  /** -1 for a dynamic one. */
  readonly static: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  readonly requiredSpanSize: number;
  readonly isUnique: boolean;
  readonly isExhaustive: boolean;
  readonly isStrided: boolean;
}

/** `data` is in bytes from the handle of the span, null for NULL. */
type Row = readonly [
  mapping: number,
  data: number | null,
  deviceType: number,
  deviceId: number,
  ndim: number,
  code: number,
  bits: number,
  lanes: number,
  shape: readonly number[] | null,
  strides: readonly number[] | null,
  byteOffset: number,
];

interface Fixture {
  readonly cccl: number;
  readonly dlpack: readonly [number, number];
  readonly mappings: readonly Mapping[];
  readonly types: readonly {
    readonly type: string;
    readonly dtype: ElementType;
    readonly sizeof: number;
    readonly host: readonly Row[];
    readonly managed?: readonly Row[];
    readonly device?: readonly Row[];
  }[];
  readonly imports: readonly {
    readonly layout: LayoutName;
    readonly shape: readonly [number, number];
    readonly strides: readonly [number, number];
    readonly byteOffset: number;
    readonly data: number;
    readonly offset: number;
    readonly requiredSpanSize: number;
  }[];
  readonly overflow: Row;
  /** Mappings with integers beyond 2^53. All integers are text, because JSON has only numbers. */
  readonly exact: readonly {
    readonly layout: LayoutName;
    readonly extents: readonly string[];
    readonly strides: readonly string[];
    readonly offset: string;
    readonly size: string;
    readonly requiredSpanSize: string;
    /** The offset of the last element; null when there is none. */
    readonly last: string | null;
    readonly isExhaustive: boolean;
    readonly tensor: {
      readonly isNull: boolean;
      readonly shape: readonly string[];
      readonly strides: readonly string[];
    };
    readonly back: { readonly data: string; readonly offset: string; readonly requiredSpanSize: string };
  }[];
  readonly refusals: readonly { readonly case: string; readonly what: string | null }[];
}

const root = new URL('../../../../', import.meta.url);
const fixture: Fixture = JSON.parse(readFileSync(new URL('tests/interop/mdspan/tensors.json', root), 'utf8'));

function makeMapping({ layout, extents: lengths, static: known, strides, offset }: Mapping): StridedMapping {
  const indexType = layout === 'layoutStrideRelaxed' ? 'int64' : 'uint64';
  const isStatic = known.map((length) => length !== -1);
  const e = new Extents(lengths, isStatic, indexType);
  switch (layout) {
    case 'layoutRight':
      return layoutRight(e);
    case 'layoutLeft':
      return layoutLeft(e);
    case 'layoutStride':
      return layoutStride(e, strides);
    case 'layoutStrideRelaxed':
      return layoutStrideRelaxed(e, strides, offset);
  }
}

const mappings = fixture.mappings.map(makeMapping);
const plain = (values: ArrayLike<bigint> | null) => (values === null ? null : Array.from(values, Number));

/** Our DLTensor as a row of the fixture. */
function rowOf(mapping: number, base: bigint, tensor: OwnedDLTensor): Row {
  const { data, device, dtype } = tensor;
  ok(data === null || typeof data === 'bigint', 'an address');
  return [
    mapping,
    data === null ? null : Number(data - base),
    device.type,
    device.id,
    tensor.ndim,
    dtype.code,
    dtype.bits,
    dtype.lanes,
    plain(tensor.shape),
    plain(tensor.strides),
    Number(tensor.byteOffset),
  ];
}

/**
 * The one field in which we differ on purpose. The library writes the handle of the span and drops the offset of a relaxed
 * layout, so that element (0, 0) of its DLTensor is another one than that of the span; here they are the same.
 */
function expectedRow(row: Row, { sizeof }: { sizeof: number }): Row {
  const [mapping, data, ...rest] = row;
  const { offset } = fixture.mappings[mapping] as Mapping;
  equal(data, data === null ? null : 0, 'the library writes the handle');
  return [mapping, data === null ? null : offset * sizeof, ...rest];
}

test('the fixture is large enough to mean something', () => {
  ok(fixture.cccl >= 3_003_000, `CCCL ${fixture.cccl}`);
  equal(fixture.dlpack, [1, 3]);
  equal(new Set(fixture.types.map(({ dtype }) => dtype)).size, elementTypes.length, 'every element type');
  equal(new Set(fixture.mappings.map(({ layout }) => layout)).size, 4);
  ok(fixture.mappings.length > 30 && fixture.types.filter(({ managed, device }) => managed && device).length === 3);
});

test('layouts have the same strides, spans and properties', () => {
  for (const [i, expected] of fixture.mappings.entries()) {
    const mapping = mappings[i] as StridedMapping;
    const { requiredSpanSize, isUnique, isExhaustive, isStrided } = mapping;
    const { lengths } = mapping.extents;
    const name = JSON.stringify(expected);
    equal(
      lengths.map((_, axis) => mapping.stride(axis)),
      expected.strides,
      name,
    );
    equal(
      lengths.map((_, axis) => mapping.extents.staticExtent(axis) ?? -1),
      expected.static,
      name,
    );
    equal(
      { requiredSpanSize, isUnique, isExhaustive, isStrided },
      {
        requiredSpanSize: expected.requiredSpanSize,
        isUnique: expected.isUnique,
        isExhaustive: expected.isExhaustive,
        isStrided: expected.isStrided,
      },
      name,
    );
  }
});

const address = 0x10000n;
/** As the stand-in driver of tensors.cc: the memory there belongs to device 5, and nothing else to any. */
setPointerDriver({ deviceOrdinal: (pointer) => (pointer === address ? 5 : null) });

test('every field of every DLTensor is the same', () => {
  let compared = 0;
  for (const type of fixture.types) {
    const { dtype, host, managed = [], device = [] } = type;
    const compare = (rows: readonly Row[], make: (mapping: StridedMapping) => DescribableSpan) => {
      for (const row of rows) {
        const mapping = mappings[row[0]] as StridedMapping;
        using wrapper = toDLPackTensor(make(mapping));
        equal(rowOf(row[0], address, wrapper.get()), expectedRow(row, type), `${type.type} ${mapping.extents}`);
        compared++;
      }
    };
    compare(host, (mapping) => hostMdspan(address, mapping, { dtype }));
    compare(managed, (mapping) => managedMdspan(address, mapping, { dtype, readonly: true }));
    compare(device, (mapping) => deviceMdspan(address, mapping, { dtype }));
  }
  ok(compared > 350, `${compared} DLTensors`);
});

test('elements are as large as in C++', () => {
  for (const { type, dtype, sizeof } of fixture.types) {
    const span = hostMdspan(new ArrayBuffer(sizeof * 3), extents(3), { dtype });
    equal(span.dataHandle.available, 3, type);
    equal(span.dataHandle.plus(1).byteOffset, sizeof, type);
  }
});

const good: DLTensorFields = {
  data: address,
  device: { type: 1, id: 0 },
  ndim: 2,
  dtype: { code: 2, bits: 32, lanes: 1 },
  shape: [2, 3],
  strides: [3, 1],
  byteOffset: 0,
};
const convert = (changes: Partial<DLTensorFields>, layout: LayoutPolicy = layoutStrideRelaxed, to = toHostMdspan) =>
  to({ ...good, ...changes }, { dtype: 'float32', rank: 2, layout });

test('a DLTensor becomes the same span: handle, offset and size, with elements and without', () => {
  const policies = { layoutRight, layoutLeft, layoutStride, layoutStrideRelaxed };
  let empty = 0;
  for (const row of fixture.imports) {
    const { layout, shape, strides, byteOffset } = row;
    const tensor = { ...good, data: address + 12n, shape, strides, byteOffset };
    const span = toHostMdspan(tensor, { dtype: 'float32', layout: policies[layout] as typeof layoutStrideRelaxed });
    const { offset, requiredSpanSize } = span.mapping;
    const data = Number((span.dataHandle.address as bigint) - address);
    equal({ ...row, data, offset, requiredSpanSize }, row);
    if (span.size === 0) empty++;
  }
  ok(empty > 30 && empty < fixture.imports.length, `${empty} of ${fixture.imports.length}`);
});

test('extents whose product overflows although one is zero are exported', () => {
  const span = hostMdspan(address, layoutLeft(extents(0, 4294967296, 2147483648)), { dtype: 'float32' });
  equal(rowOf(0, address, toDLPackTensor(span).get()), fixture.overflow);
});

function makeBigMapping({ layout, ...row }: Fixture['exact'][number]): StridedMapping<BigShape> & { offset: Integer } {
  const e = dims(row.extents.map(BigInt)).withIndexType('int64');
  const strides = row.strides.map(BigInt);
  switch (layout) {
    case 'layoutRight':
      return layoutRight(e);
    case 'layoutLeft':
      return layoutLeft(e);
    case 'layoutStride':
      return layoutStride(e, strides);
    case 'layoutStrideRelaxed':
      return layoutStrideRelaxed(e, strides, BigInt(row.offset));
  }
}

const texts = (values: ArrayLike<Integer> | null) => Array.from(values ?? [], String);
/** A bigint only where a number would not be exact. */
const isCanonical = (value: Integer) => typeof value === 'number' || !Number.isSafeInteger(Number(value));

test('layouts beyond 2^53 have the same integers, as bigints', () => {
  for (const row of fixture.exact) {
    const mapping = makeBigMapping(row);
    const { lengths, size } = mapping.extents;
    const strides = lengths.map((_, axis) => mapping.stride(axis));
    const { requiredSpanSize, offset, isExhaustive } = mapping;
    const last = row.last === null ? null : mapping.offsetAt(...lengths.map((length) => BigInt(length) - 1n));
    ok([...lengths, ...strides, size, requiredSpanSize, offset, last ?? 0].every(isCanonical), JSON.stringify(row));
    equal(
      {
        extents: texts(lengths),
        strides: texts(strides),
        offset: String(offset),
        size: String(size),
        requiredSpanSize: String(requiredSpanSize),
        last: last === null ? null : String(last),
        isExhaustive,
      },
      {
        extents: row.extents,
        strides: row.strides,
        offset: row.offset,
        size: row.size,
        requiredSpanSize: row.requiredSpanSize,
        last: row.last,
        isExhaustive: row.isExhaustive,
      },
    );
  }
});

test('spans beyond 2^53 become the same DLTensors and back, unless no memory is so large', () => {
  const policies = { layoutRight, layoutLeft, layoutStride, layoutStrideRelaxed };
  let converted = 0;
  for (const row of fixture.exact) {
    const mapping = makeBigMapping(row);
    const layout = policies[row.layout] as typeof layoutStrideRelaxed;
    const { shape, strides } = row.tensor;
    const byteOffset = BigInt(row.offset) * 4n;
    const tensor = { ...good, ndim: shape.length, shape: shape.map(BigInt), strides: strides.map(BigInt), byteOffset };
    const convertBack = () => toHostMdspan(tensor, { dtype: 'float32', layout, bigint: true });
    if (!Number.isSafeInteger(Number(row.requiredSpanSize))) {
      throws('LayoutError', 'requiredSpanSize', () => hostMdspan(address, mapping, { dtype: 'float32' }));
      throws('LayoutError', 'requiredSpanSize', convertBack);
      continue;
    }
    const dl = toDLPackTensor(hostMdspan(address, mapping, { dtype: 'float32' })).get();
    equal({ isNull: dl.data === null, shape: texts(dl.shape), strides: texts(dl.strides) }, row.tensor);
    const back = convertBack();
    const { offset, requiredSpanSize } = back.mapping;
    const data = String((back.dataHandle.address as bigint) - address);
    equal({ data, offset: String(offset), requiredSpanSize: String(requiredSpanSize) }, row.back);
    equal([texts(back.shape), texts(back.strides)], [row.extents, row.strides]);
    converted++;
  }
  ok(converted > 5 && converted < fixture.exact.length, `${converted} of ${fixture.exact.length}`);
});

/** The cases of print_refusals in tensors.cc. */
const cases: Record<string, () => unknown> = {
  good: () => convert({}),
  'host from cuda': () => convert({ device: { type: 2, id: 0 } }),
  'host from cuda_host': () => convert({ device: { type: 3, id: 0 } }),
  'device from cpu': () => convert({}, layoutStrideRelaxed, toDeviceMdspan as never),
  'managed from cpu': () => convert({}, layoutStrideRelaxed, toManagedMdspan as never),
  rank: () => convert({ ndim: 3 }),
  'dtype code': () => convert({ dtype: { code: 0, bits: 32, lanes: 1 } }),
  'dtype bits': () => convert({ dtype: { code: 2, bits: 64, lanes: 1 } }),
  'dtype lanes': () => convert({ dtype: { code: 2, bits: 32, lanes: 2 } }),
  'null data': () => convert({ data: null }),
  'relaxed byte_offset': () => convert({ byteOffset: 2 }),
  'misaligned data': () => convert({ data: 0x10002n }),
  'misaligned byte_offset': () => convert({ byteOffset: 2 }, layoutRight),
  'null shape': () => convert({ shape: null }),
  'negative shape': () => convert({ shape: [2, -3] }),
  'null strides': () => convert({ strides: null }),
  'null strides right': () => convert({ strides: null }, layoutRight),
  'right with left strides': () => convert({ strides: [1, 2] }, layoutRight),
  'left with right strides': () => convert({}, layoutLeft),
  'right with length one': () => convert({ shape: [1, 3], strides: [7, 1] }, layoutRight),
  'stride with zero': () => convert({ strides: [3, 0] }, layoutStride),
  'stride with negative': () => convert({ strides: [-3, 1] }, layoutStride),
  'relaxed with zero': () => convert({ strides: [3, 0] }),
  'relaxed with negative': () => convert({ strides: [-3, 1], byteOffset: 12 }),
  'shape overflow': () =>
    toHostMdspan(
      { ...good, ndim: 3, shape: [2 ** 40, 2 ** 40, 1], strides: [1, 2 ** 40, 0] },
      { dtype: 'float32', rank: 3, layout: layoutLeft },
    ),
  'device ordinal': () => toDLPackTensor(deviceMdspan(0x20000n, extents(2, 3), { dtype: 'float32' })),
  'extent too large': () => dynamic(2n ** 63n),
  'stride too large': () => {
    const mapping = { ...layoutRight(extents(1)), offsetAt: () => 0, stride: () => 2 ** 63 };
    return toDLPackTensor(hostMdspan(address, mapping, { dtype: 'float32' }));
  },
};

/** Numbers have signs here, whatever the index type: nothing to refuse. */
const acceptedHere = new Set(['negative stride of an unsigned index type']);

test('tensors that the library refuses are refused here with the same message', () => {
  const letters = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  for (const { case: name, what } of fixture.refusals) {
    if (acceptedHere.has(name)) continue;
    const action = cases[name];
    ok(action !== undefined, `no case '${name}'`);
    let message: string | null = null;
    try {
      action();
    } catch (error) {
      ok(isDLPackError(error), `${name}: ${String(error)}`);
      message = error.message;
    }
    if (what === null) equal(message, null, name);
    else ok(message !== null && letters(message).includes(letters(what)), `${name}: '${message}' says not '${what}'`);
  }
  equal(Object.keys(cases).length + acceptedHere.size, fixture.refusals.length, 'every case is in both');
});

const program = fileURLToPath(new URL('build/native/mdspan_tensors', root));
const missing = existsSync(program) ? false : 'the CUDA C++ headers, which npm test installs on Linux';
// Elsewhere the packages with the headers do not exist, and the fixture is all there can be.
if (process.platform === 'linux') {
  testWith(missing, "the committed fixture equals the library's results", () => {
    const { status, stdout, stderr } = spawnSync(program, { encoding: 'utf8', maxBuffer: 1 << 24 });
    equal(status, 0, stderr);
    equal(JSON.parse(stdout), fixture);
  });
}
