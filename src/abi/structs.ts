/** The structs of the DLPack C API as tables of fields. Names are the C names, and offsets are computed. */

/** A scalar field. `ptr` follows the data model. */
export type Scalar = 'u8' | 'u16' | 'u32' | 'i32' | 'u64' | 'ptr';

/** A struct: its fields in order. */
export interface Struct<F extends Fields = Fields> {
  readonly name: string;
  readonly fields: F;
}
export type Fields = { readonly [name: string]: Scalar | Struct };

function struct<const F extends Fields>(name: string, fields: F): Struct<F> {
  return Object.freeze({ name, fields: Object.freeze(fields) });
}

export const DLPackVersion = struct('DLPackVersion', { major: 'u32', minor: 'u32' });

export const DLDevice = struct('DLDevice', { device_type: 'i32', device_id: 'i32' });

export const DLDataType = struct('DLDataType', { code: 'u8', bits: 'u8', lanes: 'u16' });

export const DLTensor = struct('DLTensor', {
  data: 'ptr',
  device: DLDevice,
  ndim: 'i32',
  dtype: DLDataType,
  shape: 'ptr',
  strides: 'ptr',
  byte_offset: 'u64',
});

export const DLManagedTensor = struct('DLManagedTensor', {
  dl_tensor: DLTensor,
  manager_ctx: 'ptr',
  deleter: 'ptr',
});

export const DLManagedTensorVersioned = struct('DLManagedTensorVersioned', {
  version: DLPackVersion,
  manager_ctx: 'ptr',
  deleter: 'ptr',
  flags: 'u64',
  dl_tensor: DLTensor,
});

export const DLPackExchangeAPIHeader = struct('DLPackExchangeAPIHeader', {
  version: DLPackVersion,
  prev_api: 'ptr',
});

export const DLPackExchangeAPI = struct('DLPackExchangeAPI', {
  header: DLPackExchangeAPIHeader,
  managed_tensor_allocator: 'ptr',
  managed_tensor_from_py_object_no_sync: 'ptr',
  managed_tensor_to_py_object_no_sync: 'ptr',
  dltensor_from_py_object_no_sync: 'ptr',
  current_work_stream: 'ptr',
});
