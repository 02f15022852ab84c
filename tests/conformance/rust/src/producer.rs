//! Tensors of this library, and their exports. Elements are in row-major order, without gaps.

use crate::external::{wrap, Owned};
use crate::layout::{count, row_major};
use crate::structs::{DType, Device, Managed, Tensor, Version, IS_COPIED, READ_ONLY};
use napi::bindgen_prelude::{FromNapiValue, Null, Uint8Array, Unknown};
use napi::{check_status, sys, Either, Env, Error, Result};
use napi_derive::napi;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

/// Memory that a tensor and its exports own together. Whoever shares it may write, so it is in cells.
struct Memory {
    words: Box<[UnsafeCell<u128>]>, // aligned for every dtype
    length: usize,
}

// The last owner frees it on any thread. Who reads and writes it when is the business of its users (4.1.5).
unsafe impl Send for Memory {}
unsafe impl Sync for Memory {}

impl Memory {
    fn new(bytes: &[u8]) -> Arc<Self> {
        let words = (0..bytes.len().div_ceil(16)).map(|_| UnsafeCell::new(0)).collect();
        let memory = Self { words, length: bytes.len() };
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory.as_ptr(), bytes.len()) };
        Arc::new(memory)
    }

    fn as_ptr(&self) -> *mut u8 {
        self.words.as_ptr().cast_mut().cast()
    }

    fn bytes(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.as_ptr(), self.length) }
    }
}

/// What an external carries: the struct, the arrays in it, and a share of the memory.
struct Export {
    managed: Managed,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _memory: Arc<Memory>,
}

/// Runs on any thread, also after the environment has ended: no Node-API here, and no panic (7.5).
unsafe extern "C" fn delete(managed: *mut Managed) {
    drop(unsafe { Box::from_raw((*managed).manager_ctx.cast::<Export>()) });
}

unsafe extern "C" fn drop_share(_: sys::napi_env, _: *mut c_void, memory: *mut c_void) {
    drop(unsafe { Arc::from_raw(memory.cast::<Memory>()) });
}

#[napi]
pub struct NativeTensor {
    memory: Option<Arc<Memory>>, // None once disposed
    shape: Vec<i64>,
    dtype: DType,
    flags: u64,
}

#[napi]
impl NativeTensor {
    #[napi(constructor)]
    pub fn new(bytes: Uint8Array, shape: Vec<i64>, code: u8, bits: u8, lanes: u16, flags: u32) -> Result<Self> {
        let (dtype, flags) = (DType { code, bits, lanes }, u64::from(flags));
        let needed = count(&shape).and_then(|count| count.checked_mul(dtype.width(flags) as usize));
        if !dtype.is_known() || needed.map(|bits| bits.div_ceil(8)) != Some(bytes.len()) {
            return Err(Error::from_reason("Expected a dtype of DLPack 1.3, and as many bytes as the shape has"));
        }
        Ok(Self { memory: Some(Memory::new(&bytes)), shape, dtype, flags })
    }

    #[napi]
    pub fn dispose(&mut self) {
        self.memory = None;
    }

    #[napi(getter)]
    pub fn strides(&self) -> Vec<i64> {
        row_major(&self.shape)
    }

    /// The flags of an export.
    #[napi]
    pub fn flags(&self, is_copied: bool) -> u32 {
        let flags = if is_copied { self.flags & !READ_ONLY | IS_COPIED } else { self.flags };
        flags as u32
    }

    #[napi]
    pub fn external<'env>(&self, env: &'env Env, copy: bool) -> Result<Unknown<'env>> {
        let memory = if copy { Memory::new(self.memory()?.bytes()) } else { self.memory()?.clone() };
        let tensor = Tensor {
            data: memory.as_ptr().cast(),
            device: Device { kind: 1, id: 0 },
            ndim: self.shape.len() as i32,
            dtype: self.dtype,
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let managed = Managed {
            version: Version { major: 1, minor: 3 },
            manager_ctx: ptr::null_mut(),
            deleter: Some(delete),
            flags: self.flags(copy).into(),
            tensor,
        };
        let export = Export { managed, shape: self.shape.clone(), strides: self.strides(), _memory: memory };
        let export = Box::into_raw(Box::new(export));
        wrap(env, unsafe {
            (*export).managed.manager_ctx = export.cast();
            (*export).managed.tensor.shape = (*export).shape.as_mut_ptr();
            (*export).managed.tensor.strides = (*export).strides.as_mut_ptr();
            Owned::new(ptr::addr_of_mut!((*export).managed))
        })
    }

    /// A buffer over the memory, for consumers in JavaScript (7.8). Null where the runtime forbids such buffers.
    #[napi]
    pub fn buffer<'env>(&self, env: &'env Env) -> Result<Either<Unknown<'env>, Null>> {
        let memory = self.memory()?.clone();
        let (data, length) = (memory.as_ptr().cast(), memory.length);
        let share = Arc::into_raw(memory).cast_mut().cast();
        let mut buffer = ptr::null_mut();
        unsafe {
            let status =
                sys::napi_create_external_arraybuffer(env.raw(), data, length, Some(drop_share), share, &mut buffer);
            if status != sys::Status::napi_ok {
                drop_share(env.raw(), data, share);
            }
            if status == sys::Status::napi_no_external_buffers_allowed {
                return Ok(Either::B(Null));
            }
            check_status!(status)?;
            Ok(Either::A(Unknown::from_napi_value(env.raw(), buffer)?))
        }
    }

    /// A copy of the elements.
    #[napi]
    pub fn bytes(&self) -> Result<Uint8Array> {
        Ok(self.memory()?.bytes().to_vec().into())
    }

    fn memory(&self) -> Result<&Arc<Memory>> {
        self.memory.as_ref().ok_or_else(|| Error::from_reason("Expected a tensor that was not disposed"))
    }
}
