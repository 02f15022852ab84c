//! The external that carries a managed tensor through JavaScript (7.1, 7.2).

use crate::structs::Managed;
use napi::bindgen_prelude::{FromNapiValue, JsValue, Unknown};
use napi::{check_status, sys, Env, Error, Result};
use std::ffi::c_void;
use std::ptr;

const TAG: sys::napi_type_tag = sys::napi_type_tag { lower: 0x6d5d3d0f9c1e4b57, upper: 0x8f0a646c7061636b };

/// A managed tensor that is ours. Its deleter is called once, when this is dropped.
pub struct Owned(*mut Managed);

impl Owned {
    /// # Safety
    /// Nobody else may own the managed tensor.
    pub unsafe fn new(managed: *mut Managed) -> Self {
        Self(managed)
    }

    pub fn as_ptr(&self) -> *const Managed {
        self.0
    }

    fn into_raw(self) -> *mut Managed {
        std::mem::ManuallyDrop::new(self).0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // Not a reference to the struct: another major version may have another layout behind the deleter.
        if let Some(deleter) = unsafe { (*self.0).deleter } {
            unsafe { deleter(self.0) }
        }
    }
}

/// Frees the cell, and releases the tensor if nobody took it.
unsafe extern "C" fn finalize(_: sys::napi_env, cell: *mut c_void, _: *mut c_void) {
    let managed = unsafe { *Box::from_raw(cell.cast::<*mut Managed>()) };
    if !managed.is_null() {
        drop(Owned(managed));
    }
}

pub fn wrap(env: &Env, managed: Owned) -> Result<Unknown<'_>> {
    let cell = Box::into_raw(Box::new(managed.into_raw())).cast();
    let mut external = ptr::null_mut();
    unsafe {
        let status = sys::napi_create_external(env.raw(), cell, Some(finalize), ptr::null_mut(), &mut external);
        if status != sys::Status::napi_ok {
            finalize(env.raw(), cell, ptr::null_mut());
        }
        check_status!(status)?;
        check_status!(sys::napi_type_tag_object(env.raw(), external, &TAG))?;
        Unknown::from_napi_value(env.raw(), external)
    }
}

pub fn take(env: &Env, external: &Unknown) -> Result<Owned> {
    let (mut is_ours, mut cell) = (false, ptr::null_mut());
    unsafe {
        check_status!(sys::napi_check_object_type_tag(env.raw(), external.raw(), &TAG, &mut is_ours))?;
        if !is_ours {
            return Err(Error::from_reason("Expected an external of the protocol"));
        }
        check_status!(sys::napi_get_value_external(env.raw(), external.raw(), &mut cell))?;
        let managed = ptr::replace(cell.cast::<*mut Managed>(), ptr::null_mut());
        if managed.is_null() {
            return Err(Error::from_reason("Expected a tensor that was not consumed before"));
        }
        Ok(Owned(managed))
    }
}
