// JavaScript values that native code holds: functions that it can call, and objects that it can only pass on.
#pragma once

#include "../context.h"

namespace dlpack::tvm_ffi {

struct HostValue {
  uint64_t serial;  // of the context that made it
  uint32_t number;  // of the value in JavaScript's table
  Storage* pin;     // its release tells JavaScript to forget the value
};

// A TVM-FFI object with one reference for a JavaScript value; NULL when out of memory. `pin` is the number that
// onRelease gets.
TVMFFIObject* CreateHostObject(Context* self, uint32_t number, double pin);

// Drops a weak reference, which keeps only the memory of an object. Any thread.
void DropWeakReference(TVMFFIObjectHandle object);

// The value of an object that this context made; NULL for any other object.
const HostValue* HostValueOf(const Context* self, const TVMFFIObject* object);

}  // namespace dlpack::tvm_ffi
