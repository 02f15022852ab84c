#include "api.h"

#include "../platform/platform.h"

namespace dlpack::python {

Api api;

const char* LoadApi(void* handle) {
#define DLPACK_PYTHON_FIND(result, name, arguments)                                      \
  api.name = reinterpret_cast<result(*) arguments>(platform::FindSymbol(handle, #name)); \
  if (api.name == nullptr) return #name;
  DLPACK_PYTHON_FUNCTIONS(DLPACK_PYTHON_FIND)
#undef DLPACK_PYTHON_FIND
  api.PyObject_Vectorcall = reinterpret_cast<Object* (*)(Object*, Object* const*, size_t, Object*)>(
      platform::FindSymbol(handle, "PyObject_Vectorcall"));
  void* unchecked = platform::FindSymbol(handle, "PyThreadState_GetUnchecked");  // from 3.13 on
  if (unchecked == nullptr) unchecked = platform::FindSymbol(handle, "_PyThreadState_UncheckedGet");
  api.PyThreadState_GetUnchecked = reinterpret_cast<Object* (*)(void)>(unchecked);
  api.Py_SetProgramName = reinterpret_cast<void (*)(const wchar_t*)>(platform::FindSymbol(handle, "Py_SetProgramName"));
  api.Py_DecodeLocale =
      reinterpret_cast<wchar_t* (*)(const char*, size_t*)>(platform::FindSymbol(handle, "Py_DecodeLocale"));
#define DLPACK_PYTHON_FIND(name, indirect)                                               \
  {                                                                                      \
    void* symbol = platform::FindSymbol(handle, #name);                                  \
    if (symbol == nullptr) return #name;                                                 \
    api.name = indirect ? *static_cast<Object**>(symbol) : static_cast<Object*>(symbol); \
  }
  DLPACK_PYTHON_OBJECTS(DLPACK_PYTHON_FIND)
#undef DLPACK_PYTHON_FIND
  return nullptr;
}

}  // namespace dlpack::python
