/** The structs of the DLPack C API as tables of fields. Names are the C names, and offsets are computed. */

/** A scalar field. `ptr` follows the data model. */
export type ScalarField = 'u8' | 'u16' | 'u32' | 'i32' | 'u64' | 'ptr';

/** A struct: its fields in order. */
export interface Struct<F extends Fields = Fields> {
  /** The name of the struct in dlpack.h. */
  readonly name: string;
  /** The fields in the order of the header: the type of each, or a nested struct. */
  readonly fields: F;
}
/** The fields of a struct by their C names. */
export type Fields = { readonly [name: string]: ScalarField | Struct };

function struct<const F extends Fields>(name: string, fields: F): Struct<F> {
  return Object.freeze({ name, fields: Object.freeze(fields) });
}

/** The version of DLPack that a producer follows. */
export const DLPackVersion = struct('DLPackVersion', {
  /** Differs when a struct has another layout. */
  major: 'u32',
  /** Grows with each addition. */
  minor: 'u32',
});

/** A device: the kind of memory, and which of several. */
export const DLDevice = struct('DLDevice', {
  /** One of `DLDeviceType`. */
  device_type: 'i32',
  /** Counts from 0; 0 for host memory. */
  device_id: 'i32',
});

/** The type of an element. */
export const DLDataType = struct('DLDataType', {
  /** One of `DLDataTypeCode`. */
  code: 'u8',
  /** Bits of one lane. */
  bits: 'u8',
  /** Values in one element; 1 unless the element is a vector. */
  lanes: 'u16',
});

/** A tensor that owns nothing. */
export const DLTensor = struct('DLTensor', {
  /** The address of the memory. The first element is `byte_offset` bytes behind it. */
  data: 'ptr',
  /** Where the memory is. */
  device: DLDevice,
  /** The number of axes. */
  ndim: 'i32',
  /** The type of an element. */
  dtype: DLDataType,
  /** The address of `ndim` 64-bit lengths. */
  shape: 'ptr',
  /** The address of `ndim` 64-bit strides in elements; 0 for row-major, before DLPack 1.2. */
  strides: 'ptr',
  /** Bytes from `data` to the first element. */
  byte_offset: 'u64',
});

/** A tensor with a deleter, as libraries before DLPack 1.0 exchange it. */
export const DLManagedTensor = struct('DLManagedTensor', {
  /** The tensor. */
  dl_tensor: DLTensor,
  /** A pointer for the producer's own use. */
  manager_ctx: 'ptr',
  /** The address of the function that releases the tensor; 0 if there is nothing to release. */
  deleter: 'ptr',
});

/** A tensor with a version, flags and a deleter: DLPack 1.0 and newer. */
export const DLManagedTensorVersioned = struct('DLManagedTensorVersioned', {
  /** The version of the struct, which stays in its place in every version. */
  version: DLPackVersion,
  /** A pointer for the producer's own use. */
  manager_ctx: 'ptr',
  /** The address of the function that releases the tensor; 0 if there is nothing to release. */
  deleter: 'ptr',
  /** A bit mask of `DLPACK_FLAG_BITMASK_...`. */
  flags: 'u64',
  /** The tensor. */
  dl_tensor: DLTensor,
});

/** The part of a library's exchange table that never changes. */
export const DLPackExchangeAPIHeader = struct('DLPackExchangeAPIHeader', {
  /** The version of the table. */
  version: DLPackVersion,
  /** The address of an older table of the same library, or 0. */
  prev_api: 'ptr',
});

/** The table of functions through which Python libraries exchange tensors without Python calls. */
export const DLPackExchangeAPI = struct('DLPackExchangeAPI', {
  /** The version, and older tables. */
  header: DLPackExchangeAPIHeader,
  /** Allocates a tensor of the library. */
  managed_tensor_allocator: 'ptr',
  /** Exports a Python object as a managed tensor. */
  managed_tensor_from_py_object_no_sync: 'ptr',
  /** Makes a Python object of a managed tensor. */
  managed_tensor_to_py_object_no_sync: 'ptr',
  /** Describes a Python object without owning it; may be 0. */
  dltensor_from_py_object_no_sync: 'ptr',
  /** Returns the stream that the library works on. */
  current_work_stream: 'ptr',
});
