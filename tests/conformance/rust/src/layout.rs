//! Where elements lie in memory.

use crate::structs::{DType, IS_PADDED};

const COMPLEX: u8 = 5;
const MAX_SAFE_INTEGER: i128 = (1 << 53) - 1;

impl DType {
    /// Is this one of the types of 3.8? We refuse all others (3.13).
    pub fn is_known(self) -> bool {
        let widths: &[u8] = match self.code {
            0 | 1 => &[1, 2, 4, 8, 16, 32, 64, 128], // integers
            2 => &[16, 32, 64, 128],                 // floats
            3 => &[64],                              // opaque handles
            4 => &[16],                              // bfloat
            COMPLEX => &[32, 64, 128],
            6..=14 => &[8],  // bool, float8
            15 | 16 => &[6], // float6
            17 => &[4],      // float4
            _ => &[],
        };
        self.lanes > 0 && widths.contains(&self.bits)
    }

    /// Bits from one element to the next.
    pub fn width(self, flags: u64) -> u64 {
        let width = u64::from(self.bits) * u64::from(self.lanes);
        if flags & IS_PADDED == 0 { width } else { width.next_multiple_of(8) }
    }

    /// Bytes to which the first element is aligned (3.5).
    pub fn alignment(self) -> usize {
        let scalar = if self.code == COMPLEX { self.bits / 2 } else { self.bits };
        usize::from(scalar / 8).clamp(1, 8)
    }
}

pub fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    strides
}

/// The number of elements. None for a negative length, and where the product of the others is no safe integer (3.6).
pub fn count(shape: &[i64]) -> Option<usize> {
    let mut product: i128 = 1;
    for &length in shape {
        product *= i128::from(length.max(1));
        if length < 0 || product > MAX_SAFE_INTEGER {
            return None;
        }
    }
    Some(if shape.contains(&0) { 0 } else { product as usize })
}

/// Bytes from the lowest element to the highest (7.3). The sum of 64 products of 116 bits fits into 128.
pub fn reach(shape: &[i64], strides: &[i64], width: u64) -> Option<i128> {
    let step = |(&length, &stride)| (i128::from(length) - 1) * i128::from(stride);
    let steps: i128 = shape.iter().zip(strides).map(step).map(i128::abs).sum();
    Some(steps.checked_mul(width.into())? / 8)
}

pub struct Layout {
    pub dtype: DType,
    pub width: u64,
    pub shape: Vec<i64>,
    pub strides: Vec<i64>,
}

impl Layout {
    /// The index sum of the element at a row-major index.
    pub fn place(&self, mut index: usize) -> i64 {
        let mut place = 0;
        for (&length, &stride) in self.shape.iter().zip(&self.strides).rev() {
            place += (index % length as usize) as i64 * stride;
            index /= length as usize;
        }
        place
    }

    pub fn count(&self) -> usize {
        count(&self.shape).unwrap_or(0)
    }

    /// The elements in row-major order, without gaps.
    ///
    /// # Safety
    /// All elements must lie in readable memory, the first one at `first`.
    pub unsafe fn gather(&self, first: *const u8) -> Vec<u8> {
        let count = self.count();
        let mut bytes = vec![0; (count * self.width as usize).div_ceil(8)];
        for index in 0..count {
            let (from, to) = (self.place(index) * self.width as i64, index * self.width as usize);
            unsafe { copy_bits(first, from, &mut bytes, to, self.width as usize) };
        }
        bytes
    }
}

/// Copies `width` bits. Places are in bits, and bit 0 of a byte is its lowest (3.8). `to` is zero there.
unsafe fn copy_bits(from: *const u8, from_bit: i64, to: &mut [u8], to_bit: usize, width: usize) {
    if from_bit % 8 == 0 && to_bit % 8 == 0 && width % 8 == 0 {
        let source = unsafe { std::slice::from_raw_parts(from.offset(from_bit as isize / 8), width / 8) };
        to[to_bit / 8..][..width / 8].copy_from_slice(source);
        return;
    }
    for i in 0..width {
        let at = from_bit + i as i64; // negative before the first element, so it is shifted, not divided
        let bit = unsafe { *from.offset((at >> 3) as isize) } >> (at & 7) & 1;
        to[(to_bit + i) / 8] |= bit << ((to_bit + i) % 8);
    }
}
