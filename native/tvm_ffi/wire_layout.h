// Messages in slots of the wire. Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
#pragma once

#include "../wire_layout.h"

namespace dlpack::tvm_ffi {

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
  // the reference to a batch of values; 0: none
  uint32_t batch;
  // the word of a described tensor that was refused; 0: none
  uint32_t described;
};
static_assert(offsetof(CallRequest, function) == 0);
static_assert(offsetof(CallRequest, stream) == 8);
static_assert(offsetof(CallRequest, status) == 16);
static_assert(offsetof(CallRequest, count) == 20);
static_assert(offsetof(CallRequest, device_type) == 24);
static_assert(offsetof(CallRequest, device_id) == 28);
static_assert(offsetof(CallRequest, reference) == 32);
static_assert(offsetof(CallRequest, argument) == 36);
static_assert(offsetof(CallRequest, batch) == 40);
static_assert(offsetof(CallRequest, described) == 44);
static_assert(sizeof(CallRequest) == 48);

// A call on another thread.
struct alignas(8) AsyncCallRequest {
  // the address of the function
  uint64_t function;
  // a stream handle
  uint64_t stream;
  // a Status
  int32_t status;
  // the device whose stream is set or read; 0: none
  int32_t device_type;
  // the number of the device
  int32_t device_id;
  // the reference to a batch of values; 0: none
  uint32_t batch;
  // the number of the promise that waits
  uint32_t promise;
};
static_assert(offsetof(AsyncCallRequest, function) == 0);
static_assert(offsetof(AsyncCallRequest, stream) == 8);
static_assert(offsetof(AsyncCallRequest, status) == 16);
static_assert(offsetof(AsyncCallRequest, device_type) == 20);
static_assert(offsetof(AsyncCallRequest, device_id) == 24);
static_assert(offsetof(AsyncCallRequest, batch) == 28);
static_assert(offsetof(AsyncCallRequest, promise) == 32);
static_assert(sizeof(AsyncCallRequest) == 40);

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
};
static_assert(offsetof(CallbackRequest, array) == 0);
static_assert(offsetof(CallbackRequest, callback) == 8);
static_assert(offsetof(CallbackRequest, status) == 12);
static_assert(offsetof(CallbackRequest, count) == 16);
static_assert(sizeof(CallbackRequest) == 24);

// The outcome of an asynchronous call, pushed by native code. The result follows as a value.
struct alignas(8) SettleRequest {
  // the address of the error, which the caller releases; 0: there is a result
  uint64_t error;
  // the number of the promise
  uint32_t promise;
};
static_assert(offsetof(SettleRequest, error) == 0);
static_assert(offsetof(SettleRequest, promise) == 8);
static_assert(sizeof(SettleRequest) == 16);

// A reference to release.
struct alignas(8) ReferenceRequest {
  // the number of a reference in the table of the context; 0: none
  uint32_t reference;
};
static_assert(offsetof(ReferenceRequest, reference) == 0);
static_assert(sizeof(ReferenceRequest) == 8);

// One value on the wire: taken, made, or its reference counted.
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

// An object: found, made or retained.
struct alignas(8) ObjectRequest {
  // the address of an object
  uint64_t object;
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // the number of a reference in the table of the context; 0: none
  uint32_t reference;
  // the number of its class
  int32_t type;
};
static_assert(offsetof(ObjectRequest, object) == 0);
static_assert(offsetof(ObjectRequest, status) == 8);
static_assert(offsetof(ObjectRequest, reference) == 12);
static_assert(offsetof(ObjectRequest, type) == 16);
static_assert(sizeof(ObjectRequest) == 24);

// The object of a tensor.
struct alignas(8) TensorObjectRequest {
  // the address of an object
  uint64_t object;
  // the DLTensor inside it
  uint64_t view;
  // a Status
  int32_t status;
  // the number of a reference in the table of the context; 0: none
  uint32_t reference;
  // the tensor of the object
  WireTensor tensor;
};
static_assert(offsetof(TensorObjectRequest, object) == 0);
static_assert(offsetof(TensorObjectRequest, view) == 8);
static_assert(offsetof(TensorObjectRequest, status) == 16);
static_assert(offsetof(TensorObjectRequest, reference) == 20);
static_assert(offsetof(TensorObjectRequest, tensor) == 24);
static_assert(sizeof(TensorObjectRequest) == 88);

// A tensor without an object, for one call. For JavaScript memory, native code replaces its shape and strides.
struct alignas(8) DescribedTensor {
  // room for a DLTensor
  uint64_t view[6];
  // where JavaScript memory begins; 0 for native memory
  uint64_t address;
  // the size of JavaScript memory
  double nbytes;
  // a Status
  int32_t status;
  // 1: the callee gets a DLTensor, and no object
  uint32_t is_view;
  // the tensor that is described
  WireTensor tensor;
};
static_assert(offsetof(DescribedTensor, view) == 0);
static_assert(offsetof(DescribedTensor, address) == 48);
static_assert(offsetof(DescribedTensor, nbytes) == 56);
static_assert(offsetof(DescribedTensor, status) == 64);
static_assert(offsetof(DescribedTensor, is_view) == 68);
static_assert(offsetof(DescribedTensor, tensor) == 72);
static_assert(sizeof(DescribedTensor) == 136);

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

