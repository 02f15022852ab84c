#include "raised.h"

namespace dlpack::python {

// The text that Python would print, or NULL.
static Object* FormatTraceback(Object* type, Object* value, Object* traceback) {
  Ref module(api.PyImport_ImportModule("traceback"));
  Ref format(module ? api.PyObject_GetAttrString(module.get(), "format_exception") : nullptr);
  Ref arguments(api.PyTuple_New(3));
  if (!format || !arguments) return nullptr;
  Object* items[3] = {type, value, traceback == nullptr ? api._Py_NoneStruct : traceback};
  for (int i = 0; i < 3; ++i) {
    api.Py_IncRef(items[i]);
    api.PyTuple_SetItem(arguments.get(), i, items[i]);
  }
  Ref lines(api.PyObject_CallObject(format.get(), arguments.get()));
  Ref empty(api.PyUnicode_FromStringAndSize("", 0));
  Ref join(empty ? api.PyObject_GetAttrString(empty.get(), "join") : nullptr);
  Ref one(api.PyTuple_New(1));
  if (!lines || !join || !one) return nullptr;
  api.PyTuple_SetItem(one.get(), 0, lines.take());
  return api.PyObject_CallObject(join.get(), one.get());
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
