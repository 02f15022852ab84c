// Types that native code registered: their fields, methods and constructors. JavaScript reads a type once and keeps it.
#include "../context.h"
#include "../text.h"

namespace dlpack::tvm_ffi {

// Whether the structs of this version are known. Raises an error otherwise.
static bool IsReflective() {
  if (library.version.patch >= kReflectionPatch && library.TypeKeyToIndex != nullptr &&
      library.GetTypeAttrColumn != nullptr) {
    return true;
  }
  Raise("RuntimeError", "Fields and methods of objects need TVM-FFI 0.1.14 or later");
  return false;
}

// findType(key): the number of a registered type, -1 when there is none.
static napi_value FindType(Context*, napi_env env, Text key) {
  if (!IsReflective()) return nullptr;
  if (key.is_lost()) {
    OutOfMemory();
    return nullptr;
  }
  int32_t type = -1;
  if (library.TypeKeyToIndex(key.bytes(), &type) == 0) return NewNumber(env, type);
  TVMFFIObjectHandle error = nullptr;
  library.ErrorMoveFromRaised(&error);
  if (error != nullptr) library.ObjectDecRef(error);
  return NewNumber(env, -1);
}

// readType(type): [key, parent, [field, flags, metadata, getter, offset, type, ...], [method, flags, metadata, ...],
// kind]; the parent is -1 for the root.
static napi_value ReadType(Context*, napi_env env, int32_t number) {
  const TVMFFITypeInfo* type = library.GetTypeInfo(number);
  if (type == nullptr || !IsReflective()) return nullptr;
  const int32_t parent = type->type_depth == 0 ? -1 : type->type_ancestors[type->type_depth - 1]->type_index;
  napi_value result, fields, methods;
  if (napi_create_array(env, &result) != napi_ok || napi_create_array(env, &fields) != napi_ok ||
      napi_create_array(env, &methods) != napi_ok) {
    return nullptr;
  }
  uint32_t count = 0;
  const auto add = [env, &count](napi_value array, std::initializer_list<napi_value> values) {
    for (napi_value value : values) napi_set_element(env, array, count++, value);
  };
  for (int32_t i = 0; i < type->num_fields; ++i) {
    const TVMFFIFieldInfo& field = type->fields[i];
    add(fields, {StringOf(env, field.name), NewNumber(env, static_cast<double>(field.flags)),
                 StringOf(env, field.metadata), NewAddress(env, reinterpret_cast<const void*>(field.getter)),
                 NewNumber(env, static_cast<double>(field.offset)), NewNumber(env, field.field_static_type_index)});
  }
  count = 0;
  for (int32_t i = 0; i < type->num_methods; ++i) {
    const TVMFFIMethodInfo& method = type->methods[i];
    add(methods, {StringOf(env, method.name), NewNumber(env, static_cast<double>(method.flags)),
                  StringOf(env, method.metadata)});
  }
  count = 0;
  const int32_t kind = type->metadata == nullptr ? 0 : type->metadata->structural_eq_hash_kind;
  add(result, {StringOf(env, type->type_key), NewNumber(env, parent), fields, methods, NewNumber(env, kind)});
  return result;
}

// [pointer, reference] of a function; null for a value that is not a function.
static napi_value GiveFunction(Context* self, napi_env env, const TVMFFIAny& value) {
  TVMFFIObject* function = value.type_index == kTVMFFIFunction ? value.v_obj : nullptr;
  if (function != nullptr) library.ObjectIncRef(function);
  return GiveReference(self, env, function);
}

// getMethod(type, index)
static napi_value GetMethod(Context* self, napi_env env, int32_t number, uint32_t index) {
  const TVMFFITypeInfo* type = library.GetTypeInfo(number);
  const bool is_known = type != nullptr && index < static_cast<uint32_t>(type->num_methods);
  return GiveFunction(self, env, is_known ? type->methods[index].method : TVMFFIAny{});
}

// getConstructor(type): the library keeps constructors in a separate column.
static napi_value GetConstructor(Context* self, napi_env env, int32_t type) {
  static const char kName[] = "__ffi_init__";
  const TVMFFIByteArray name{kName, sizeof(kName) - 1};
  const TVMFFITypeAttrColumn* column = library.GetTypeAttrColumn(&name);
  const int32_t index = column == nullptr ? -1 : type - column->begin_index;
  return GiveFunction(self, env, index >= 0 && index < column->size ? column->data[index] : TVMFFIAny{});
}

const NamedFunction kTypesFunctions[] = {{"findType", Binding<FindType>::Call},
                                         {"readType", Binding<ReadType>::Call},
                                         {"getMethod", Binding<GetMethod>::Call},
                                         {"getConstructor", Binding<GetConstructor>::Call},

                                         {}};

}  // namespace dlpack::tvm_ffi
