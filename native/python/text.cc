#include "text.h"

#include <stdlib.h>
#include <string.h>

namespace dlpack::python {

Text::Text(Object* str) : data(nullptr), size(0), is_utf16(false), encoded_(nullptr) {
  if (str == nullptr) return;
  ptrdiff_t length = 0;
  data = api.PyUnicode_AsUTF8AndSize(str, &length);
  if (data == nullptr) {
    api.PyErr_Clear();
    encoded_.reset(api.PyUnicode_AsEncodedString(str, "utf-16-le", "surrogatepass"));
    char* bytes = nullptr;
    if (encoded_ && api.PyBytes_AsStringAndSize(encoded_.get(), &bytes, &length) == 0) data = bytes;
    is_utf16 = true;
    api.PyErr_Clear();
  }
  size = static_cast<size_t>(length);
}

bool MakeString(napi_env env, const char* data, size_t size, bool is_utf16, napi_value* out) {
  const napi_status status = data == nullptr ? napi_generic_failure
                             : is_utf16
                                 ? napi_create_string_utf16(env, reinterpret_cast<const char16_t*>(data), size / 2, out)
                                 : napi_create_string_utf8(env, data, size, out);
  if (status == napi_ok) return true;
  bool is_pending = false;
  napi_value thrown;
  if (napi_is_exception_pending(env, &is_pending) == napi_ok && is_pending) {
    napi_get_and_clear_last_exception(env, &thrown);
  }
  return false;
}

namespace {

// Memory for a text: on the stack for a short text, on the heap for a long text.
template <class Character>
class Characters {
 public:
  explicit Characters(size_t length)
      : data(length < kSmall ? small_ : static_cast<Character*>(malloc(sizeof(Character) * (length + 1)))) {}
  ~Characters() {
    if (data != small_) free(data);
  }
  Characters(const Characters&) = delete;
  Characters& operator=(const Characters&) = delete;
  Character* data;  // NULL when out of memory

 private:
  static const size_t kSmall = 256;
  Character small_[kSmall];
};

Object* RaiseNoMemory() {
  api.PyErr_SetString(api.PyExc_RuntimeError, "Out of memory for a string");
  return nullptr;
}

Object* RaiseNoString() {
  api.PyErr_SetString(api.PyExc_TypeError, "Expected a string");
  return nullptr;
}

// In UTF-8, Node-API replaces lone surrogates with U+FFFD.
bool HasReplacement(const char* text, size_t size) {
  for (const char* at = text; (at = static_cast<const char*>(memchr(at, '\xef', size - (at - text)))) != nullptr;
       ++at) {
    if (size - static_cast<size_t>(at - text) >= 3 && at[1] == '\xbf' && at[2] == '\xbd') return true;
  }
  return false;
}

Object* Utf16ToPython(napi_env env, napi_value string) {
  size_t length = 0;
  if (napi_get_value_string_utf16(env, string, nullptr, 0, &length) != napi_ok) return RaiseNoString();
  Characters<char16_t> characters(length);
  if (characters.data == nullptr) return RaiseNoMemory();
  napi_get_value_string_utf16(env, string, characters.data, length + 1, &length);
  int byte_order = -1;  // little-endian
  return api.PyUnicode_DecodeUTF16(reinterpret_cast<const char*>(characters.data), static_cast<ptrdiff_t>(2 * length),
                                   "surrogatepass", &byte_order);
}

}  // namespace

bool CopyString(napi_env env, napi_value string, char** text, size_t* size, bool* is_utf16) {
  size_t length = 0;
  *text = nullptr;
  *is_utf16 = false;
  if (napi_get_value_string_utf8(env, string, nullptr, 0, &length) != napi_ok) return false;
  *text = static_cast<char*>(malloc(length + 1));
  if (*text == nullptr) return false;
  napi_get_value_string_utf8(env, string, *text, length + 1, size);
  if (!HasReplacement(*text, *size)) return true;
  free(*text);
  *text = nullptr;
  napi_get_value_string_utf16(env, string, nullptr, 0, &length);
  char16_t* characters = static_cast<char16_t*>(malloc(sizeof(char16_t) * (length + 1)));
  if (characters == nullptr) return false;
  napi_get_value_string_utf16(env, string, characters, length + 1, &length);
  *text = reinterpret_cast<char*>(characters);
  *size = sizeof(char16_t) * length;
  *is_utf16 = true;
  return true;
}

Object* StringToPython(napi_env env, napi_value string) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, string, nullptr, 0, &length) != napi_ok) return RaiseNoString();
  Characters<char> characters(length);
  if (characters.data == nullptr) return RaiseNoMemory();
  napi_get_value_string_utf8(env, string, characters.data, length + 1, &length);
  if (HasReplacement(characters.data, length)) return Utf16ToPython(env, string);
  return api.PyUnicode_FromStringAndSize(characters.data, static_cast<ptrdiff_t>(length));
}

Object* DigitsToPython(napi_env env, napi_value string) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, string, nullptr, 0, &length) != napi_ok) return RaiseNoString();
  Characters<char> characters(length);
  if (characters.data == nullptr) return RaiseNoMemory();
  napi_get_value_string_utf8(env, string, characters.data, length + 1, &length);
  return api.PyLong_FromString(characters.data, nullptr, 16);
}

}  // namespace dlpack::python
