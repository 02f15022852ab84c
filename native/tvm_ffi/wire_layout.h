// Messages in slots of the wire. Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
#pragma once

#include "../wire/wire_layout.h"

namespace dlpack::tvm_ffi {

// Types that only values on the wire have, whose payload is the word of a TensorArgument. The ABI has none below 0.
enum WireType : int32_t {
  // a tensor that the callee may keep
  kTensor = -1,
  // a tensor that the callee may use only during the call
  kLentTensor = -2,
};

// How a function is called.
enum class CallMode : uint32_t {
  // a result that is an Array is read at once
  kPlain = 0,
  // a result that is an Array or a Map stays as it is
  kForView = 1,
  // as plain, while no other thread uses the table of global functions
  kLocked = 2,
};

// A call. The arguments follow as values, and one more value for the result.
struct alignas(8) CallRequest {
  // the address of the function
  uint64_t function;
  // a stream handle
  uint64_t stream;
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // the number of values
  int32_t count;
  // the device whose stream is set or read; 0: none
  int32_t device_type;
  // the number of the device
  int32_t device_id;
  // the number of the reference to a result that is an object; 0: an array whose elements were copied
  uint32_t reference;
  // the argument that the result is, from 1 on; 0: none
  uint32_t argument;
  // the number under which the call holds that argument; 0: it has an object that stays
  uint32_t held;
  // the reference to a batch of values; 0: none
  uint32_t batch;
  // a CallMode
  uint32_t mode;
};
static_assert(offsetof(CallRequest, function) == 0);
static_assert(offsetof(CallRequest, stream) == 8);
static_assert(offsetof(CallRequest, status) == 16);
static_assert(offsetof(CallRequest, count) == 20);
static_assert(offsetof(CallRequest, device_type) == 24);
static_assert(offsetof(CallRequest, device_id) == 28);
static_assert(offsetof(CallRequest, reference) == 32);
static_assert(offsetof(CallRequest, argument) == 36);
static_assert(offsetof(CallRequest, held) == 40);
static_assert(offsetof(CallRequest, batch) == 44);
static_assert(offsetof(CallRequest, mode) == 48);
static_assert(sizeof(CallRequest) == 56);

// A call of a JavaScript function, pushed by native code. The arguments follow as values, and one for the result.
struct alignas(8) CallbackRequest {
  // the address of an array with the arguments; 0: the arguments follow
  uint64_t array;
  // the number of the function
  uint32_t callback;
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // the number of values
  int32_t count;
  // 1: the result has a reference of its own
  uint32_t is_owned;
};
static_assert(offsetof(CallbackRequest, array) == 0);
static_assert(offsetof(CallbackRequest, callback) == 8);
static_assert(offsetof(CallbackRequest, status) == 12);
static_assert(offsetof(CallbackRequest, count) == 16);
static_assert(offsetof(CallbackRequest, is_owned) == 20);
static_assert(sizeof(CallbackRequest) == 24);

// The outcome of an asynchronous call, pushed by native code. The result, or the error, follows as a value.
struct alignas(8) SettleRequest {
  // 1: the value is an error
  uint32_t is_error;
};
static_assert(offsetof(SettleRequest, is_error) == 0);
static_assert(sizeof(SettleRequest) == 8);

// A value on the wire that is taken.
struct alignas(8) ValueRequest {
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // the word of the value
  uint32_t value;
  // the number of a reference in the table of the context; 0: none
  uint32_t reference;
};
static_assert(offsetof(ValueRequest, status) == 0);
static_assert(offsetof(ValueRequest, value) == 4);
static_assert(offsetof(ValueRequest, reference) == 8);
static_assert(sizeof(ValueRequest) == 16);

// A tensor among the values of a request. The payload of its value is the word of this message, as a double.
struct alignas(8) TensorArgument {
  // where memory that JavaScript lends begins, its low half; 0 with the high half: the memory of a storage
  uint32_t address_low;
  // the high half
  uint32_t address_high;
  // the size of lent memory
  double nbytes;
  // the address of an object
  uint64_t object;
  // the address of the DLTensor in the object
  uint64_t view;
  // the number of a reference in the table of the context; 0: none
  uint32_t reference;
  // the number under which the call holds the tensor
  uint32_t held;
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // the tensor
  WireTensor tensor;
};
static_assert(offsetof(TensorArgument, address_low) == 0);
static_assert(offsetof(TensorArgument, address_high) == 4);
static_assert(offsetof(TensorArgument, nbytes) == 8);
static_assert(offsetof(TensorArgument, object) == 16);
static_assert(offsetof(TensorArgument, view) == 24);
static_assert(offsetof(TensorArgument, reference) == 32);
static_assert(offsetof(TensorArgument, held) == 36);
static_assert(offsetof(TensorArgument, status) == 40);
static_assert(offsetof(TensorArgument, tensor) == 48);
static_assert(sizeof(TensorArgument) == 112);

// A native function or object for a JavaScript value.
struct alignas(8) HostRequest {
  // the address of an object
  uint64_t object;
  // the number that onRelease gets when native code has released the value
  double pin;
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // the number of a reference in the table of the context; 0: none
  uint32_t reference;
  // the number of the JavaScript value
  uint32_t number;
  // the type of an object of a registered class
  int32_t type;
  // the number of fields of the type
  uint32_t fields;
  // the number of the JavaScript function that reads and sets fields
  uint32_t access;
  // the number of the weak reference to an object of a registered class
  uint32_t weak;
};
static_assert(offsetof(HostRequest, object) == 0);
static_assert(offsetof(HostRequest, pin) == 8);
static_assert(offsetof(HostRequest, status) == 16);
static_assert(offsetof(HostRequest, reference) == 20);
static_assert(offsetof(HostRequest, number) == 24);
static_assert(offsetof(HostRequest, type) == 28);
static_assert(offsetof(HostRequest, fields) == 32);
static_assert(offsetof(HostRequest, access) == 36);
static_assert(offsetof(HostRequest, weak) == 40);
static_assert(sizeof(HostRequest) == 48);

// A new container of values, or of the values of a batch.
struct alignas(8) ContainerRequest {
  // the address of an object
  uint64_t object;
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // its class
  int32_t type;
  // the reference to a batch of values; 0: none
  uint32_t batch;
  // the word of the first value
  uint32_t values;
  // the number of values
  int32_t count;
  // the number of a reference in the table of the context; 0: none
  uint32_t reference;
};
static_assert(offsetof(ContainerRequest, object) == 0);
static_assert(offsetof(ContainerRequest, status) == 8);
static_assert(offsetof(ContainerRequest, type) == 12);
static_assert(offsetof(ContainerRequest, batch) == 16);
static_assert(offsetof(ContainerRequest, values) == 20);
static_assert(offsetof(ContainerRequest, count) == 24);
static_assert(offsetof(ContainerRequest, reference) == 28);
static_assert(sizeof(ContainerRequest) == 32);

// Elements of an Array, List or Shape. They stay borrowed.
struct alignas(8) SequenceRequest {
  // the address of an object
  uint64_t object;
  // the number of elements
  double size;
  // the first element
  uint32_t start;
  // the word of the first value
  uint32_t values;
  // the number of values
  int32_t count;
};
static_assert(offsetof(SequenceRequest, object) == 0);
static_assert(offsetof(SequenceRequest, size) == 8);
static_assert(offsetof(SequenceRequest, start) == 16);
static_assert(offsetof(SequenceRequest, values) == 20);
static_assert(offsetof(SequenceRequest, count) == 24);
static_assert(sizeof(SequenceRequest) == 32);

// A field of an object. Its value follows. It is read by its getter, and set by its type and index.
struct alignas(8) FieldRequest {
  // the address of an object
  uint64_t object;
  // the function that reads it
  uint64_t getter;
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // its offset in the object in bytes
  uint32_t offset;
  // the type that declares it
  int32_t type;
  // its index among the fields of that type
  uint32_t index;
  // the number of a reference in the table of the context; 0: none
  uint32_t reference;
};
static_assert(offsetof(FieldRequest, object) == 0);
static_assert(offsetof(FieldRequest, getter) == 8);
static_assert(offsetof(FieldRequest, status) == 16);
static_assert(offsetof(FieldRequest, offset) == 20);
static_assert(offsetof(FieldRequest, type) == 24);
static_assert(offsetof(FieldRequest, index) == 28);
static_assert(offsetof(FieldRequest, reference) == 32);
static_assert(sizeof(FieldRequest) == 40);

// A tensor from the allocator of kernels. The result is pushed as a TensorResult.
struct alignas(8) TensorAllocateRequest {
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // a Status
  int32_t problem;
  // the requested tensor
  WireTensor tensor;
};
static_assert(offsetof(TensorAllocateRequest, status) == 0);
static_assert(offsetof(TensorAllocateRequest, problem) == 4);
static_assert(offsetof(TensorAllocateRequest, tensor) == 8);
static_assert(sizeof(TensorAllocateRequest) == 72);

}  // namespace dlpack::tvm_ffi
