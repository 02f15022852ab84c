//! A tensor library in Rust with napi-rs, written from docs/spec.md alone. Rule numbers are those of that page. tensor.mjs
//! adds the methods of the protocol, because methods of napi-rs cannot have symbols as keys.

mod structs;

use napi::bindgen_prelude::*;
use napi::sys;
use napi_derive::napi;
use std::ffi::c_void;
use std::sync::Arc;
use structs::*;

/// Elements in memory that a tensor and its exports share. Aligned for every scalar (3.5).
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

struct Memory(std::cell::UnsafeCell<Vec<Line>>, usize);
// Who may write when is up to the libraries that share the memory (4.1.5).
unsafe impl Send for Memory {}
unsafe impl Sync for Memory {}

impl Memory {
    fn of(bytes: &[u8]) -> Arc<Self> {
        let mut lines = vec![Line([0; 64]); bytes.len() / 64 + 1];
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), lines.as_mut_ptr().cast(), bytes.len()) };
        Arc::new(Self(std::cell::UnsafeCell::new(lines), bytes.len()))
    }
    fn start(&self) -> *mut u8 {
        unsafe { (*self.0.get()).as_mut_ptr().cast() }
    }
    fn copy(&self) -> Arc<Self> {
        Self::of(unsafe { std::slice::from_raw_parts(self.start(), self.1) })
    }
}

fn refuse<T>(why: &str) -> Result<T> {
    Err(Error::from_reason(why))
}

#[napi]
pub struct RustTensor {
    memory: Option<Arc<Memory>>,
    shape: Vec<i64>,
    dtype: DataType,
    flags: u64,
}

/// What the deleter frees.
struct Export {
    managed: ManagedTensor,
    _memory: Arc<Memory>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// Any thread (7.5).
unsafe extern "C" fn delete_export(managed: *mut ManagedTensor) {
    drop(Box::from_raw((*managed).manager_ctx.cast::<Export>()));
}

/// Frees the cell and first what is still in it (7.1).
unsafe extern "C" fn finalize_cell(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    let cell = Box::from_raw(data.cast::<*mut ManagedTensor>());
    release(*cell);
}

unsafe fn release(managed: *mut ManagedTensor) {
    if let Some(deleter) = managed.as_ref().and_then(|m| m.deleter) {
        deleter(managed);
    }
}

fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut step = 1;
    let mut strides: Vec<i64> = shape.iter().rev().map(|n| { let s = step; step *= (*n).max(1); s }).collect();
    strides.reverse();
    strides
}

#[napi]
impl RustTensor {
    #[napi(constructor)]
    pub fn new(bytes: Uint8Array, shape: Vec<i64>, code: u32, bits: u32, lanes: u32, flags: u32) -> Self {
        let dtype = DataType { code: code as u8, bits: bits as u8, lanes: lanes as u16 };
        Self { memory: Some(Memory::of(&bytes)), shape, dtype, flags: flags.into() }
    }

    #[napi]
    pub fn dispose(&mut self) {
        self.memory = None;
    }

    #[napi(getter)]
    pub fn is_disposed(&self) -> bool {
        self.memory.is_none()
    }

    /// A native external (7.1).
    #[napi]
    pub fn external<'env>(&self, env: &'env Env, copy: bool) -> Result<Unknown<'env>> {
        let Some(memory) = &self.memory else { return refuse("the tensor was disposed") };
        let memory = if copy { memory.copy() } else { memory.clone() };
        let data = memory.start().cast();
        let mut export = Box::new(Export {
            managed: ManagedTensor::default(),
            _memory: memory,
            shape: self.shape.clone(),
            strides: row_major(&self.shape),
        });
        let (shape, strides) = (export.shape.as_mut_ptr(), export.strides.as_mut_ptr());
        let managed = &mut export.managed;
        managed.version = Version { major: 1, minor: 3 };
        managed.flags = if copy { (self.flags & PADDED) | IS_COPIED } else { self.flags };
        managed.deleter = Some(delete_export);
        managed.tensor = Tensor {
            data,
            device: Device { device_type: 1, device_id: 0 },
            ndim: self.shape.len() as i32,
            dtype: self.dtype,
            shape,
            strides,
            byte_offset: 0,
        };
        let export = Box::into_raw(export);
        unsafe {
            let managed = std::ptr::addr_of_mut!((*export).managed);
            (*managed).manager_ctx = export.cast();
            let cell = Box::into_raw(Box::new(managed));
            let mut result = std::ptr::null_mut();
            let created = sys::napi_create_external(
                env.raw(), cell.cast(), Some(finalize_cell), std::ptr::null_mut(), &mut result);
            if created != sys::Status::napi_ok {
                finalize_cell(env.raw(), cell.cast(), std::ptr::null_mut());
                return refuse("no external could be made");
            }
            check_status!(sys::napi_type_tag_object(env.raw(), result, &EXTERNAL_TAG))?;
            Ok(Unknown::from_raw_unchecked(env.raw(), result))
        }
    }
}

