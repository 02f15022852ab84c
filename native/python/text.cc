#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"

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

napi_status Read(napi_env env, napi_value string, char* out, size_t room, size_t* length) {
  return napi_get_value_string_utf8(env, string, out, room, length);
}
napi_status Read(napi_env env, napi_value string, char16_t* out, size_t room, size_t* length) {
  return napi_get_value_string_utf16(env, string, out, room, length);
}

// The characters of a JavaScript string, zero-terminated: on the stack for a short string, on the heap for a long one.
template <class Character>
class Characters {
 public:
  Characters(napi_env env, napi_value string) : data(small_), length(0) {
    if (Read(env, string, static_cast<Character*>(nullptr), 0, &length) != napi_ok) {
      data = Raise(api.PyExc_TypeError, "Expected a string");
      return;
    }
    if (length >= kSmall) data = static_cast<Character*>(malloc(sizeof(Character) * (length + 1)));
    if (data == nullptr) {
      Raise(api.PyExc_RuntimeError, "Out of memory for a string");
    } else {
      Read(env, string, data, length + 1, &length);
    }
  }
  ~Characters() {
    if (data != small_) free(data);
  }
  Characters(const Characters&) = delete;
  Characters& operator=(const Characters&) = delete;
  Character* data;  // NULL with an exception set
  size_t length;

 private:
  static const size_t kSmall = 256;
  Character small_[kSmall];
};

// In UTF-8, Node-API replaces lone surrogates with U+FFFD.
bool HasReplacement(const char* text, size_t size) {
  for (const char* at = text; (at = static_cast<const char*>(memchr(at, '\xef', size - (at - text)))) != nullptr;
       ++at) {
    if (size - static_cast<size_t>(at - text) >= 3 && at[1] == '\xbf' && at[2] == '\xbd') return true;
  }
  return false;
}

Object* Utf16ToPython(napi_env env, napi_value string) {
  const Characters<char16_t> characters(env, string);
  if (characters.data == nullptr) return nullptr;
  int byte_order = -1;  // little-endian
  return api.PyUnicode_DecodeUTF16(reinterpret_cast<const char*>(characters.data),
                                   static_cast<ptrdiff_t>(2 * characters.length), "surrogatepass", &byte_order);
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
  const Characters<char> characters(env, string);
  if (characters.data == nullptr) return nullptr;
  if (HasReplacement(characters.data, characters.length)) return Utf16ToPython(env, string);
  return api.PyUnicode_FromStringAndSize(characters.data, static_cast<ptrdiff_t>(characters.length));
}

Object* DigitsToPython(napi_env env, napi_value string) {
  const Characters<char> characters(env, string);
  return characters.data == nullptr ? nullptr : api.PyLong_FromString(characters.data, nullptr, 16);
}

}  // namespace dlpack::python
