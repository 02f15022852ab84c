//! The structs of dlpack.h 1.3, which are the same in every language.

use std::ffi::c_void;

pub const READ_ONLY: u64 = 1;
pub const IS_COPIED: u64 = 2;
pub const IS_PADDED: u64 = 4;

#[repr(C)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

#[repr(C)]
pub struct Device {
    pub kind: i32,
    pub id: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

#[repr(C)]
pub struct Tensor {
    pub data: *mut c_void,
    pub device: Device,
    pub ndim: i32,
    pub dtype: DType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

#[repr(C)]
pub struct Managed {
    pub version: Version,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Managed)>,
    pub flags: u64,
    pub tensor: Tensor,
}