// An error: raised, taken or read.
struct alignas(8) ErrorRequest {
  // the address of an object
  uint64_t object;
  // the address of its cause; 0: none
  uint64_t cause;
  // the number that onRelease gets when native code has released the thrown value
  double pin;
  // the number of a reference in the table of the context; 0: none
  uint32_t reference;
  // the number of a reference to the cause
  uint32_t cause_reference;
  // the number of the value that JavaScript threw; 0: none
  uint32_t thrown;
};
static_assert(offsetof(ErrorRequest, object) == 0);
static_assert(offsetof(ErrorRequest, cause) == 8);
static_assert(offsetof(ErrorRequest, pin) == 16);
static_assert(offsetof(ErrorRequest, reference) == 24);
static_assert(offsetof(ErrorRequest, cause_reference) == 28);
static_assert(offsetof(ErrorRequest, thrown) == 32);
static_assert(sizeof(ErrorRequest) == 40);

// Values for a batch. The number 0 makes a new batch.
struct alignas(8) BatchRequest {
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // the reference to a batch of values; 0: none
  uint32_t batch;
  // the word of the first value
  uint32_t values;
  // the number of values
  int32_t count;
};
static_assert(offsetof(BatchRequest, status) == 0);
static_assert(offsetof(BatchRequest, batch) == 4);
static_assert(offsetof(BatchRequest, values) == 8);
static_assert(offsetof(BatchRequest, count) == 12);
static_assert(sizeof(BatchRequest) == 16);

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

// Entries of a Map or Dict: keys and values alternate. They stay borrowed.
struct alignas(8) EntriesRequest {
  // the address of an object
  uint64_t object;
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // the reference to an iterator; 0: the map is empty
  uint32_t iterator;
  // the word of the first value
  uint32_t values;
  // the number of values
  int32_t count;
  // 1 when these were the last entries
  uint32_t is_last;
};
static_assert(offsetof(EntriesRequest, object) == 0);
static_assert(offsetof(EntriesRequest, status) == 8);
static_assert(offsetof(EntriesRequest, iterator) == 12);
static_assert(offsetof(EntriesRequest, values) == 16);
static_assert(offsetof(EntriesRequest, count) == 20);
static_assert(offsetof(EntriesRequest, is_last) == 24);
static_assert(sizeof(EntriesRequest) == 32);

// A registered type: found by its key, read, or registered.
struct alignas(8) TypeRequest {
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // its number; -1: no such type
  int32_t type;
};
static_assert(offsetof(TypeRequest, status) == 0);
static_assert(offsetof(TypeRequest, type) == 4);
static_assert(sizeof(TypeRequest) == 8);

// A method or the constructor of a type.
struct alignas(8) MethodRequest {
  // the address of an object
  uint64_t object;
  // the type that declares it
  int32_t type;
  // its index among the methods of that type
  uint32_t index;
  // the number of a reference in the table of the context; 0: none
  uint32_t reference;
  // 0, or -1 when an error is raised on this thread
  int32_t status;
};
static_assert(offsetof(MethodRequest, object) == 0);
static_assert(offsetof(MethodRequest, type) == 8);
static_assert(offsetof(MethodRequest, index) == 12);
static_assert(offsetof(MethodRequest, reference) == 16);
static_assert(offsetof(MethodRequest, status) == 20);
static_assert(sizeof(MethodRequest) == 24);

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

// The stream of a device.
struct alignas(8) StreamRequest {
  // a stream handle
  uint64_t stream;
  // 0, or -1 when an error is raised on this thread
  int32_t status;
  // the device whose stream is set or read; 0: none
  int32_t device_type;
  // the number of the device
  int32_t device_id;
};
static_assert(offsetof(StreamRequest, stream) == 0);
static_assert(offsetof(StreamRequest, status) == 8);
static_assert(offsetof(StreamRequest, device_type) == 12);
static_assert(offsetof(StreamRequest, device_id) == 16);
static_assert(sizeof(StreamRequest) == 24);

// The allocator of kernels.
struct alignas(8) AllocatorRequest {
  // the address of a C allocator; 0: another kind
  uint64_t address;
  // 1: the JavaScript function; 0: the C allocator, or our own
  uint32_t uses_function;
};
static_assert(offsetof(AllocatorRequest, address) == 0);
static_assert(offsetof(AllocatorRequest, uses_function) == 8);
static_assert(sizeof(AllocatorRequest) == 16);

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
