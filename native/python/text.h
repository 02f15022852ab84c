// Python strings as JavaScript strings: UTF-8, or UTF-16 where a lone surrogate has no UTF-8.
#ifndef DLPACK_NODE_PYTHON_TEXT_H_
#define DLPACK_NODE_PYTHON_TEXT_H_

#define NAPI_VERSION 8
#include <node_api.h>

#include "runtime.h"

namespace dlpack {
namespace python {

// The characters of a str, which must live as long as this. GIL held, any thread.
class Text {
 public:
  // `str` is borrowed. `data` is NULL for NULL and when out of memory; no exception is set.
  explicit Text(Object* str);
  const char* data;
  size_t size;  // bytes
  bool is_utf16;

 private:
  Ref encoded_;
};

// False where JavaScript has no string of that length, or no memory; nothing is pending then. JavaScript thread, no GIL
// needed.
bool MakeString(napi_env env, const char* data, size_t size, bool is_utf16, napi_value* out);

// A copy of a JavaScript string in new memory, with a zero behind it, for `free`. False when out of memory. JavaScript
// thread, no GIL needed.
bool CopyString(napi_env env, napi_value string, char** text, size_t* size, bool* is_utf16);

// A str with the characters of a JavaScript string. NULL with an exception set. JavaScript thread, GIL held.
Object* StringToPython(napi_env env, napi_value string);

// An int with the digits of a JavaScript string, in base 16. NULL with an exception set. JavaScript thread, GIL held.
Object* DigitsToPython(napi_env env, napi_value string);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_TEXT_H_
