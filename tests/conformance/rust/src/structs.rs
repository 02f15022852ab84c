//! The structs of dlpack.h 1.3, and the checks of 7.3.

use napi::sys;
use std::ffi::c_void;

pub const READ_ONLY: u64 = 1;
pub const IS_COPIED: u64 = 2;
pub const PADDED: u64 = 4;
pub const EXTERNAL_TAG: sys::napi_type_tag =
    sys::napi_type_tag { lower: 0x6d5d3d0f9c1e4b57, upper: 0x8f0a646c7061636b };

#[repr(C)]
#[derive(Default)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct Device {
    pub device_type: i32,
    pub device_id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct DataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

#[repr(C)]
pub struct Tensor {
    pub data: *mut c_void,
    pub device: Device,
    pub ndim: i32,
    pub dtype: DataType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

#[repr(C)]
pub struct ManagedTensor {
    pub version: Version,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
    pub flags: u64,
    pub tensor: Tensor,
}

impl Default for ManagedTensor {
    fn default() -> Self {
        let null = std::ptr::null_mut();
        let (device, dtype) = (Device::default(), DataType::default());
        let tensor = Tensor { data: null, device, ndim: 0, dtype, shape: null.cast(), strides: null.cast(), byte_offset: 0 };
        Self { version: Version::default(), manager_ctx: null, deleter: None, flags: 0, tensor }
    }
}

impl Tensor {
    /// # Safety
    /// `check` has passed.
    pub unsafe fn shape(&self) -> &[i64] {
        if self.ndim == 0 { &[] } else { std::slice::from_raw_parts(self.shape, self.ndim as usize) }
    }
}

impl ManagedTensor {
    /// Bits from one element to the next (3.8).
    pub fn width(&self) -> u64 {
        let width = u64::from(self.tensor.dtype.bits) * u64::from(self.tensor.dtype.lanes);
        if self.flags & PADDED != 0 { width.div_ceil(8) * 8 } else { width }
    }
}

fn is_known(DataType { code, bits, lanes }: DataType) -> bool {
    let widths: &[u8] = match code {
        0 | 1 => &[1, 2, 4, 8, 16, 32, 64, 128],
        2 => &[16, 32, 64, 128],
        4 => &[16],
        5 => &[32, 64, 128],
        6..=14 => &[8],
        15 | 16 => &[6],
        17 => &[4],
        _ => &[],
    };
    lanes > 0 && widths.contains(&bits)
}

fn alignment(DataType { code, bits, .. }: DataType) -> u64 {
    let scalar = u64::from(if code == 5 { bits / 2 } else { bits });
    (scalar / 8).clamp(1, 8)
}

/// The places of all elements in row-major order, or what is wrong. Nothing is read through a pointer that is not checked.
///
/// # Safety
/// The struct follows the memory layout of its version.
pub unsafe fn check(managed: &ManagedTensor, copy_false: bool) -> Result<Vec<i64>, &'static str> {
    if managed.version.major != 1 {
        return Err("DLPack 1.x");
    }
    let tensor = &managed.tensor;
    if !(0..=64).contains(&tensor.ndim) || (tensor.ndim > 0 && tensor.shape.is_null()) {
        return Err("a shape of up to 64 axes");
    }
    if !is_known(tensor.dtype) {
        return Err("a known dtype");
    }
    if ![1, 3, 11, 13].contains(&tensor.device.device_type) || tensor.device.device_id < 0 {
        return Err("host memory");
    }
    let shape = tensor.shape();
    if shape.iter().any(|n| *n < 0) {
        return Err("lengths of zero or more");
    }
    let product = shape.iter().try_fold(1u64, |count, n| count.checked_mul((*n).max(1) as u64));
    if product.is_none_or(|count| count >= 1 << 53) {
        return Err("fewer elements");
    }
    if copy_false && managed.flags & IS_COPIED != 0 {
        return Err("the memory itself");
    }
    if shape.contains(&0) {
        return Ok(Vec::new());
    }
    let mut step = 1i64;
    let mut strides = vec![0i64; shape.len()];
    for axis in (0..shape.len()).rev() {
        strides[axis] = if tensor.strides.is_null() { step } else { *tensor.strides.add(axis) };
        step *= shape[axis];
    }
    let reach = shape.iter().zip(&strides).try_fold(0u64, |sum, (n, stride)| {
        sum.checked_add(((*n - 1) as u64).checked_mul(stride.unsigned_abs())?)
    });
    let bits = reach.and_then(|sum| sum.checked_add(1)?.checked_mul(managed.width()));
    let end = bits.and_then(|count| (count / 8 + 1).checked_add(tensor.byte_offset));
    if end.is_none_or(|last| last >= 1 << 63) {
        return Err("a smaller extent");
    }
    if tensor.data.is_null() {
        return Err("data");
    }
    if copy_false && (tensor.data as u64).wrapping_add(tensor.byte_offset) % alignment(tensor.dtype) != 0 {
        return Err("aligned elements");
    }
    let mut places = vec![0i64];
    for (n, stride) in shape.iter().zip(&strides) {
        places = places.iter().flat_map(|at| (0..*n).map(move |i| at + i * stride)).collect();
    }
    Ok(places)
}
