// The functions that JavaScript sees, one line each; src/native/binding.ts declares the same names. All run on the
// JavaScript thread and find their message in a slot of the wire.
#pragma once

#include "exports.h"
#include "wire.h"

namespace dlpack {

// The instance of a function, which is its callback data, and the arguments of the call.
inline Instance* InstanceOf(napi_env env, napi_callback_info info, napi_value* values = nullptr, size_t count = 1) {
  return DataOf<Instance>(env, info, values, count);
}

// Puts the caller's reference into the table, and its handle and the status into the request. `storage` is NULL when
// out of memory.
template <class Request>
inline void HoldIn(Instance* self, Storage* storage, bool report, Request* request) {
  request->handle = storage == nullptr ? 0 : Hold(self, storage, report);
  request->status = request->handle == 0 ? kOutOfMemory : kOk;
}

// The name in JavaScript, and the function.
// clang-format off: its layout changes each time it runs.
#define DLPACK_BINDINGS(X) \
  /* exchange.cc */ \
  X(importVersioned, ImportVersioned) \
  X(importLegacy, ImportLegacy) \
  X(exportVersioned, ExportVersioned) \
  X(exportLegacy, ExportLegacy) \
  X(deleteVersioned, DeleteVersioned) \
  X(deleteLegacy, DeleteLegacy) \
  X(importExternal, ImportExternal) \
  X(exportExternal, ExportExternal) \
  X(issueTicket, IssueTicketBinding) \
  X(redeemTicket, RedeemTicketBinding) \
  X(exchangeApi, ExchangeApiAddress) \
  X(readCounts, ReadCounts) \
  X(readTraces, ReadTraces) \
  /* memory.cc */ \
  X(allocate, Allocate) \
  X(release, Release) \
  X(collect, Collect) \
  X(outlive, OutliveTick) \
  X(addressOf, AddressOf) \
  X(pinArray, PinArray) \
  X(pinAddress, PinAddress) \
  X(createBuffer, CreateBuffer) \
  X(detachBuffer, DetachBuffer) \
  X(readInto, ReadInto) \
  X(writeFrom, WriteFrom) \
  X(takeStaged, TakeStaged) \
  X(trim, Trim) \
  /* convert/binding.cc */ \
  X(copy, Copy) \
  X(convert, Convert) \
  X(convertAsync, ConvertAsync) \
  /* files/mapping.cc */ \
  X(mapFile, MapFile) \
  X(partOf, PartOf) \
  X(readPart, ReadPart) \
  /* files/shared_memory.cc */ \
  X(createShared, CreateShared) \
  X(sealShared, SealShared) \
  X(unnameShared, UnnameShared) \
  X(unnameAllShared, UnnameAllShared) \
  X(openShared, OpenShared) \
  /* cuda/context.cc */ \
  X(loadCuda, LoadCuda) \
  X(attachCuda, AttachCuda) \
  /* tvm_ffi/context.cc */ \
  X(loadTvmFfi, LoadTvmFfi) \
  X(attachTvmFfi, AttachTvmFfi)
// clang-format on
DLPACK_BINDINGS(DLPACK_DECLARE)

// python/objects.cc
namespace python {
napi_value StartPython(napi_env env, napi_callback_info info);
}

}  // namespace dlpack
