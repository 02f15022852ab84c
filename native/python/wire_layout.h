// Messages in slots of the wire. Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
#pragma once

#include "../wire/wire_layout.h"

namespace dlpack::python {

// The type of the value in a cell.
enum ValueKind : uint32_t {
  // None
  kNone = 0,
  // number is 0 or 1
  kBool = 1,
  // number
  kInt = 2,
  // number
  kFloat = 3,
  // spilled
  kString = 4,
  // spilled
  kBytes = 5,
  // spilled as digits in base 16
  kBigInt = 6,
  // an object
  kHandle = 7,
  // as a result: there is no next element
  kEnd = 8,
  // number is the word of a WireTensor
  kTensor = 9,
  // as a result: the class needs a copy of the tensor
  kMustCopy = 10,
  // as a result: an object, from_dlpack of a library whose objects native code makes itself
  kConverter = 11,
  // as a result: the function must be called
  kDeclined = 12,
  // number is the word of a CellList
  kList = 13,
  // number is the word of a CellList
  kDict = 14,
  // number is the word of a CellList
  kSet = 15,
  // a JavaScript value that Python holds; its name is spilled
  kFunction = 16,
};

// The kinds of operations, with their cells.
enum class Operation : uint32_t {
  // a name
  kImport = 0,
  // a callable and its arguments
  kCall = 1,
  // the same, and the tensor of the result
  kCallTensor = 2,
  // as call, on another thread
  kCallAsync = 3,
  // as callTensor, on another thread
  kCallTensorAsync = 4,
  // as callAsync, for the function `call` of values.py
  kCallPartsAsync = 5,
  // an object and a name
  kGetAttribute = 6,
  // an object, a name and a value
  kSetAttribute = 7,
  // an object and a key
  kGetItem = 8,
  // an object, a key and a value
  kSetItem = 9,
  // an object
  kIterate = 10,
  // an iterator
  kNext = 11,
  // an object
  kText = 12,
  // a string, which becomes an interned name, which Python compares by address
  kName = 13,
  // its elements
  kTuple = 14,
  // a value, which always becomes an object
  kHold = 15,
};

// A value for Python, by its kind.
struct alignas(8) Cell {
  // a ValueKind
  uint32_t kind;
  // the handle of an object, or the number of a JavaScript function
  uint32_t handle;
  // a number; for a tensor or a container, the word of its description; for a function, its pin
  double number;
};
static_assert(offsetof(Cell, kind) == 0);
static_assert(offsetof(Cell, handle) == 4);
static_assert(offsetof(Cell, number) == 8);
static_assert(sizeof(Cell) == 16);

// The elements of a container, or alternating keys and values of a dict.
struct alignas(8) CellList {
  // the number of cells that follow
  uint32_t count;
};
static_assert(offsetof(CellList, count) == 0);
static_assert(sizeof(CellList) == 8);

// The outcome of a request to Python, besides a tensor.
struct alignas(8) Outcome {
  // 1: there is an exception
  uint32_t failed;
  // a ValueKind: of the result, or handle for the exception
  uint32_t result_kind;
  // of the object that is the result, or of the exception
  uint32_t result_handle;
  // the result, where it is a number or a boolean
  double result_number;
};
static_assert(offsetof(Outcome, failed) == 0);
static_assert(offsetof(Outcome, result_kind) == 4);
static_assert(offsetof(Outcome, result_handle) == 8);
static_assert(offsetof(Outcome, result_number) == 16);
static_assert(sizeof(Outcome) == 24);

// An operation on Python objects.
struct alignas(8) PerformRequest {
  // 1: there is an exception
  uint32_t failed;
  // a ValueKind: of the result, or handle for the exception
  uint32_t result_kind;
  // of the object that is the result, or of the exception
  uint32_t result_handle;
  // the result, where it is a number or a boolean
  double result_number;
  // an Operation
  uint32_t operation;
  // the number of cells that follow
  uint32_t count;
  // the number of pairs of cells at the end that are names and values of keyword arguments
  uint32_t keywords;
  // the number of values that do not fit into cells and are arguments of the call
  uint32_t spilled;
  // the slot of a TensorResult, for a result that is a tensor
  uint32_t tensor_slot;
  // the number of the promise of an asynchronous call
  uint32_t promise;
};
static_assert(offsetof(PerformRequest, failed) == 0);
static_assert(offsetof(PerformRequest, result_kind) == 4);
static_assert(offsetof(PerformRequest, result_handle) == 8);
static_assert(offsetof(PerformRequest, result_number) == 16);
static_assert(offsetof(PerformRequest, operation) == 24);
static_assert(offsetof(PerformRequest, count) == 28);
static_assert(offsetof(PerformRequest, keywords) == 32);
static_assert(offsetof(PerformRequest, spilled) == 36);
static_assert(offsetof(PerformRequest, tensor_slot) == 40);
static_assert(offsetof(PerformRequest, promise) == 44);
static_assert(sizeof(PerformRequest) == 48);

// A tensor as an object of a Python class.
struct alignas(8) ConversionRequest {
  // 1: there is an exception
  uint32_t failed;
  // a ValueKind: of the result, or handle for the exception
  uint32_t result_kind;
  // of the object that is the result, or of the exception
  uint32_t result_handle;
  // the result, where it is a number or a boolean
  double result_number;
  // the handle of the class, or of a converter
  uint32_t target;
  // 0: never copy; 2: the memory is a copy of memory that JavaScript can move
  uint32_t may_copy;
  // in native memory
  WireTensor tensor;
};
static_assert(offsetof(ConversionRequest, failed) == 0);
static_assert(offsetof(ConversionRequest, result_kind) == 4);
static_assert(offsetof(ConversionRequest, result_handle) == 8);
static_assert(offsetof(ConversionRequest, result_number) == 16);
static_assert(offsetof(ConversionRequest, target) == 24);
static_assert(offsetof(ConversionRequest, may_copy) == 28);
static_assert(offsetof(ConversionRequest, tensor) == 32);
static_assert(sizeof(ConversionRequest) == 96);

// The tensor of a Python object.
struct alignas(8) ConsumeRequest {
  // 1: there is an exception
  uint32_t failed;
  // a ValueKind: of the result, or handle for the exception
  uint32_t result_kind;
  // of the object that is the result, or of the exception
  uint32_t result_handle;
  // the result, where it is a number or a boolean
  double result_number;
  // its handle
  uint32_t object;
  // 1: always; 0: never; -1: only when needed
  int32_t copy;
  // the DLDeviceType that the tensor must have; 0: any
  int32_t device_type;
  // the number of that device
  int32_t device_id;
  // the slot of the TensorResult
  uint32_t tensor_slot;
  // the consumer's stream; 0: the current one
  double stream;
};
static_assert(offsetof(ConsumeRequest, failed) == 0);
static_assert(offsetof(ConsumeRequest, result_kind) == 4);
static_assert(offsetof(ConsumeRequest, result_handle) == 8);
static_assert(offsetof(ConsumeRequest, result_number) == 16);
static_assert(offsetof(ConsumeRequest, object) == 24);
static_assert(offsetof(ConsumeRequest, copy) == 28);
static_assert(offsetof(ConsumeRequest, device_type) == 32);
static_assert(offsetof(ConsumeRequest, device_id) == 36);
static_assert(offsetof(ConsumeRequest, tensor_slot) == 40);
static_assert(offsetof(ConsumeRequest, stream) == 48);
static_assert(sizeof(ConsumeRequest) == 56);

// Handles that the next operation drops at its start. In its own block, because it outlives requests.
struct alignas(8) ReleasedList {
  // the number of waiting objects
  uint32_t object_count;
  // the number of waiting storages of Python memory
  uint32_t storage_count;
  // their handles
  uint32_t objects[64];
  // their handles
  uint32_t storages[64];
  // 1: the objects of this tick, or those before, have many bytes
  uint32_t crowded;
};
static_assert(offsetof(ReleasedList, object_count) == 0);
static_assert(offsetof(ReleasedList, storage_count) == 4);
static_assert(offsetof(ReleasedList, objects) == 8);
static_assert(offsetof(ReleasedList, storages) == 264);
static_assert(offsetof(ReleasedList, crowded) == 520);
static_assert(sizeof(ReleasedList) == 528);

}  // namespace dlpack::python
