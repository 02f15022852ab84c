// The functions that JavaScript sees, one line each; src/native/binding.ts declares the same names. All run on the
// JavaScript thread and find their message in a slot of the wire.
#pragma once

#include "wire.h"

namespace dlpack {

// The instance of a function, which is its callback data.
inline Instance* InstanceOf(napi_env env, napi_callback_info info) {
  void* data = nullptr;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  return static_cast<Instance*>(data);
}

// The same, with the first argument of the call in `*value`; undefined when the call has no argument.
inline Instance* InstanceOf(napi_env env, napi_callback_info info, napi_value* value) {
  void* data = nullptr;
  size_t count = 1;
  napi_get_cb_info(env, info, &count, value, nullptr, &data);
  return static_cast<Instance*>(data);
}

// exchange.cc
napi_value ImportVersioned(napi_env env, napi_callback_info info);
napi_value ImportLegacy(napi_env env, napi_callback_info info);
napi_value ExportVersioned(napi_env env, napi_callback_info info);
napi_value ExportLegacy(napi_env env, napi_callback_info info);
napi_value DeleteVersioned(napi_env env, napi_callback_info info);
napi_value DeleteLegacy(napi_env env, napi_callback_info info);
napi_value ImportExternal(napi_env env, napi_callback_info info);
napi_value ExportExternal(napi_env env, napi_callback_info info);
napi_value IssueTicketBinding(napi_env env, napi_callback_info info);
napi_value RedeemTicketBinding(napi_env env, napi_callback_info info);
napi_value ExchangeApiAddress(napi_env env, napi_callback_info info);
napi_value ReadCounts(napi_env env, napi_callback_info info);
napi_value ReadTraces(napi_env env, napi_callback_info info);

// memory.cc
napi_value Allocate(napi_env env, napi_callback_info info);
napi_value Release(napi_env env, napi_callback_info info);
napi_value Collect(napi_env env, napi_callback_info info);
napi_value OutliveTick(napi_env env, napi_callback_info info);
napi_value AddressOf(napi_env env, napi_callback_info info);
napi_value PinArray(napi_env env, napi_callback_info info);
napi_value PinAddress(napi_env env, napi_callback_info info);
napi_value CreateBuffer(napi_env env, napi_callback_info info);
napi_value DetachBuffer(napi_env env, napi_callback_info info);
napi_value ReadInto(napi_env env, napi_callback_info info);
napi_value WriteFrom(napi_env env, napi_callback_info info);
napi_value TakeStaged(napi_env env, napi_callback_info info);
napi_value Trim(napi_env env, napi_callback_info info);

// convert/binding.cc
napi_value Copy(napi_env env, napi_callback_info info);
napi_value Convert(napi_env env, napi_callback_info info);
napi_value ConvertAsync(napi_env env, napi_callback_info info);

// files/mapping.cc
napi_value MapFile(napi_env env, napi_callback_info info);
napi_value PartOf(napi_env env, napi_callback_info info);
napi_value ReadPart(napi_env env, napi_callback_info info);

// files/shared_memory.cc
napi_value CreateShared(napi_env env, napi_callback_info info);
napi_value SealShared(napi_env env, napi_callback_info info);
napi_value UnnameShared(napi_env env, napi_callback_info info);
napi_value UnnameAllShared(napi_env env, napi_callback_info info);
napi_value OpenShared(napi_env env, napi_callback_info info);

// cuda/context.cc
napi_value LoadCuda(napi_env env, napi_callback_info info);
napi_value AttachCuda(napi_env env, napi_callback_info info);

// tvm_ffi/context.cc
napi_value LoadTvmFfi(napi_env env, napi_callback_info info);
napi_value AttachTvmFfi(napi_env env, napi_callback_info info);

}  // namespace dlpack
