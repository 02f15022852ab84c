/**
 * Encodes structs, with one function for each struct of the C API.
 *
 * @module
 */

import { encodeStruct, type Place, type StructValue } from './codec.js';
import {
  DLDataType,
  DLDevice,
  DLManagedTensor,
  DLManagedTensorVersioned,
  DLPackExchangeAPI,
  DLPackExchangeAPIHeader,
  DLPackVersion,
  DLTensor,
  type Struct,
} from './structs.js';

type ValueOf<S> = S extends Struct<infer F> ? StructValue<F> : never;

export const encodeVersion = (value: ValueOf<typeof DLPackVersion>, place: Place) =>
  encodeStruct(DLPackVersion, value, place);
export const encodeDevice = (value: ValueOf<typeof DLDevice>, place: Place) => encodeStruct(DLDevice, value, place);
export const encodeDataType = (value: ValueOf<typeof DLDataType>, place: Place) =>
  encodeStruct(DLDataType, value, place);
export const encodeTensor = (value: ValueOf<typeof DLTensor>, place: Place) => encodeStruct(DLTensor, value, place);
export const encodeManagedTensor = (value: ValueOf<typeof DLManagedTensor>, place: Place) =>
  encodeStruct(DLManagedTensor, value, place);
export const encodeManagedTensorVersioned = (value: ValueOf<typeof DLManagedTensorVersioned>, place: Place) =>
  encodeStruct(DLManagedTensorVersioned, value, place);
export const encodeExchangeAPIHeader = (value: ValueOf<typeof DLPackExchangeAPIHeader>, place: Place) =>
  encodeStruct(DLPackExchangeAPIHeader, value, place);
export const encodeExchangeAPI = (value: ValueOf<typeof DLPackExchangeAPI>, place: Place) =>
  encodeStruct(DLPackExchangeAPI, value, place);
