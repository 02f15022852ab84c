import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

/**
 * The symbols that the addon loads from libpython. One addon serves every CPython from 3.9 on, so each name must be in the stable ABI
 * of 3.9 (Doc/data/stable_abi.dat of CPython says since when), or be in this list with the version that guards it.
 */
const stableSince: Record<string, string> = {
  '3.2':
    'PyBool_FromLong PyBool_Type PyBytes_AsStringAndSize PyBytes_FromStringAndSize PyBytes_Type PyCFunction_NewEx PyCallable_Check PyCapsule_GetContext PyCapsule_GetName ' +
    'PyCapsule_GetPointer PyCapsule_IsValid PyCapsule_New PyCapsule_SetContext PyCapsule_SetName PyCapsule_Type PyDict_DelItem PyDict_GetItemString PyDict_GetItemWithError PyDict_New PyDict_Next ' +
    'PyDict_SetItem PyDict_SetItemString PyDict_Size PyDict_Type PyErr_Clear PyErr_ExceptionMatches PyErr_Fetch PyErr_NewExceptionWithDoc ' +
    'PyErr_NormalizeException PyErr_Occurred PyErr_Restore PyErr_SetObject PyErr_SetString PyEval_RestoreThread ' +
    'PyEval_SaveThread PyExc_AttributeError PyExc_BaseException PyExc_BufferError PyExc_OverflowError PyExc_RuntimeError PyExc_TypeError ' +
    'PyExc_ValueError PyException_SetTraceback PyFloat_AsDouble PyFloat_FromDouble PyFloat_Type PyGILState_Ensure ' +
    'PyGILState_Release PyImport_ImportModule PyIter_Next PyList_GetItem PyList_New PyList_SetItem PyList_Size PyList_Type PyLong_AsLongLongAndOverflow ' +
    'PyLong_AsVoidPtr PyLong_FromLongLong PyLong_FromString PyLong_FromVoidPtr PyLong_Type PyNumber_ToBase PyObject_Call PyObject_CallObject ' +
    'PyObject_ClearWeakRefs PyObject_Free PyObject_GetAttr PyObject_GetAttrString PyObject_GetItem PyObject_GetIter ' +
    'PyObject_IsInstance PyObject_IsTrue PyObject_SetAttr PyObject_SetAttrString PyObject_SetItem PyObject_Str PyObject_Type ' +
    'PySet_New PyTuple_GetItem PyTuple_New PyTuple_SetItem PyTuple_Size PyTuple_Type PyType_FromSpec PyType_GenericAlloc ' +
    'PyType_GetFlags PyType_IsSubtype PyType_Type PyUnicode_AsEncodedString PyUnicode_Compare PyUnicode_DecodeUTF16 PyUnicode_FromStringAndSize PyUnicode_InternFromString ' +
    'PyUnicode_InternInPlace PyUnicode_Type PyWeakref_NewRef Py_DecRef Py_IncRef Py_InitializeEx Py_IsInitialized ' +
    '_Py_FalseStruct _Py_NoneStruct _Py_TrueStruct',
  '3.4': 'PyType_GetSlot',
  // In the library of every CPython from 3.9 on; promised by the stable ABI since then.
  '3.10': 'PyUnicode_AsUTF8AndSize',
  '3.12': 'PyObject_Vectorcall PyObject_VectorcallMethod',
};
/** Optional symbols, which the addon works without. */
const optional: Record<string, string> = {
  PyObject_Vectorcall: 'of 3.9 and later; else PyObject_Call',
  PyThreadState_GetUnchecked: 'of 3.13 and later; else _PyThreadState_UncheckedGet',
  _PyThreadState_UncheckedGet: 'of 3.9 to 3.12; else PyGILState_Ensure',
  Py_SetProgramName: 'until 3.13; later the paths of the virtual environment are added by hand',
  Py_DecodeLocale: 'for Py_SetProgramName',
};

test('libpython is used through the stable ABI only', () => {
  const read = (file: string) =>
    readFileSync(fileURLToPath(new URL(`../../../native/python/interpreter/${file}`, import.meta.url)), 'utf8');
  const header = read('api.h');
  const tables = header.slice(header.indexOf('#define DLPACK_PYTHON_FUNCTIONS'), header.indexOf('struct Api'));
  const required = [...tables.matchAll(/F\((?:[^,()]+, )?(_?Py\w+), /g)].map((match) => match[1] as string);
  ok(required.length > 60, `${required.length} names`);
  const stable = new Set(Object.values(stableSince).flatMap((names) => names.split(' ')));
  equal(
    required.filter((name) => !stable.has(name)),
    [],
    'these are not known to be in the stable ABI',
  );
  const named = [...read('api.cc').matchAll(/dlsym\(handle, "(\w+)"\)/g)].map((match) => match[1] as string);
  equal(
    named.filter((name) => !(name in optional)),
    [],
  );
});
