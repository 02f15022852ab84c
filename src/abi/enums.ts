/** Enumerations and constants of dlpack.h, with the C names: version 1.3, and what its main branch has added. */

import { DeviceType } from '../device.js';
import { TypeCode } from '../dtype.js';

/** The major version of the header that the tables follow. */
export const DLPACK_MAJOR_VERSION = 1;
/** The minor version of the header that the tables follow. */
export const DLPACK_MINOR_VERSION = 3;

/** A flag of a managed tensor: the memory must not be written. */
export const DLPACK_FLAG_BITMASK_READ_ONLY = 1n << 0n;
/** A flag of a managed tensor: the producer has copied the data for this exchange. */
export const DLPACK_FLAG_BITMASK_IS_COPIED = 1n << 1n;
/** A flag of a managed tensor: each element narrower than a byte has a byte of its own. */
export const DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED = 1n << 2n;

/** Device types by their C names. */
export const DLDeviceType = Object.freeze({
  /** Host memory. */
  kDLCPU: DeviceType.cpu,
  /** Memory of an NVIDIA GPU. */
  kDLCUDA: DeviceType.cuda,
  /** Host memory that CUDA has pinned. */
  kDLCUDAHost: DeviceType.cuda_host,
  /** An OpenCL buffer. */
  kDLOpenCL: DeviceType.opencl,
  /** A Vulkan buffer. */
  kDLVulkan: DeviceType.vulkan,
  /** A Metal buffer. */
  kDLMetal: DeviceType.metal,
  /** A Verilog simulator. */
  kDLVPI: DeviceType.vpi,
  /** Memory of an AMD GPU. */
  kDLROCM: DeviceType.rocm,
  /** Host memory that ROCm has pinned. */
  kDLROCMHost: DeviceType.rocm_host,
  /** A device for experiments. */
  kDLExtDev: DeviceType.ext_dev,
  /** CUDA memory that moves between host and GPU. */
  kDLCUDAManaged: DeviceType.cuda_managed,
  /** Unified memory of oneAPI. */
  kDLOneAPI: DeviceType.oneapi,
  /** A GPUBuffer. */
  kDLWebGPU: DeviceType.webgpu,
  /** A Qualcomm Hexagon processor. */
  kDLHexagon: DeviceType.hexagon,
  /** A Microsoft MAIA accelerator. */
  kDLMAIA: DeviceType.maia,
  /** An AWS Trainium accelerator. */
  kDLTrn: DeviceType.trn,
  /** Memory of a Google TPU. */
  kDLTPU: DeviceType.tpu,
  /** Host memory that a TPU can read. */
  kDLTPUHost: DeviceType.tpu_host,
  /** A Huawei Ascend accelerator. */
  kDLAscend: DeviceType.ascend,
});

/** Type codes by their C names. */
export const DLDataTypeCode = Object.freeze({
  /** Signed integers. */
  kDLInt: TypeCode.int,
  /** Unsigned integers. */
  kDLUInt: TypeCode.uint,
  /** IEEE floats. */
  kDLFloat: TypeCode.float,
  /** Pointers to something else. */
  kDLOpaqueHandle: TypeCode.handle,
  /** bfloat16. */
  kDLBfloat: TypeCode.bfloat,
  /** Complex numbers: two floats. */
  kDLComplex: TypeCode.complex,
  /** Booleans. */
  kDLBool: TypeCode.bool,
  /** `float8_e3m4`, by its exponent and mantissa bits. */
  kDLFloat8_e3m4: TypeCode.float8_e3m4,
  /** `float8_e4m3`, by its exponent and mantissa bits. */
  kDLFloat8_e4m3: TypeCode.float8_e4m3,
  /** `float8_e4m3b11fnuz`, by its exponent and mantissa bits. */
  kDLFloat8_e4m3b11fnuz: TypeCode.float8_e4m3b11fnuz,
  /** `float8_e4m3fn`, by its exponent and mantissa bits. */
  kDLFloat8_e4m3fn: TypeCode.float8_e4m3fn,
  /** `float8_e4m3fnuz`, by its exponent and mantissa bits. */
  kDLFloat8_e4m3fnuz: TypeCode.float8_e4m3fnuz,
  /** `float8_e5m2`, by its exponent and mantissa bits. */
  kDLFloat8_e5m2: TypeCode.float8_e5m2,
  /** `float8_e5m2fnuz`, by its exponent and mantissa bits. */
  kDLFloat8_e5m2fnuz: TypeCode.float8_e5m2fnuz,
  /** `float8_e8m0fnu`, by its exponent and mantissa bits. */
  kDLFloat8_e8m0fnu: TypeCode.float8_e8m0fnu,
  /** `float6_e2m3fn`, by its exponent and mantissa bits. */
  kDLFloat6_e2m3fn: TypeCode.float6_e2m3fn,
  /** `float6_e3m2fn`, by its exponent and mantissa bits. */
  kDLFloat6_e3m2fn: TypeCode.float6_e3m2fn,
  /** `float4_e2m1fn`, by its exponent and mantissa bits. */
  kDLFloat4_e2m1fn: TypeCode.float4_e2m1fn,
  /** Complex numbers: two bfloat16. */
  kDLBcomplex: TypeCode.bcomplex,
});
