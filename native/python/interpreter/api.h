// The part of CPython's stable ABI that this addon uses, found at run time. One build works with every CPython from 3.9
// on, and neither the build nor a program without Python needs CPython.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../hidden.h"

namespace dlpack::python {

struct Object;  // PyObject

typedef Object* (*FastCall)(Object* self, Object* const* arguments, ptrdiff_t count, Object* names);

// PyMethodDef, PyMemberDef, PyType_Slot, PyType_Spec and Py_buffer, by their layout in the stable ABI.
struct MethodDef {
  const char* name;
  void* function;
  int flags;
  const char* doc;
};
struct MemberDef {
  const char* name;
  int type;
  ptrdiff_t offset;
  int flags;
  const char* doc;
};
struct TypeSlot {
  int slot;
  void* value;
};
struct TypeSpec {
  const char* name;
  int basicsize;
  int itemsize;
  unsigned int flags;
  TypeSlot* slots;
};
struct Buffer {
  void* buf;
  Object* obj;
  ptrdiff_t len;
  ptrdiff_t itemsize;
  int readonly;
  int ndim;
  char* format;
  ptrdiff_t* shape;
  ptrdiff_t* strides;
  ptrdiff_t* suboffsets;
  void* internal;
};

// One row for each function: result, name, arguments. Those that most operations call come first.
#define DLPACK_PYTHON_FUNCTIONS(F)                                                  \
  F(void, Py_IncRef, (Object*))                                                     \
  F(void, Py_DecRef, (Object*)) /* NULL is allowed */                               \
  F(Object*, PyEval_SaveThread, (void))                                             \
  F(void, PyEval_RestoreThread, (Object*))                                          \
  F(Object*, PyErr_Occurred, (void))                                                \
  F(int, Py_IsInitialized, (void))                                                  \
  F(void, Py_InitializeEx, (int))                                                   \
  F(int, PyGILState_Ensure, (void))                                                 \
  F(void, PyGILState_Release, (int))                                                \
  F(Object*, PyImport_ImportModule, (const char*))                                  \
  F(Object*, PyObject_GetAttr, (Object*, Object*))                                  \
  F(Object*, PyObject_GetAttrString, (Object*, const char*))                        \
  F(int, PyObject_SetAttr, (Object*, Object*, Object*))                             \
  F(Object*, PyObject_Call, (Object*, Object*, Object*))                            \
  F(Object*, PyObject_VectorcallMethod, (Object*, Object* const*, size_t, Object*)) \
  F(Object*, PyObject_Str, (Object*))                                               \
  F(Object*, PyObject_GetItem, (Object*, Object*))                                  \
  F(int, PyObject_SetItem, (Object*, Object*, Object*))                             \
  F(Object*, PyObject_GetIter, (Object*))                                           \
  F(Object*, PyIter_Next, (Object*))                                                \
  F(Object*, PyLong_FromLongLong, (long long))                                      \
  F(Object*, PyLong_FromString, (const char*, char**, int))                         \
  F(Object*, PyLong_FromVoidPtr, (void*))                                           \
  F(void*, PyLong_AsVoidPtr, (Object*))                                             \
  F(long long, PyLong_AsLongLongAndOverflow, (Object*, int*))                       \
  F(Object*, PyNumber_ToBase, (Object*, int))                                       \
  F(Object*, PyFloat_FromDouble, (double))                                          \
  F(double, PyFloat_AsDouble, (Object*))                                            \
  F(Object*, PyBool_FromLong, (long))                                               \
  F(Object*, PyUnicode_FromStringAndSize, (const char*, ptrdiff_t))                 \
  F(Object*, PyUnicode_InternFromString, (const char*))                             \
  F(const char*, PyUnicode_AsUTF8AndSize, (Object*, ptrdiff_t*))                    \
  F(Object*, PyUnicode_AsEncodedString, (Object*, const char*, const char*))        \
  F(Object*, PyUnicode_DecodeUTF16, (const char*, ptrdiff_t, const char*, int*))    \
  F(void, PyUnicode_InternInPlace, (Object**))                                      \
  F(int, PyUnicode_Compare, (Object*, Object*))                                     \
  F(Object*, PyBytes_FromStringAndSize, (const char*, ptrdiff_t))                   \
  F(int, PyBytes_AsStringAndSize, (Object*, char**, ptrdiff_t*))                    \
  F(Object*, PyTuple_New, (ptrdiff_t))                                              \
  F(int, PyTuple_SetItem, (Object*, ptrdiff_t, Object*))                            \
  F(Object*, PyTuple_GetItem, (Object*, ptrdiff_t))                                 \
  F(ptrdiff_t, PyTuple_Size, (Object*))                                             \
  F(Object*, PyList_New, (ptrdiff_t))                                               \
  F(int, PyList_SetItem, (Object*, ptrdiff_t, Object*))                             \
  F(Object*, PySet_New, (Object*))                                                  \
  F(Object*, PyDict_New, (void))                                                    \
  F(int, PyDict_SetItem, (Object*, Object*, Object*))                               \
  F(Object*, PyDict_GetItemWithError, (Object*, Object*))                           \
  F(int, PyDict_SetItemString, (Object*, const char*, Object*))                     \
  F(int, PyDict_Next, (Object*, ptrdiff_t*, Object**, Object**))                    \
  F(int, PyDict_DelItem, (Object*, Object*))                                        \
  F(ptrdiff_t, PyDict_Size, (Object*))                                              \
  F(Object*, PyCFunction_NewEx, (MethodDef*, Object*, Object*))                     \
  F(Object*, PyCapsule_New, (void*, const char*, void (*)(Object*)))                \
  F(void*, PyCapsule_GetPointer, (Object*, const char*))                            \
  F(int, PyCapsule_IsValid, (Object*, const char*))                                 \
  F(int, PyCapsule_SetName, (Object*, const char*))                                 \
  F(int, PyCapsule_SetContext, (Object*, void*))                                    \
  F(void*, PyCapsule_GetContext, (Object*))                                         \
  F(void, PyErr_Fetch, (Object**, Object**, Object**))                              \
  F(void, PyErr_NormalizeException, (Object**, Object**, Object**))                 \
  F(void, PyErr_Restore, (Object*, Object*, Object*))                               \
  F(void, PyErr_Clear, (void))                                                      \
  F(int, PyErr_ExceptionMatches, (Object*))                                         \
  F(void, PyErr_SetString, (Object*, const char*))                                  \
  F(void, PyErr_SetObject, (Object*, Object*))                                      \
  F(int, PyException_SetTraceback, (Object*, Object*))                              \
  F(Object*, PyType_FromSpec, (TypeSpec*))                                          \
  F(Object*, PyType_GenericAlloc, (Object*, ptrdiff_t))                             \
  F(void*, PyType_GetSlot, (Object*, int))                                          \
  F(Object*, PyWeakref_NewRef, (Object*, Object*))                                  \
  F(int, PyType_IsSubtype, (Object*, Object*))                                      \
  F(void, PyObject_ClearWeakRefs, (Object*))                                        \
  F(void, PyObject_Free, (void*))

// Objects that the library exports: the name, and whether the symbol is the object or a pointer to it.
// clang-format off: its layout changes each time it runs.
#define DLPACK_PYTHON_OBJECTS(F) \
  F(_Py_NoneStruct, false) \
  F(_Py_TrueStruct, false) \
  F(_Py_FalseStruct, false) \
  F(PyLong_Type, false) \
  F(PyFloat_Type, false) \
  F(PyUnicode_Type, false) \
  F(PyBytes_Type, false) \
  F(PyBool_Type, false) \
  F(PyTuple_Type, false) \
  F(PyCapsule_Type, false) \
  F(PyType_Type, false) \
  F(PyExc_BufferError, true) \
  F(PyExc_TypeError, true) \
  F(PyExc_ValueError, true) \
  F(PyExc_RuntimeError, true) \
  F(PyExc_OverflowError, true) \
  F(PyExc_AttributeError, true) \
  F(PyExc_BaseException, true)
// clang-format on

// What most operations use fits into one cache line.
struct alignas(64) Api {
  // Size of the object header: 16 bytes, or 32 in a free-threaded build.
  size_t head_size;
  // In the stable ABI since 3.12, but older versions export it too. NULL where it is missing.
  Object* (*PyObject_Vectorcall)(Object*, Object* const*, size_t, Object*);
  // The thread state that holds the GIL, or that of this thread, from 3.12 on. NULL where it is missing.
  Object* (*PyThreadState_GetUnchecked)(void);
#define DLPACK_PYTHON_MEMBER(result, name, arguments) result(*name) arguments;
  DLPACK_PYTHON_FUNCTIONS(DLPACK_PYTHON_MEMBER)
#undef DLPACK_PYTHON_MEMBER
#define DLPACK_PYTHON_MEMBER(name, indirect) Object* name;
  DLPACK_PYTHON_OBJECTS(DLPACK_PYTHON_MEMBER)
#undef DLPACK_PYTHON_MEMBER
  // Up to 3.13; NULL in later versions.
  void (*Py_SetProgramName)(const wchar_t*);
  wchar_t* (*Py_DecodeLocale)(const char*, size_t*);
};

// Filled by LoadApi, read-only afterwards.
DLPACK_HIDDEN extern Api api;

// Finds every symbol. Returns the name of the first missing symbol, or NULL. `handle` comes from platform::OpenLibrary.
const char* LoadApi(void* handle);

// The type of an object without a reference. The header is {count, type}. It is longer in free-threaded builds, but the
// type is still last.
inline Object* TypeOf(Object* object) {
  return *reinterpret_cast<Object**>(reinterpret_cast<char*>(object) + api.head_size - sizeof(void*));
}

}  // namespace dlpack::python
