// Compiling this file proves that native/abi/tvm_ffi_abi.h matches a real c_api.h.
#include <stddef.h>
#include <stdint.h>

#include <type_traits>

namespace real {
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>
}  // namespace real
// Our header declares the same names and macros. The real macros are no longer needed.
#undef DLPACK_MAJOR_VERSION
#undef DLPACK_MINOR_VERSION
#undef DLPACK_FLAG_BITMASK_READ_ONLY
#undef DLPACK_FLAG_BITMASK_IS_COPIED
#undef DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
namespace ours {
#include "../../../../native/abi/tvm_ffi_abi.h"
}

#define SAME_SIZE(S) static_assert(sizeof(real::S) == sizeof(ours::S) && alignof(real::S) == alignof(ours::S), #S)
#define SAME(S, F) \
  static_assert(offsetof(real::S, F) == offsetof(ours::S, F) && sizeof(real::S::F) == sizeof(ours::S::F), #S "." #F)

SAME_SIZE(TVMFFIVersion);
SAME(TVMFFIVersion, major);
SAME(TVMFFIVersion, minor);
SAME(TVMFFIVersion, patch);
SAME_SIZE(TVMFFIObject);
SAME(TVMFFIObject, combined_ref_count);
SAME(TVMFFIObject, type_index);
SAME(TVMFFIObject, deleter);
SAME_SIZE(TVMFFIObjectAllocHeader);
SAME(TVMFFIObjectAllocHeader, delete_space);
SAME_SIZE(TVMFFIAny);
SAME(TVMFFIAny, type_index);
SAME(TVMFFIAny, zero_padding);
SAME(TVMFFIAny, small_str_len);
SAME(TVMFFIAny, v_int64);
SAME(TVMFFIAny, v_float64);
SAME(TVMFFIAny, v_ptr);
SAME(TVMFFIAny, v_obj);
SAME(TVMFFIAny, v_dtype);
SAME(TVMFFIAny, v_device);
SAME(TVMFFIAny, v_bytes);
SAME_SIZE(TVMFFIByteArray);
SAME(TVMFFIByteArray, data);
SAME(TVMFFIByteArray, size);
SAME_SIZE(TVMFFIShapeCell);
SAME(TVMFFIShapeCell, data);
SAME(TVMFFIShapeCell, size);
SAME_SIZE(TVMFFISeqCell);
SAME(TVMFFISeqCell, data);
SAME(TVMFFISeqCell, size);
SAME(TVMFFISeqCell, capacity);
SAME(TVMFFISeqCell, data_deleter);
SAME_SIZE(TVMFFIErrorCell);
SAME(TVMFFIErrorCell, kind);
SAME(TVMFFIErrorCell, message);
SAME(TVMFFIErrorCell, backtrace);
SAME(TVMFFIErrorCell, update_backtrace);
SAME(TVMFFIErrorCell, cause_chain);
SAME(TVMFFIErrorCell, extra_context);
SAME_SIZE(TVMFFIFunctionCell);
SAME(TVMFFIFunctionCell, safe_call);
SAME(TVMFFIFunctionCell, cpp_call);
SAME_SIZE(TVMFFIFieldInfo);
SAME(TVMFFIFieldInfo, name);
SAME(TVMFFIFieldInfo, doc);
SAME(TVMFFIFieldInfo, metadata);
SAME(TVMFFIFieldInfo, flags);
SAME(TVMFFIFieldInfo, size);
SAME(TVMFFIFieldInfo, alignment);
SAME(TVMFFIFieldInfo, offset);
SAME(TVMFFIFieldInfo, getter);
SAME(TVMFFIFieldInfo, setter);
SAME(TVMFFIFieldInfo, default_value_or_factory);
SAME(TVMFFIFieldInfo, field_static_type_index);
SAME_SIZE(TVMFFIMethodInfo);
SAME(TVMFFIMethodInfo, name);
SAME(TVMFFIMethodInfo, doc);
SAME(TVMFFIMethodInfo, metadata);
SAME(TVMFFIMethodInfo, flags);
SAME(TVMFFIMethodInfo, method);
SAME_SIZE(TVMFFITypeMetadata);
SAME(TVMFFITypeMetadata, doc);
SAME(TVMFFITypeMetadata, creator);
SAME(TVMFFITypeMetadata, total_size);
SAME(TVMFFITypeMetadata, structural_eq_hash_kind);
SAME_SIZE(TVMFFITypeInfo);
SAME(TVMFFITypeInfo, type_index);
SAME(TVMFFITypeInfo, type_depth);
SAME(TVMFFITypeInfo, type_key);
SAME(TVMFFITypeInfo, type_ancestors);
SAME(TVMFFITypeInfo, type_key_hash);
SAME(TVMFFITypeInfo, num_fields);
SAME(TVMFFITypeInfo, num_methods);
SAME(TVMFFITypeInfo, fields);
SAME(TVMFFITypeInfo, methods);
SAME(TVMFFITypeInfo, metadata);
SAME_SIZE(TVMFFITypeAttrColumn);
SAME(TVMFFITypeAttrColumn, data);
SAME(TVMFFITypeAttrColumn, size);
SAME(TVMFFITypeAttrColumn, begin_index);

int main() { return 0; }
