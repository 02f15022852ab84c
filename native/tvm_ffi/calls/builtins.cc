#include "builtins.h"

#include <stdio.h>
#include <string.h>

namespace dlpack::tvm_ffi {

static const char* const kNames[] = {"ffi.Array",
                                     "ffi.List",
                                     "ffi.Shape",
                                     "ffi.Map",
                                     "ffi.Dict",
                                     "ffi.MapSize",
                                     "ffi.MapForwardIterFunctor",
                                     "ffi.DictSize",
                                     "ffi.DictForwardIterFunctor",
                                     "ffi.ReprPrint",
                                     "ffi.MakeObjectFromPackedArgs",
                                     "ffi.FunctionRemoveGlobal",
                                     "ffi.FunctionListGlobalNamesFunctor",
                                     "ffi.ModuleLoadFromFile",
                                     "ffi.ModuleGlobalsAdd",
                                     "ffi.ModuleGetFunction",
                                     "ffi.ModuleImplementsFunction",
                                     "ffi.ModuleGetKind",
                                     "ffi.ModuleImportModule",
                                     "ffi.ModuleInspectSource",
                                     "ffi.SystemLib",
                                     "ffi.ModuleGetFunctionMetadata",
                                     "ffi.ModuleGetFunctionDoc",
                                     "ffi.ListAppend",
                                     "ffi.ListSetItem",
                                     "ffi.ListInsert",
                                     "ffi.ListPop",
                                     "ffi.ListReplaceSlice",
                                     "ffi.ListReverse",
                                     "ffi.ListClear",
                                     "ffi.ListContains",
                                     "ffi.ArrayContains",
                                     "ffi.DictGetItemOrMissing",
                                     "ffi.DictCount",
                                     "ffi.DictSetItem",
                                     "ffi.DictErase",
                                     "ffi.DictClear",
                                     "ffi.MapGetItemOrMissing",
                                     "ffi.MapCount",
                                     "ffi.GetInvalidObject",
                                     "ffi.StructuralEqual",
                                     "ffi.StructuralHash",
                                     "ffi.ToJSONGraphString",
                                     "ffi.json.Parse",
                                     "ffi.FromJSONGraph",
                                     "ffi.DeepCopy",
                                     "ffi.GetRegisteredTypeKeys"};
static const size_t kCount = sizeof(kNames) / sizeof(kNames[0]);
static TVMFFIObjectHandle functions[kCount];  // NULL for a name that the library does not have

void ResolveBuiltins() {
  TableScope scope;
  for (size_t i = 0; i < kCount; ++i) {
    const TVMFFIByteArray name{kNames[i], strlen(kNames[i])};
    if (library.FunctionGetGlobal(&name, &functions[i]) != 0) functions[i] = nullptr;
  }
}

TVMFFIObjectHandle Builtin(const char* name) {
  size_t i = 0;
  while (i < kCount && strcmp(kNames[i], name) != 0) ++i;
  return i == kCount ? nullptr : functions[i];
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
