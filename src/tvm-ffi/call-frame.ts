/**
 * The call frame: a block of memory that JavaScript and C++ both see. native/tvm_ffi/call_frame.h is its twin.
 *
 * Arguments are written into 16-byte slots as the ABI wants them, so that a call is one crossing whatever it carries. The
 * slots are a stack: a callback during a call works above its caller.
 *
 * Addresses travel as the double with the same bits: one store, exact, no bigint. They are never calculated with.
 *
 * @module
 */

export const SLOTS = 2048;
const TEXT_BYTES = 16384;
const SLOTS_START = 64;
/** u8: where {@link text} begins. */
export const TEXT_START = SLOTS_START + 16 * SLOTS;

export const callBuffer = new ArrayBuffer(TEXT_START + TEXT_BYTES);
export const f64 = new Float64Array(callBuffer);
export const i64 = new BigInt64Array(callBuffer);
export const u64 = new BigUint64Array(callBuffer);
export const i32 = new Int32Array(callBuffer);
export const u32 = new Uint32Array(callBuffer);
export const u8 = new Uint8Array(callBuffer);
/** String arguments, each ended by a zero. */
export const text = new Uint8Array(callBuffer, TEXT_START);

// Indices into the array that a field is used with.
/** f64: the function of a call, the object of other requests. */
export const OBJECT = 0;
/** i32: 0, or -1 when an error is raised on this thread. */
export const STATUS = 2;
/** u32: the first free slot. */
export const TOP = 3;
/** i32 */
export const COUNT = 4;
/** u32: the slot of the first argument. */
export const BASE = 5;
/** f64: the `DLTensor` inside OBJECT. */
export const VIEW = 3;
/** u32, two halves: where this block lies. */
const ADDRESS = 8;
/** i32, and the number of the device behind it. Zero: the call sets no stream. */
export const DEVICE = 10;
/** u64 */
export const STREAM = 6;
/** u32: the number of the JavaScript function that native code calls. */
export const CALLBACK = 14;
/** u32: the slot, element or reference a request is about. */
export const SLOT = 15;

/** i32: the type of slot 0; the next slot is 4 further. */
export const FIRST_TYPE = 16;
/** f64, i64, u64: the payload of slot 0; the next slot is 2 further. */
export const FIRST_PAYLOAD = 9;

/** i32: the type of a slot; the length of a small string and the two halves of the payload follow. */
export const typeAt = (slot: number): number => FIRST_TYPE + slot * 4;
/** f64, i64, u64: the payload of a slot. */
export const payloadAt = (slot: number): number => FIRST_PAYLOAD + slot * 2;
/** u8: the payload of a slot. */
export const bytesAt = (slot: number): number => SLOTS_START + slot * 16 + 8;

/** Writes the address of byte `offset` of the frame as the payload of a slot. */
export function writeFrameAddress(slot: number, offset: number): void {
  const low = (u32[ADDRESS] as number) + offset;
  const at = typeAt(slot) + 2;
  u32[at] = low;
  u32[at + 1] = (u32[ADDRESS + 1] as number) + (low > 0xffffffff ? 1 : 0);
}

/** Writes a value that is an address or nothing. */
export function writeSlot(slot: number, type: number, pointer: number): void {
  const at = typeAt(slot);
  i32[at] = type;
  i32[at + 1] = 0;
  f64[payloadAt(slot)] = pointer;
}

/** The double whose bits are those of {@link Type.tensor} and the zeros behind it, for writing both in one store. */
export const TENSOR_BITS = 70 * Number.MIN_VALUE;

/** `TVMFFITypeIndex` of the ABI. */
export const Type = {
  none: 0,
  int: 1,
  bool: 2,
  float: 3,
  opaquePointer: 4,
  dtype: 5,
  device: 6,
  tensorView: 7,
  rawString: 8,
  byteArray: 9,
  rvalue: 10,
  smallString: 11,
  smallBytes: 12,
  object: 64,
  string: 65,
  bytes: 66,
  error: 67,
  function: 68,
  shape: 69,
  tensor: 70,
  array: 71,
  map: 72,
  module: 73,
  list: 75,
  dict: 76,
} as const;

/**
 * All of it, to be taken apart into constants of the importing module. V8 folds a module's own constants into its
 * optimised code; what a module imports, numbers too, costs a load and checks at each use, together half of what a call
 * takes.
 */
export const frame = {
  f64,
  i64,
  u64,
  i32,
  u32,
  u8,
  text,
  OBJECT,
  STATUS,
  TOP,
  COUNT,
  BASE,
  CALLBACK,
  SLOT,
  SLOTS,
  FIRST_TYPE,
  FIRST_PAYLOAD,
  TENSOR_BITS,
  TEXT_START,
  Type,
  typeAt,
  payloadAt,
  bytesAt,
  writeSlot,
};
