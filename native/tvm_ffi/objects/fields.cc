// Fields of objects.
#include "../codec/tensor_arguments.h"

namespace dlpack::tvm_ffi {

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
static void SetField(Context* self, FieldRequest* request) {
  TVMFFIAny* value = ValuesOf(request);
  const TVMFFIFieldInfo* field = FieldOf(*request);
  request->status = -1;
  if (field == nullptr || field->setter == nullptr) return;
  TensorArguments tensors(self);
  if (tensors.Read(value, 1) != 0) return;
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

const NamedFunction kFieldsFunctions[] = {
    {"getField", Binding<GetField>::Call}, {"setField", Binding<SetField>::Call}, {}};

}  // namespace dlpack::tvm_ffi
