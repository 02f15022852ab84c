#include "api.h"

#include "../../platform/platform.h"

namespace dlpack::python {

Api api;

const char* LoadApi(void* handle) {
#define DLPACK_PYTHON_FIND(result, name, arguments) \
  if (!platform::Find(handle, #name, &api.name)) return #name;
  DLPACK_PYTHON_FUNCTIONS(DLPACK_PYTHON_FIND)
#undef DLPACK_PYTHON_FIND
  platform::Find(handle, "PyObject_Vectorcall", &api.PyObject_Vectorcall);
  if (!platform::Find(handle, "PyThreadState_GetUnchecked", &api.PyThreadState_GetUnchecked))  // from 3.13 on
    platform::Find(handle, "_PyThreadState_UncheckedGet", &api.PyThreadState_GetUnchecked);
  platform::Find(handle, "Py_SetProgramName", &api.Py_SetProgramName);
  platform::Find(handle, "Py_DecodeLocale", &api.Py_DecodeLocale);
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
