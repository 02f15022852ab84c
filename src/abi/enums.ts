/** Enumerations and constants of dlpack.h 1.3, with the C names. */

import { DeviceType } from '../device.js';
import { TypeCode } from '../dtype.js';

export const DLPACK_MAJOR_VERSION = 1;
export const DLPACK_MINOR_VERSION = 3;

export const DLPACK_FLAG_BITMASK_READ_ONLY = 1n << 0n;
export const DLPACK_FLAG_BITMASK_IS_COPIED = 1n << 1n;
export const DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED = 1n << 2n;

export const DLDeviceType = Object.freeze({
  kDLCPU: DeviceType.cpu,
  kDLCUDA: DeviceType.cuda,
  kDLCUDAHost: DeviceType.cuda_host,
  kDLOpenCL: DeviceType.opencl,
  kDLVulkan: DeviceType.vulkan,
  kDLMetal: DeviceType.metal,
  kDLVPI: DeviceType.vpi,
  kDLROCM: DeviceType.rocm,
  kDLROCMHost: DeviceType.rocm_host,
  kDLExtDev: DeviceType.ext_dev,
  kDLCUDAManaged: DeviceType.cuda_managed,
  kDLOneAPI: DeviceType.oneapi,
  kDLWebGPU: DeviceType.webgpu,
  kDLHexagon: DeviceType.hexagon,
  kDLMAIA: DeviceType.maia,
  kDLTrn: DeviceType.trn,
});

export const DLDataTypeCode = Object.freeze({
  kDLInt: TypeCode.int,
  kDLUInt: TypeCode.uint,
  kDLFloat: TypeCode.float,
  kDLOpaqueHandle: TypeCode.handle,
  kDLBfloat: TypeCode.bfloat,
  kDLComplex: TypeCode.complex,
  kDLBool: TypeCode.bool,
  kDLFloat8_e3m4: TypeCode.float8_e3m4,
  kDLFloat8_e4m3: TypeCode.float8_e4m3,
  kDLFloat8_e4m3b11fnuz: TypeCode.float8_e4m3b11fnuz,
  kDLFloat8_e4m3fn: TypeCode.float8_e4m3fn,
  kDLFloat8_e4m3fnuz: TypeCode.float8_e4m3fnuz,
  kDLFloat8_e5m2: TypeCode.float8_e5m2,
  kDLFloat8_e5m2fnuz: TypeCode.float8_e5m2fnuz,
  kDLFloat8_e8m0fnu: TypeCode.float8_e8m0fnu,
  kDLFloat6_e2m3fn: TypeCode.float6_e2m3fn,
  kDLFloat6_e3m2fn: TypeCode.float6_e3m2fn,
  kDLFloat4_e2m1fn: TypeCode.float4_e2m1fn,
});
