import {
  DLTensor,
  decodeManagedTensorVersioned,
  decodeTensor,
  encodeManagedTensorVersioned,
  encodeTensor,
  layoutOf,
  lp64,
  viewTensor,
  wasm32,
} from 'dlpack/abi';
import { equal, throws } from '../../assert.js';
import { test } from '../../harness.js';

const tensor = {
  data: 0x1000n,
  device: { device_type: 2, device_id: 1 },
  ndim: 2,
  dtype: { code: 2, bits: 32, lanes: 4 },
  shape: 0x2000n,
  strides: 0x3000n,
  byte_offset: 2n ** 40n,
};

test('structs round-trip in both models', () => {
  for (const model of [lp64, wasm32]) {
    const buffer = new ArrayBuffer(256);
    encodeTensor(tensor, { buffer, byteOffset: 8, model });
    equal(decodeTensor({ buffer, byteOffset: 8, model }), tensor);
    const managed = {
      version: { major: 1, minor: 3 },
      manager_ctx: 1n,
      deleter: 2n,
      flags: 5n,
      dl_tensor: tensor,
    };
    encodeManagedTensorVersioned(managed, { buffer, byteOffset: 128, model });
    equal(decodeManagedTensorVersioned({ buffer, byteOffset: 128, model }), managed);
  }
});

test('bytes are where C puts them', () => {
  const buffer = new ArrayBuffer(48);
  encodeTensor(tensor, { buffer, byteOffset: 0, model: lp64 });
  const view = new DataView(buffer);
  equal(view.getBigUint64(0, true), 0x1000n);
  equal(view.getInt32(8, true), 2);
  equal(view.getInt32(16, true), 2);
  equal([view.getUint8(20), view.getUint8(21), view.getUint16(22, true)], [2, 32, 4]);
  equal(view.getBigUint64(40, true), 2n ** 40n);
});

test('values and offsets that do not fit are refused', () => {
  const place = { buffer: new ArrayBuffer(64), byteOffset: 0, model: wasm32 };
  throws('ValueError', '32 bits', () => encodeTensor({ ...tensor, data: 2n ** 32n }, place));
  throws('ValueError', 'DLDataType.lanes', () =>
    encodeTensor({ ...tensor, dtype: { code: 2, bits: 32, lanes: 65536 } }, place),
  );
  throws('ValueError', 'DLTensor.ndim', () => encodeTensor({ ...tensor, ndim: 1.5 }, place));
  throws('TypeError', 'DLTensor.data', () => encodeTensor({ ...tensor, data: 4096 as never }, place));
  throws('TypeError', 'DLDevice', () => encodeTensor({ ...tensor, device: null as never }, place));
  throws('LayoutError', '40 bytes', () => decodeTensor({ ...place, byteOffset: 32 }));
  throws('LayoutError', '48 bytes', () => decodeTensor({ ...place, byteOffset: -1, model: lp64 }));
});

test('a DLTensor in wasm memory reads as a view without a copy', () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const { buffer } = memory;
  new Float32Array(buffer, 1024, 6).set([1, 2, 3, 4, 5, 6]);
  new BigInt64Array(buffer, 2048, 4).set([2n, 3n, 1n, 2n]);
  const value = {
    data: 1016n,
    device: { device_type: 1, device_id: 0 },
    ndim: 2,
    dtype: { code: 2, bits: 32, lanes: 1 },
    shape: 2048n,
    strides: 2064n,
    byte_offset: 8n,
  };
  const place = { buffer, byteOffset: 4096, model: wasm32 };
  encodeTensor(value, place);
  const column = viewTensor(place);
  equal(column.toArray(), [
    [1, 3, 5],
    [2, 4, 6],
  ]);
  new Float32Array(buffer, 1024, 6)[5] = 9;
  equal(column.get(1, 2), 9);
  column.set(0, 0, 7);
  equal(new Float32Array(buffer, 1024, 1)[0], 7);
  memory.grow(1);
  throws('DisposedError', 'detached', () => column.get(0, 0));
  equal(layoutOf(DLTensor, wasm32).size, 40);
  const bad = (change: object) => () => {
    const grown = { buffer: memory.buffer, byteOffset: 4096, model: wasm32 };
    encodeTensor({ ...value, ...change }, grown);
    return viewTensor(grown);
  };
  throws('LayoutError', 'ndim 65', bad({ ndim: 65 }));
  throws('LayoutError', 'NULL', bad({ data: 0n }));
  throws('LayoutError', 'shape', bad({ shape: 131072n }));
  throws('LayoutError', 'bytes', bad({ data: 131064n }));
  throws('UnsupportedDTypeError', 'code 99', bad({ dtype: { code: 99, bits: 8, lanes: 1 } }));
  throws('BufferError', 'cuda:0', bad({ device: { device_type: 2, device_id: 0 } }));
});
