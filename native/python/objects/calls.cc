#include "calls.h"

#include "../interpreter/prelude.h"

namespace dlpack::python {

// For versions of Python without vectorcall.
static Object* CallTuple(Object* callable, Object** arguments, size_t positional, Object* names) {
  Ref tuple(MakeTuple(static_cast<ptrdiff_t>(positional), [&](ptrdiff_t i) { return NewRef(arguments[i]); }));
  if (!tuple) return nullptr;
  const Ref dict(names == nullptr ? nullptr : api.PyDict_New());
  if (names != nullptr && !dict) return nullptr;
  for (ptrdiff_t i = 0; names != nullptr && i < api.PyTuple_Size(names); ++i) {
    if (api.PyDict_SetItem(dict.get(), api.PyTuple_GetItem(names, i), arguments[positional + i]) != 0) return nullptr;
  }
  return api.PyObject_Call(callable, tuple.get(), dict.get());
}

Object* CallVector(Object* callable, Object** arguments, size_t positional, Object* names) {
  if (api.PyObject_Vectorcall == nullptr) return CallTuple(callable, arguments, positional, names);
  const size_t kOffset = size_t{1} << (8 * sizeof(size_t) - 1);  // PY_VECTORCALL_ARGUMENTS_OFFSET
  return api.PyObject_Vectorcall(callable, arguments, positional | kOffset, names);
}

Raised::Raised() : type_name(nullptr), message(nullptr), traceback(nullptr), exception(nullptr) {
  Object *type = nullptr, *value = nullptr, *trace = nullptr;
  api.PyErr_Fetch(&type, &value, &trace);
  api.PyErr_NormalizeException(&type, &value, &trace);
  Ref type_ref(type), trace_ref(trace);
  exception.reset(value);
  if (type != nullptr) type_name.reset(api.PyObject_GetAttrString(type, "__name__"));
  api.PyErr_Clear();  // code of an exception or its class may raise, and no code may run with an exception set
  if (value != nullptr) {
    // So that the exception keeps its traceback when JavaScript raises it again.
    if (trace != nullptr) api.PyException_SetTraceback(value, trace);
    message.reset(api.PyObject_Str(value));
    if (!message) {
      api.PyErr_Clear();
      message.reset(NewString("<exception str() failed>"));  // as Python prints it
    }
    if (type != nullptr)
      traceback.reset(CallPrelude("take_traceback", type, value, trace == nullptr ? api._Py_NoneStruct : trace));
  }
  api.PyErr_Clear();
}

bool ReadPair(Object* tuple, long long* first, long long* second) {
  return api.PyType_IsSubtype(TypeOf(tuple), api.PyTuple_Type) && api.PyTuple_Size(tuple) == 2 &&
         ReadInteger(api.PyTuple_GetItem(tuple, 0), first) && ReadInteger(api.PyTuple_GetItem(tuple, 1), second);
}

}  // namespace dlpack::python
