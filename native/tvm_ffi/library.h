// libtvm_ffi, loaded at run time, one copy for the process. Its functions may be called on any thread.
#pragma once

#include "../abi/tvm_ffi_abi.h"
#include "../hidden.h"

namespace dlpack::tvm_ffi {

// One line for each symbol, and its type.
#define DLPACK_TVM_FFI_SYMBOLS(X)                                                                                    \
  X(GetVersion, void, (TVMFFIVersion*))                                                                              \
  X(ObjectIncRef, int, (TVMFFIObjectHandle))                                                                         \
  X(ObjectDecRef, int, (TVMFFIObjectHandle))                                                                         \
  X(FunctionGetGlobal, int, (const TVMFFIByteArray*, TVMFFIObjectHandle*))                                           \
  X(FunctionSetGlobal, int, (const TVMFFIByteArray*, TVMFFIObjectHandle, int))                                       \
  X(AnyViewToOwnedAny, int, (const TVMFFIAny*, TVMFFIAny*))                                                          \
  X(StringFromByteArray, int, (const TVMFFIByteArray*, TVMFFIAny*))                                                  \
  X(BytesFromByteArray, int, (const TVMFFIByteArray*, TVMFFIAny*))                                                   \
  X(GetTypeInfo, const TVMFFITypeInfo*, (int32_t))                                                                   \
  X(ErrorMoveFromRaised, void, (TVMFFIObjectHandle*))                                                                \
  X(ErrorSetRaised, void, (TVMFFIObjectHandle))                                                                      \
  X(ErrorSetRaisedFromCStr, void, (const char*, const char*))                                                        \
  X(ErrorCreate, int, (const TVMFFIByteArray*, const TVMFFIByteArray*, const TVMFFIByteArray*, TVMFFIObjectHandle*)) \
  X(EnvSetStream, int, (int32_t, int32_t, TVMFFIStreamHandle, TVMFFIStreamHandle*))                                  \
  X(EnvGetStream, TVMFFIStreamHandle, (int32_t, int32_t))                                                            \
  X(EnvTensorAlloc, int, (DLTensor*, TVMFFIObjectHandle*))                                                           \
  X(EnvSetDLPackManagedTensorAllocator, int, (DLPackManagedTensorAllocator, int, DLPackManagedTensorAllocator*))     \
  X(EnvGetDLPackManagedTensorAllocator, DLPackManagedTensorAllocator, ())

// Symbols that are NULL in versions without them.
#define DLPACK_TVM_FFI_OPTIONAL_SYMBOLS(X)                                                                           \
  X(ErrorCreateWithCauseAndExtraContext, int,                                                                        \
    (const TVMFFIByteArray*, const TVMFFIByteArray*, const TVMFFIByteArray*, TVMFFIObjectHandle, TVMFFIObjectHandle, \
     TVMFFIObjectHandle*))                                                                                           \
  X(TypeKeyToIndex, int, (const TVMFFIByteArray*, int32_t*))                                                         \
  X(GetTypeAttrColumn, const TVMFFITypeAttrColumn*, (const TVMFFIByteArray*))                                        \
  X(TypeGetOrAllocIndex, int32_t, (const TVMFFIByteArray*, int32_t, int32_t, int32_t, int32_t, int32_t))             \
  X(TypeRegisterField, int, (int32_t, const TVMFFIFieldInfo*))                                                       \
  X(TypeRegisterMethod, int, (int32_t, const TVMFFIMethodInfo*))                                                     \
  X(Backtrace, const TVMFFIByteArray*, (const char*, int, const char*, int))                                         \
  X(BigIntFromByteArray, int, (const TVMFFIByteArray*, TVMFFIAny*))                                                  \
  X(BigIntGetContentByteArray, TVMFFIByteArray, (const TVMFFIAny*))

struct Library {
#define DLPACK_MEMBER(name, result, arguments) result(*name) arguments;
  DLPACK_TVM_FFI_SYMBOLS(DLPACK_MEMBER)
  DLPACK_TVM_FFI_OPTIONAL_SYMBOLS(DLPACK_MEMBER)
#undef DLPACK_MEMBER
  TVMFFIVersion version;
};

// The first 0.1.x with the structs for fields and methods that tvm_ffi_abi.h declares.
static const uint32_t kReflectionPatch = 14;

// Filled by LoadLibrary and never changed afterwards.
DLPACK_HIDDEN extern Library library;

// Loads the file, or uses the copy that the process has already loaded. Returns NULL, or an error message that is valid
// until the next call on this thread. Any thread.
const char* LoadLibrary(const char* path);

// The path of the loaded file; empty when none is loaded.
const char* LibraryPath();

// Raises an error on this thread and returns -1, the status of a call that raised an error. Any thread.
inline int Raise(const char* kind, const char* message) {
  library.ErrorSetRaisedFromCStr(kind, message);
  return -1;
}

// Drops the reference of an owned value. Any thread.
inline void ReleaseValue(const TVMFFIAny& value) {
  if (value.type_index >= kTVMFFIStaticObjectBegin) library.ObjectDecRef(value.v_obj);
}

inline TVMFFIAny IntegerValue(int64_t number) {
  TVMFFIAny value = {};
  value.type_index = kTVMFFIInt;
  value.v_int64 = number;
  return value;
}

// The library has no lock for its table of global functions, so this addon holds this lock for every use of the table.
// Any thread. Scopes nest, because a module loader written in JavaScript may look up functions.
class TableScope {
 public:
  TableScope();
  ~TableScope();
};

}  // namespace dlpack::tvm_ffi
