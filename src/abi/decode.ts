/**
 * Decodes structs, with one function for each struct of the C API, and makes a view of the tensor that a `DLTensor`
 * describes.
 *
 * @module
 */

import { ArgumentTypeError } from '../errors.js';
import { BufferStorage } from '../storage/storage.js';
import { TensorView } from '../view.js';
import { checkPlace, decodeStruct, type Place } from './codec.js';
import { describeTensor } from './describe.js';
import {
  DLDataType,
  DLDevice,
  DLManagedTensor,
  DLManagedTensorVersioned,
  DLPackExchangeAPI,
  DLPackExchangeAPIHeader,
  DLPackVersion,
  DLTensor,
} from './structs.js';

export const decodeVersion = (place: Place) => decodeStruct(DLPackVersion, place);
export const decodeDevice = (place: Place) => decodeStruct(DLDevice, place);
export const decodeDataType = (place: Place) => decodeStruct(DLDataType, place);
export const decodeTensor = (place: Place) => decodeStruct(DLTensor, place);
export const decodeManagedTensor = (place: Place) => decodeStruct(DLManagedTensor, place);
export const decodeManagedTensorVersioned = (place: Place) => decodeStruct(DLManagedTensorVersioned, place);
export const decodeExchangeAPIHeader = (place: Place) => decodeStruct(DLPackExchangeAPIHeader, place);
export const decodeExchangeAPI = (place: Place) => decodeStruct(DLPackExchangeAPI, place);

/**
 * A view of the tensor that a `DLTensor` in WebAssembly memory describes. Pointers are offsets into the same buffer.
 * The view becomes invalid when the memory grows. Views of `WasmHeap` in dlpack/wasm stay valid.
 */
export function viewTensor(at: Place, flags = 0n): TensorView {
  if (typeof flags !== 'bigint') throw new ArgumentTypeError('flags', 'a bigint', flags);
  const place = checkPlace(at);
  const { buffer } = place;
  return new TensorView(describeTensor(place, flags, new BufferStorage(buffer, 0, buffer.byteLength)));
}
