// The functions that JavaScript sees, in tables; src/native/binding.ts declares the same names. All run on the
// JavaScript thread, and most find their message in a slot of the wire.
#pragma once

#include "exports.h"
#include "hidden.h"
#include "wire/wire.h"

namespace dlpack {

// Puts the caller's reference into the table, and its handle and the status into the request. `storage` is NULL when
// out of memory.
template <class Request>
inline void HoldIn(Instance* self, Storage* storage, bool report, Request* request) {
  request->handle = storage == nullptr ? 0 : Hold(self, storage, report);
  request->status = request->handle == 0 ? kOutOfMemory : kOk;
}

// Memory that a request names: that of a storage in the table or, with the handle 0, that of a Uint8Array.
struct NamedMemory {
  NamedMemory(Instance* self, uint32_t handle, napi_value array) : storage(GetHeld(self, handle)) {
    if (storage != nullptr) {
      data = static_cast<uint8_t*>(storage->data);
      nbytes = storage->nbytes;
    } else if (handle == 0) {
      const Elements<uint8_t> bytes(self->env, array);
      data = bytes.data;
      nbytes = bytes.length;
      is_array = bytes.is_valid;
    }
  }
  bool is_valid() const { return storage != nullptr || is_array; }

  Storage* storage;  // NULL for an array
  uint8_t* data = nullptr;
  uint64_t nbytes = 0;
  bool is_array = false;
};

// Each table is in the file with its name.
DLPACK_HIDDEN extern const NamedFunction kImportFunctions[], kExportFunctions[], kLayoutFunctions[], kMemoryFunctions[],
    kCountFunctions[], kConvertFunctions[], kFileFunctions[], kSharedMemoryFunctions[];

// cuda/context.cc
napi_value LoadCuda(napi_env env, napi_callback_info info);
napi_value AttachCuda(napi_env env, napi_callback_info info);

// tvm_ffi/context.cc
napi_value LoadTvmFfi(napi_env env, napi_callback_info info);
napi_value AttachTvmFfi(napi_env env, napi_callback_info info);

// onnxruntime/context.cc
napi_value LoadOnnxRuntime(napi_env env, napi_callback_info info);
napi_value ReserveOnnxRuntime(napi_env env, napi_callback_info info);
napi_value AttachOnnxRuntime(napi_env env, napi_callback_info info);

// python/calls/operations.cc
namespace python {
napi_value StartPython(napi_env env, napi_callback_info info);
napi_value FindRunningPython(napi_env env, napi_callback_info info);
}  // namespace python

}  // namespace dlpack
