//! A Rust library: its tensors own vectors, and it keeps and uses tensors of others. The compiled module is committed
//! beside this file, because few machines have this target of Rust. To compile it again:
//!
//!   rustc --edition 2021 --target wasm32-unknown-unknown --crate-type cdylib -C opt-level=s -C panic=abort -C lto \
//!     -C strip=symbols -C link-args='--export-table --growable-table' tests/wasm/real/rust.rs -o tests/wasm/real/rust.wasm

use std::alloc::{alloc, dealloc, Layout};
use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::Relaxed};

#[repr(C)]
pub struct DLTensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
pub struct DLManagedTensorVersioned {
    major: u32,
    minor: u32,
    manager_ctx: *mut c_void,
    deleter: Option<extern "C" fn(*mut DLManagedTensorVersioned)>,
    flags: u64,
    dl_tensor: DLTensor,
}

struct Matrix {
    elements: Vec<f32>,
    shape: [i64; 2],
    strides: [i64; 2],
}

static DELETED: AtomicI32 = AtomicI32::new(0);
static KEPT: AtomicPtr<DLManagedTensorVersioned> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn delete_matrix(managed: *mut DLManagedTensorVersioned) {
    DELETED.fetch_add(1, Relaxed);
    let managed = unsafe { Box::from_raw(managed) };
    drop(unsafe { Box::from_raw(managed.manager_ctx as *mut Matrix) });
}

/// A matrix with the elements 0, 1, 2, ...
#[no_mangle]
pub extern "C" fn matrix_new(rows: i32, columns: i32) -> *mut DLManagedTensorVersioned {
    let mut matrix = Box::new(Matrix {
        elements: (0..rows * columns).map(|i| i as f32).collect(),
        shape: [rows.into(), columns.into()],
        strides: [columns.into(), 1],
    });
    let dl_tensor = DLTensor {
        data: matrix.elements.as_mut_ptr().cast(),
        device_type: 1, // the CPU
        device_id: 0,
        ndim: 2,
        code: 2, // float
        bits: 32,
        lanes: 1,
        shape: matrix.shape.as_mut_ptr(),
        strides: matrix.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    Box::into_raw(Box::new(DLManagedTensorVersioned {
        major: 1,
        minor: 3,
        manager_ctx: Box::into_raw(matrix).cast(),
        deleter: Some(delete_matrix),
        flags: 0,
        dl_tensor,
    }))
}

#[no_mangle]
pub extern "C" fn deletions() -> i32 {
    DELETED.load(Relaxed)
}

/// The sum of a float tensor with any strides of two axes.
///
/// # Safety
/// The tensor has two axes.
#[no_mangle]
pub unsafe extern "C" fn sum(tensor: *const DLTensor) -> f32 {
    let tensor = &*tensor;
    let first = (tensor.data as *const u8).add(tensor.byte_offset as usize) as *const f32;
    let (shape, strides) = (std::slice::from_raw_parts(tensor.shape, 2), std::slice::from_raw_parts(tensor.strides, 2));
    let at = |i: i64, j: i64| *first.offset((i * strides[0] + j * strides[1]) as isize);
    (0..shape[0]).map(|i| (0..shape[1]).map(|j| at(i, j)).sum::<f32>()).sum()
}

/// Keeps a tensor of the caller.
#[no_mangle]
pub extern "C" fn keep(managed: *mut DLManagedTensorVersioned) {
    KEPT.store(managed, Relaxed);
}

/// # Safety
/// `keep` was called before.
#[no_mangle]
pub unsafe extern "C" fn use_kept() -> f32 {
    sum(&(*KEPT.load(Relaxed)).dl_tensor)
}

/// # Safety
/// `keep` was called before.
#[no_mangle]
pub unsafe extern "C" fn drop_kept() {
    let kept = KEPT.load(Relaxed);
    if let Some(deleter) = (*kept).deleter {
        deleter(kept);
    }
}

/// The size of a block is stored in front of it, because Rust's `dealloc` needs the size.
const HEADER: usize = 16;

/// # Safety
/// As in C.
#[no_mangle]
pub unsafe extern "C" fn malloc(size: usize) -> *mut u8 {
    let Ok(layout) = Layout::from_size_align(size + HEADER, HEADER) else { return std::ptr::null_mut() };
    let block = alloc(layout);
    if block.is_null() {
        return block;
    }
    (block as *mut usize).write(size);
    block.add(HEADER)
}

/// # Safety
/// As in C.
#[no_mangle]
pub unsafe extern "C" fn free(address: *mut u8) {
    if address.is_null() {
        return;
    }
    let block = address.sub(HEADER);
    let size = (block as *const usize).read();
    dealloc(block, Layout::from_size_align_unchecked(size + HEADER, HEADER));
}
