#include "builtins.h"

#include <stdio.h>
#include <string.h>

namespace dlpack::tvm_ffi {

struct BuiltinFunction {
  const char* name;
  TVMFFIObjectHandle function;
};

static BuiltinFunction builtins[] = {
    {"ffi.Array", nullptr},
    {"ffi.List", nullptr},
    {"ffi.Shape", nullptr},
    {"ffi.Map", nullptr},
    {"ffi.Dict", nullptr},
    {"ffi.MapSize", nullptr},
    {"ffi.MapForwardIterFunctor", nullptr},
    {"ffi.DictSize", nullptr},
    {"ffi.DictForwardIterFunctor", nullptr},
    {"ffi.ReprPrint", nullptr},
    {"ffi.MakeObjectFromPackedArgs", nullptr},
    {"ffi.FunctionRemoveGlobal", nullptr},
    {"ffi.FunctionListGlobalNamesFunctor", nullptr},
    {"ffi.ModuleLoadFromFile", nullptr},
    {"ffi.ModuleGlobalsAdd", nullptr},
    {"ffi.ModuleGetFunction", nullptr},
    {"ffi.ModuleImplementsFunction", nullptr},
    {"ffi.ModuleGetKind", nullptr},
    {"ffi.ModuleImportModule", nullptr},
    {"ffi.ModuleInspectSource", nullptr},
    {"ffi.SystemLib", nullptr},
    {"ffi.ModuleGetFunctionMetadata", nullptr},
    {"ffi.ModuleGetFunctionDoc", nullptr},
    {"ffi.ListAppend", nullptr},
    {"ffi.ListSetItem", nullptr},
    {"ffi.ListInsert", nullptr},
    {"ffi.ListPop", nullptr},
    {"ffi.ListReplaceSlice", nullptr},
    {"ffi.ListReverse", nullptr},
    {"ffi.ListClear", nullptr},
    {"ffi.ListContains", nullptr},
    {"ffi.ArrayContains", nullptr},
    {"ffi.DictGetItemOrMissing", nullptr},
    {"ffi.DictCount", nullptr},
    {"ffi.DictSetItem", nullptr},
    {"ffi.DictErase", nullptr},
    {"ffi.DictClear", nullptr},
    {"ffi.MapGetItemOrMissing", nullptr},
    {"ffi.MapCount", nullptr},
    {"ffi.GetInvalidObject", nullptr},
    {"ffi.StructuralEqual", nullptr},
    {"ffi.StructuralHash", nullptr},
    {"ffi.ToJSONGraphString", nullptr},
    {"ffi.FromJSONGraphString", nullptr},
    {"ffi.DeepCopy", nullptr},
    {"ffi.GetRegisteredTypeKeys", nullptr},
};

void ResolveBuiltins() {
  TableScope scope;
  for (BuiltinFunction& entry : builtins) {
    const TVMFFIByteArray name{entry.name, strlen(entry.name)};
    if (library.FunctionGetGlobal(&name, &entry.function) != 0) entry.function = nullptr;
  }
}

TVMFFIObjectHandle Builtin(const char* name) {
  for (const BuiltinFunction& entry : builtins) {
    if (strcmp(entry.name, name) == 0) return entry.function;
  }
  return nullptr;
}

int CallBuiltin(const char* name, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  TVMFFIObjectHandle function = Builtin(name);
  if (function == nullptr) {
    char text[160];
    snprintf(text, sizeof(text), "This libtvm_ffi has no global function '%s'", name);
    return Raise("RuntimeError", text);
  }
  return CellOf<TVMFFIFunctionCell>(function)->safe_call(function, args, count, result);
}

}  // namespace dlpack::tvm_ffi
