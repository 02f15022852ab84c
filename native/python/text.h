// Conversion between Python and JavaScript strings: through UTF-8, or UTF-16 for strings with lone surrogates.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

#include "runtime.h"

namespace dlpack::python {

// The characters of a str. The str must outlive this object. GIL held, any thread.
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

// False when the string is too long for JavaScript or memory runs out; no exception is pending then. JavaScript thread,
// no GIL needed.
bool MakeString(napi_env env, const char* data, size_t size, bool is_utf16, napi_value* out);

// A zero-terminated copy of a JavaScript string, which the caller frees with `free`. False when out of memory.
// JavaScript thread, no GIL needed.
bool CopyString(napi_env env, napi_value string, char** text, size_t* size, bool* is_utf16);

// A str with the characters of a JavaScript string. NULL with an exception set. JavaScript thread, GIL held.
Object* StringToPython(napi_env env, napi_value string);

// An int with the digits of a JavaScript string, in base 16. NULL with an exception set. JavaScript thread, GIL held.
Object* DigitsToPython(napi_env env, napi_value string);

}  // namespace dlpack::python
