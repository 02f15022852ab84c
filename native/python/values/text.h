// Conversion between Python and JavaScript strings: through UTF-8, or UTF-16 for strings with lone surrogates.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>
#include <stdlib.h>

#include "../interpreter/interpreter.h"
#include "../wire_layout.h"

namespace dlpack::python {

// The characters of a string, or the content of a bytes object.
struct Characters {
  char* data;
  size_t size;  // bytes
  bool is_utf16;
};

// A zero-terminated copy, which the caller frees. `data` is NULL when out of memory, and for NULL. Any thread.
Characters Copy(const Characters& characters);

// The characters of a str, of a bytes object, or of the digits of an int in base 16. GIL held, any thread.
class Text : public Characters {
 public:
  // The object is borrowed and must outlive this. `data` is NULL for NULL and when out of memory; no exception is set.
  explicit Text(Object* object, uint32_t kind = kString);

 private:
  Ref encoded_;
};

// False when the string is too long for JavaScript or memory runs out; no exception is pending then. JavaScript thread,
// no GIL needed.
bool MakeString(napi_env env, const Characters& characters, napi_value* out);

// The str, bytes or int of the characters. NULL with an exception set. GIL held.
Object* MakeObject(const Characters& characters, uint32_t kind);

// The characters of a JavaScript string, zero-terminated: on the stack for a short string, on the heap for a long one.
// For bytes, the memory of a Uint8Array. JavaScript thread, no GIL needed.
class JavaScriptText : public Characters {
 public:
  // `data` is NULL when out of memory.
  JavaScriptText(napi_env env, napi_value value, uint32_t kind = kString);
  ~JavaScriptText() { free(heap_); }
  JavaScriptText(const JavaScriptText&) = delete;
  JavaScriptText& operator=(const JavaScriptText&) = delete;

 private:
  void Reserve(size_t bytes);
  char* heap_ = nullptr;
  alignas(char16_t) char small_[256];
};

}  // namespace dlpack::python