/// The memory of another library.
#[napi]
pub struct RustTaken {
    managed: *mut ManagedTensor,
    places: Vec<i64>,
}

/// Takes the tensor of an external (7.2) and checks it (7.3). `copy_false`: the consumer asked for the memory itself.
#[napi]
pub fn take(env: &Env, external: Unknown, copy_false: bool) -> Result<RustTaken> {
    let mut kind = 0;
    let mut is_tagged = false;
    let mut data = std::ptr::null_mut();
    unsafe {
        check_status!(sys::napi_typeof(env.raw(), external.raw(), &mut kind))?;
        if kind != sys::ValueType::napi_external {
            return refuse("a native external");
        }
        check_status!(sys::napi_check_object_type_tag(env.raw(), external.raw(), &EXTERNAL_TAG, &mut is_tagged))?;
        if !is_tagged {
            return refuse("an external with the tag of DLPack");
        }
        check_status!(sys::napi_get_value_external(env.raw(), external.raw(), &mut data))?;
        let cell = data.cast::<*mut ManagedTensor>();
        let managed = std::mem::replace(&mut *cell, std::ptr::null_mut());
        if managed.is_null() {
            return refuse("the tensor was consumed before");
        }
        match check(&*managed, copy_false) {
            Ok(places) => Ok(RustTaken { managed, places }),
            Err(why) => {
                release(managed);
                refuse(why)
            }
        }
    }
}

#[napi]
impl RustTaken {
    fn live(&self) -> Result<&ManagedTensor> {
        unsafe { self.managed.as_ref() }.ok_or_else(|| Error::from_reason("the tensor was released"))
    }

    fn first(managed: &ManagedTensor) -> *mut u8 {
        managed.tensor.data.cast::<u8>().wrapping_add(managed.tensor.byte_offset as usize)
    }

    #[napi(getter)]
    pub fn shape(&self) -> Result<Vec<i64>> {
        Ok(unsafe { self.live()?.tensor.shape() }.to_vec())
    }

    /// The elements in row-major order without gaps.
    #[napi]
    pub fn bytes(&self) -> Result<Uint8Array> {
        let managed = self.live()?;
        let width = managed.width() as i64;
        let mut result = vec![0u8; (self.places.len() * width as usize).div_ceil(8)];
        for (i, place) in self.places.iter().enumerate() {
            for bit in 0..width {
                let from = place * width + bit;
                let byte = unsafe { *Self::first(managed).offset(from.div_euclid(8) as isize) };
                let to = i * width as usize + bit as usize;
                result[to / 8] |= (byte >> from.rem_euclid(8) & 1) << (to % 8);
            }
        }
        Ok(result.into())
    }

    /// Writes one float32.
    #[napi]
    pub fn write(&self, index: u32, value: f64) -> Result<()> {
        let managed = self.live()?;
        if managed.flags & READ_ONLY != 0 {
            return refuse("the tensor is read-only");
        }
        let Some(place) = self.places.get(index as usize) else { return refuse("an index of the tensor") };
        unsafe { Self::first(managed).offset(*place as isize * 4).cast::<f32>().write_unaligned(value as f32) };
        Ok(())
    }

    #[napi]
    pub fn release(&mut self) {
        let managed = std::mem::replace(&mut self.managed, std::ptr::null_mut());
        unsafe { release(managed) };
    }
}

impl Drop for RustTaken {
    fn drop(&mut self) {
        self.release();
    }
}
