//! Tensors of other libraries.

use crate::external::{take as take_external, Owned};
use crate::layout::{count, reach, row_major, Layout};
use crate::structs::{Managed, IS_COPIED, READ_ONLY};
use napi::bindgen_prelude::{Uint8Array, Unknown};
use napi::{Env, Error, Result, ValueType};
use napi_derive::napi;
use std::slice;

/// Device types whose memory the host reads and writes (2.4.1).
const HOST: [i32; 5] = [1, 3, 11, 13, 20];
const MAX_AXES: i32 = 64;

/// Who keeps the elements.
enum Elements {
    Producer { _owned: Owned },
    Copy { _bytes: Vec<u8> },
    Released,
}

#[napi]
pub struct Taken {
    elements: Elements,
    first: *mut u8,
    layout: Layout,
    is_read_only: bool,
}

/// Checks all that must hold before an address is computed (7.2, 7.3), and copies the layout.
unsafe fn layout_of(managed: *const Managed) -> std::result::Result<Layout, &'static str> {
    if unsafe { (*managed).version.major } != 1 {
        return Err("Expected DLPack 1.x"); // before anything else is read
    }
    let Managed { tensor, flags, .. } = unsafe { &*managed };
    if !(0..=MAX_AXES).contains(&tensor.ndim) || (tensor.ndim > 0 && tensor.shape.is_null()) {
        return Err("Expected 0 to 64 axes and a shape");
    }
    if !tensor.dtype.is_known() {
        return Err("Expected a dtype of DLPack 1.3");
    }
    if !HOST.contains(&tensor.device.kind) || tensor.device.id < 0 {
        return Err("Expected host memory");
    }
    let array = |values: *const i64| match tensor.ndim {
        0 => Vec::new(), // where the pointer may be NULL
        ndim => unsafe { slice::from_raw_parts(values, ndim as usize) }.to_vec(),
    };
    let shape = array(tensor.shape);
    let Some(count) = count(&shape) else {
        return Err("Expected lengths of zero or more, and at most 2^53 - 1 elements");
    };
    let strides = if tensor.strides.is_null() { row_major(&shape) } else { array(tensor.strides) };
    let width = tensor.dtype.width(*flags);
    let last = reach(&shape, &strides, width).and_then(|reach| reach.checked_add(tensor.byte_offset.into()));
    if count > 0 && (tensor.data.is_null() || last.is_none_or(|last| last > i64::MAX.into())) {
        return Err("Expected data, and elements within 2^63 bytes");
    }
    Ok(Layout { dtype: tensor.dtype, width, shape, strides })
}

/// Is this value an external, of whichever kind? Anything else is a managed tensor (3.1).
#[napi]
pub fn is_external(value: Unknown) -> Result<bool> {
    Ok(value.get_type()? == ValueType::External)
}

/// Takes the tensor out of an external. Every return releases it, or hands it to the result.
#[napi]
pub fn take(env: &Env, external: Unknown, copy: Option<bool>) -> Result<Taken> {
    let owned = take_external(env, &external)?;
    let managed = owned.as_ptr();
    let layout = unsafe { layout_of(managed) }.map_err(Error::from_reason)?;
    let Managed { tensor, flags, .. } = unsafe { &*managed };
    let first = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
    let is_copied = flags & IS_COPIED != 0;
    let is_aligned = layout.count() == 0 || first as usize % layout.dtype.alignment() == 0;
    if copy == Some(false) && (is_copied || !is_aligned) {
        return Err(Error::from_reason("Expected the memory itself, with aligned elements, because of copy: false"));
    }
    if is_aligned && (copy != Some(true) || is_copied) {
        let is_read_only = flags & READ_ONLY != 0;
        return Ok(Taken { elements: Elements::Producer { _owned: owned }, first, layout, is_read_only });
    }
    let mut bytes = unsafe { layout.gather(first) };
    let layout = Layout { strides: row_major(&layout.shape), ..layout };
    Ok(Taken { first: bytes.as_mut_ptr(), elements: Elements::Copy { _bytes: bytes }, layout, is_read_only: false })
}

#[napi]
impl Taken {
    #[napi(getter)]
    pub fn shape(&self) -> Vec<i64> {
        self.layout.shape.clone()
    }

    /// The elements in row-major order, without gaps.
    #[napi]
    pub fn bytes(&self) -> Result<Uint8Array> {
        self.check_held()?;
        Ok(unsafe { self.layout.gather(self.first) }.into())
    }

    /// Writes a float32 to the element at a row-major index.
    #[napi]
    pub fn write(&mut self, index: u32, value: f64) -> Result<()> {
        self.check_held()?;
        let (index, dtype) = (index as usize, self.layout.dtype);
        if self.is_read_only || dtype.code != 2 || self.layout.width != 32 || index >= self.layout.count() {
            return Err(Error::from_reason("Expected an index of a float32 in memory that may be written"));
        }
        let place = self.layout.place(index) as isize;
        unsafe { self.first.cast::<f32>().offset(place).write_unaligned(value as f32) };
        Ok(())
    }

    #[napi]
    pub fn release(&mut self) {
        self.elements = Elements::Released;
    }

    fn check_held(&self) -> Result<()> {
        match self.elements {
            Elements::Producer { .. } | Elements::Copy { .. } => Ok(()),
            Elements::Released => Err(Error::from_reason("Expected a tensor that was not released")),
        }
    }
}
