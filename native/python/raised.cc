#include "raised.h"

#include "prelude.h"

namespace dlpack::python {

Raised::Raised() : type_name(nullptr), message(nullptr), traceback(nullptr), exception(nullptr) {
  Object *type = nullptr, *value = nullptr, *trace = nullptr;
  api.PyErr_Fetch(&type, &value, &trace);
  api.PyErr_NormalizeException(&type, &value, &trace);
  Ref type_ref(type), trace_ref(trace);
  exception.reset(value);
  if (type != nullptr) type_name.reset(api.PyObject_GetAttrString(type, "__name__"));
  if (value != nullptr) {
    // So that the exception keeps its traceback when JavaScript raises it again.
    if (trace != nullptr) api.PyException_SetTraceback(value, trace);
    message.reset(api.PyObject_Str(value));
    if (type != nullptr)
      traceback.reset(CallPrelude("format_traceback", type, value, trace == nullptr ? api._Py_NoneStruct : trace));
  }
  api.PyErr_Clear();
}

}  // namespace dlpack::python
