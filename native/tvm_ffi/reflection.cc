// Types that native code registered: their fields, methods and constructors. JavaScript reads a type once and keeps it.
#include <string.h>

#include "context.h"
#include "text.h"

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
static void FindType(Context*, TypeRequest* request, napi_env env, napi_value value) {
  const Text key(env, value);
  request->type = -1;
  request->status = IsReflective() ? 0 : -1;
  if (request->status == 0 && key.is_lost()) request->status = OutOfMemory();
  if (request->status != 0) return;
  if (library.TypeKeyToIndex(key.bytes(), &request->type) != 0) {
    TVMFFIObjectHandle error = nullptr;
    library.ErrorMoveFromRaised(&error);
    if (error != nullptr) library.ObjectDecRef(error);
    request->type = -1;
  }
}

// An address as the double with the same bits.
static napi_value AddressOf(napi_env env, const void* address) {
  double bits;
  memcpy(&bits, &address, sizeof(bits));
  return NewNumber(env, bits);
}

// [key, parent, [field, flags, metadata, getter, offset, ...], [method, flags, metadata, ...]]; the parent is
// -1 for the root.
static napi_value ReadType(Context*, TypeRequest* request, napi_env env) {
  const TVMFFITypeInfo* type = library.GetTypeInfo(request->type);
  request->status = type != nullptr && IsReflective() ? 0 : -1;
  if (request->status != 0) return nullptr;
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
                 StringOf(env, field.metadata), AddressOf(env, reinterpret_cast<const void*>(field.getter)),
                 NewNumber(env, static_cast<double>(field.offset))});
  }
  count = 0;
  for (int32_t i = 0; i < type->num_methods; ++i) {
    const TVMFFIMethodInfo& method = type->methods[i];
    add(methods, {StringOf(env, method.name), NewNumber(env, static_cast<double>(method.flags)),
                  StringOf(env, method.metadata)});
  }
  count = 0;
  add(result, {StringOf(env, type->type_key), NewNumber(env, parent), fields, methods});
  return result;
}

// Puts a reference to a function into the table; 0 for a value that is not a function.
static void OwnFunction(Context* self, MethodRequest* request, const TVMFFIAny& value) {
  TVMFFIObject* function = value.type_index == kTVMFFIFunction ? value.v_obj : nullptr;
  if (function != nullptr) library.ObjectIncRef(function);
  request->status = 0;
  OwnIn(self, function, request);
}

// A method of a type.
static void GetMethod(Context* self, MethodRequest* request) {
  const TVMFFITypeInfo* type = library.GetTypeInfo(request->type);
  const bool is_known = type != nullptr && request->index < static_cast<uint32_t>(type->num_methods);
  OwnFunction(self, request, is_known ? type->methods[request->index].method : TVMFFIAny{});
}

// The constructor of a type, which the library keeps in a separate column.
static void GetConstructor(Context* self, MethodRequest* request) {
  static const char kName[] = "__ffi_init__";
  const TVMFFIByteArray name{kName, sizeof(kName) - 1};
  const TVMFFITypeAttrColumn* column = library.GetTypeAttrColumn(&name);
  const int32_t index = column == nullptr ? -1 : request->type - column->begin_index;
  OwnFunction(self, request, index >= 0 && index < column->size ? column->data[index] : TVMFFIAny{});
}

static const TVMFFIFieldInfo* FieldOf(const FieldRequest& request) {
  const TVMFFITypeInfo* type = library.GetTypeInfo(request.type);
  return type == nullptr || request.index >= static_cast<uint32_t>(type->num_fields) ? nullptr
                                                                                     : type->fields + request.index;
}

// The value of a field, as the result of a call.
static napi_value GetField(Context* self, FieldRequest* request, napi_env env) {
  TVMFFIAny* result = ValuesOf(request);
  *result = TVMFFIAny{};
  typedef int (*Getter)(void*, TVMFFIAny*);
  void* place = reinterpret_cast<char*>(request->object) + request->offset;
  request->status = reinterpret_cast<Getter>(request->getter)(place, result);
  if (request->status != 0 || result->type_index < kTVMFFIStaticObjectBegin) return nullptr;
  return TakeObject(self, env, result, true, &request->reference, &request->status);
}

// Sets a field to a value.
static void SetField(Context*, FieldRequest* request) {
  const TVMFFIAny* value = ValuesOf(request);
  const TVMFFIFieldInfo* field = FieldOf(*request);
  request->status = -1;
  if (field == nullptr || field->setter == nullptr) return;
  void* place = reinterpret_cast<char*>(request->object) + field->offset;
  if ((field->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj) == 0) {
    typedef int (*Setter)(void*, const TVMFFIAny*);
    request->status = reinterpret_cast<Setter>(field->setter)(place, value);
    return;
  }
  TVMFFIAny args[2] = {};
  args[0].type_index = kTVMFFIOpaquePtr;
  args[0].v_ptr = place;
  args[1] = *value;
  TVMFFIAny result = {};
  request->status = CellOf<TVMFFIFunctionCell>(field->setter)->safe_call(field->setter, args, 2, &result);
  if (request->status == 0) ReleaseValue(result);
}

const NamedFunction kReflectionFunctions[] = {{"findType", Binding<FindType>::Call},
                                              {"readType", Binding<ReadType>::Call},
                                              {"getMethod", Binding<GetMethod>::Call},
                                              {"getConstructor", Binding<GetConstructor>::Call},
                                              {"getField", Binding<GetField>::Call},
                                              {"setField", Binding<SetField>::Call},
                                              {}};

}  // namespace dlpack::tvm_ffi
