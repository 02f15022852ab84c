#include "raised.h"

#include "calls.h"

namespace dlpack::python {

// The text that Python would print, or NULL.
static Object* FormatTraceback(Object* type, Object* value, Object* traceback) {
  const Ref format(ImportFrom("traceback", "format_exception"));
  const Ref lines(CallWith(format, type, value, traceback == nullptr ? api._Py_NoneStruct : traceback));
  const Ref empty(NewString(""));
  const Ref join(Attribute(empty, "join"));
  return lines ? CallWith(join, lines.get()) : nullptr;
}

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
    if (type != nullptr) traceback.reset(FormatTraceback(type, value, trace));
  }
  api.PyErr_Clear();
}

}  // namespace dlpack::python
