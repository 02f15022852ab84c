// Our own declaration of the TVM-FFI C ABI (0.1.x): every enumerator, and the structs that this addon uses.
// tests/interop/tvm-ffi/kernels/abi_layout.cc compares it with a real c_api.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "dlpack_abi.h"

extern "C" {

// Values below kTVMFFIStaticObjectBegin carry no reference count.
enum TVMFFITypeIndex : int32_t {
  kTVMFFIAny = -1,  // in descriptions of fields only
  kTVMFFINone = 0,
  kTVMFFIInt = 1,
  kTVMFFIBool = 2,
  kTVMFFIFloat = 3,
  kTVMFFIOpaquePtr = 4,
  kTVMFFIDataType = 5,
  kTVMFFIDevice = 6,
  kTVMFFIDLTensorPtr = 7,
  kTVMFFIRawStr = 8,
  kTVMFFIByteArrayPtr = 9,
  kTVMFFIObjectRValueRef = 10,
  kTVMFFISmallStr = 11,
  kTVMFFISmallBytes = 12,
  kTVMFFIUnchanged = 13,
  kTVMFFIStaticObjectBegin = 64,
  kTVMFFIObject = 64,
  kTVMFFIStr = 65,
  kTVMFFIBytes = 66,
  kTVMFFIError = 67,
  kTVMFFIFunction = 68,
  kTVMFFIShape = 69,
  kTVMFFITensor = 70,
  kTVMFFIArray = 71,
  kTVMFFIMap = 72,
  kTVMFFIModule = 73,
  kTVMFFIOpaquePyObject = 74,
  kTVMFFIList = 75,
  kTVMFFIDict = 76,
  kTVMFFIVisitInterrupt = 77,
  kTVMFFIBigInt = 78,
  kTVMFFIDynObjectBegin = 128,
};

enum TVMFFIObjectDeleterFlagBitMask : int32_t {
  kTVMFFIObjectDeleterFlagBitMaskStrong = 1 << 0,
  kTVMFFIObjectDeleterFlagBitMaskWeak = 1 << 1,
};

typedef void* TVMFFIObjectHandle;
typedef void* TVMFFIStreamHandle;

struct TVMFFIVersion {
  uint32_t major;
  uint32_t minor;
  uint32_t patch;
};

struct TVMFFIObject {
  uint64_t combined_ref_count;  // strong count in the low half, weak count in the high half
  int32_t type_index;
  uint32_t __padding;
  void (*deleter)(void* self, int flags);
};

// The ABI requires it in memory directly before each object.
struct TVMFFIObjectAllocHeader {
  void (*delete_space)(void* object);  // NULL: the deleter of the object frees the memory itself
};

struct TVMFFIAny {
  int32_t type_index;
  union {
    uint32_t zero_padding;
    uint32_t small_str_len;
  };
  union {
    int64_t v_int64;
    double v_float64;
    void* v_ptr;
    const char* v_c_str;
    TVMFFIObject* v_obj;
    DLDataType v_dtype;
    DLDevice v_device;
    char v_bytes[8];
    uint64_t v_uint64;
  };
};

struct TVMFFIByteArray {
  const char* data;
  size_t size;
};

struct TVMFFIShapeCell {
  const int64_t* data;
  size_t size;
};

struct TVMFFISeqCell {
  void* data;
  int64_t size;
  int64_t capacity;
  void (*data_deleter)(void*);
};

enum TVMFFIBacktraceUpdateMode : int32_t {
  kTVMFFIBacktraceUpdateModeReplace = 0,
  kTVMFFIBacktraceUpdateModeAppend = 1,
};

struct TVMFFIErrorCell {
  TVMFFIByteArray kind;
  TVMFFIByteArray message;
  TVMFFIByteArray backtrace;
  void (*update_backtrace)(TVMFFIObjectHandle self, const TVMFFIByteArray* backtrace, int32_t update_mode);
  TVMFFIObjectHandle cause_chain;
  TVMFFIObjectHandle extra_context;
};

typedef int (*TVMFFISafeCallType)(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

struct TVMFFIFunctionCell {
  TVMFFISafeCallType safe_call;
  void* cpp_call;
};

enum TVMFFIFieldFlagBitMask : int64_t {
  kTVMFFIFieldFlagBitMaskWritable = 1 << 0,
  kTVMFFIFieldFlagBitMaskHasDefault = 1 << 1,
  kTVMFFIFieldFlagBitMaskIsStaticMethod = 1 << 2,
  kTVMFFIFieldFlagBitMaskSEqHashIgnore = 1 << 3,
  kTVMFFIFieldFlagBitMaskSEqHashDefPattern = 1 << 4,
  kTVMFFIFieldFlagBitMaskDefaultFromFactory = 1 << 5,
  kTVMFFIFieldFlagBitMaskReprOff = 1 << 6,
  kTVMFFIFieldFlagBitMaskCompareOff = 1 << 7,
  kTVMFFIFieldFlagBitMaskHashOff = 1 << 8,
  kTVMFFIFieldFlagBitMaskInitOff = 1 << 9,
  kTVMFFIFieldFlagBitMaskKwOnly = 1 << 10,
  kTVMFFIFieldFlagBitSetterIsFunctionObj = 1 << 11,
  kTVMFFIFieldFlagBitMaskSEqHashDefSimple = 1 << 12,
};

enum TVMFFISEqHashKind : int32_t {
  kTVMFFISEqHashKindUnsupported = 0,
  kTVMFFISEqHashKindTreeNode = 1,
  kTVMFFISEqHashKindFreeVar = 2,
  kTVMFFISEqHashKindDAGNode = 3,
  kTVMFFISEqHashKindConstTreeNode = 4,
  kTVMFFISEqHashKindUniqueInstance = 5,
};

enum TVMFFIDefRegionKind : int32_t {
  kTVMFFIDefRegionKindNone = 0,
  kTVMFFIDefRegionKindPattern = 1,
  kTVMFFIDefRegionKindSimple = 2,
};

// Reflection. These structs have this layout since 0.1.14; kReflectionPatch in library.h guards their use.
struct TVMFFIFieldInfo {
  TVMFFIByteArray name;
  TVMFFIByteArray doc;
  TVMFFIByteArray metadata;
  int64_t flags;
  int64_t size;
  int64_t alignment;
  int64_t offset;
  int (*getter)(void* field, TVMFFIAny* result);
  void* setter;  // a function int(void* field, const TVMFFIAny* value), or an ffi::Function by its flag
  TVMFFIAny default_value_or_factory;
  int32_t field_static_type_index;
};

struct TVMFFIMethodInfo {
  TVMFFIByteArray name;
  TVMFFIByteArray doc;
  TVMFFIByteArray metadata;
  int64_t flags;
  TVMFFIAny method;
};

struct TVMFFITypeMetadata {
  TVMFFIByteArray doc;
  void* creator;
  int32_t total_size;
  int32_t structural_eq_hash_kind;
};

struct TVMFFITypeInfo {
  int32_t type_index;
  int32_t type_depth;
  TVMFFIByteArray type_key;  // the following fields are for reflection
  const TVMFFITypeInfo** type_ancestors;
  uint64_t type_key_hash;
  int32_t num_fields;
  int32_t num_methods;
  const TVMFFIFieldInfo* fields;
  const TVMFFIMethodInfo* methods;
  const TVMFFITypeMetadata* metadata;  // may be NULL
};

struct TVMFFITypeAttrColumn {
  const TVMFFIAny* data;
  int32_t size;
  int32_t begin_index;
};

}  // extern "C"

namespace dlpack {

// The data of every object follows its header.
template <class Cell>
inline Cell* CellOf(TVMFFIObjectHandle object) {
  return reinterpret_cast<Cell*>(static_cast<char*>(object) + sizeof(TVMFFIObject));
}

// The object in a block for it, whose deleter frees the block.
inline void* ObjectIn(void* block) {
  TVMFFIObjectAllocHeader* header = static_cast<TVMFFIObjectAllocHeader*>(block);
  header->delete_space = nullptr;
  return header + 1;
}

inline void* BlockOf(void* object) { return static_cast<TVMFFIObjectAllocHeader*>(object) - 1; }

}  // namespace dlpack
