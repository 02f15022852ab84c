#include "text.h"

#include "../../exports.h"
#include "../objects/calls.h"

namespace dlpack::python {

Characters Copy(const Characters& characters) {
  const size_t end = sizeof(char16_t);
  Characters copy = characters;
  copy.data = characters.data == nullptr ? nullptr : static_cast<char*>(malloc(characters.size + end));
  if (copy.data == nullptr) return copy;
  memcpy(copy.data, characters.data, copy.size);
  memset(copy.data + copy.size, 0, end);
  return copy;
}

Text::Text(Object* object, uint32_t kind) : Characters{nullptr, 0, false}, encoded_(nullptr) {
  if (object == nullptr) return;
  ptrdiff_t length = 0;
  if (kind == kBytes) {
    api.PyBytes_AsStringAndSize(object, &data, &length);
  } else {
    if (kind == kBigInt) encoded_.reset(object = api.PyNumber_ToBase(object, 16));
    data = object == nullptr ? nullptr : const_cast<char*>(api.PyUnicode_AsUTF8AndSize(object, &length));
  }
  if (data == nullptr && kind == kString) {
    api.PyErr_Clear();
    encoded_.reset(api.PyUnicode_AsEncodedString(object, "utf-16-le", "surrogatepass"));
    if (encoded_) api.PyBytes_AsStringAndSize(encoded_.get(), &data, &length);
    is_utf16 = true;
  }
  if (data == nullptr) api.PyErr_Clear();
  size = static_cast<size_t>(length);
}

bool MakeString(napi_env env, const Characters& characters, napi_value* out) {
  const auto [data, size, is_utf16] = characters;
  const napi_status status = data == nullptr ? napi_generic_failure
                             : is_utf16
                                 ? napi_create_string_utf16(env, reinterpret_cast<const char16_t*>(data), size / 2, out)
                                 : napi_create_string_utf8(env, data, size, out);
  return status == napi_ok || ClearException(env);
}

Object* MakeObject(const Characters& characters, uint32_t kind) {
  const char* data = characters.data;
  const auto size = static_cast<ptrdiff_t>(characters.size);
  int byte_order = -1;  // little-endian
  if (data == nullptr) return Raise(api.PyExc_RuntimeError, "Out of memory for a string");
  if (kind == kBytes) return api.PyBytes_FromStringAndSize(data, size);
  if (kind == kBigInt) return api.PyLong_FromString(data, nullptr, 16);
  return characters.is_utf16 ? api.PyUnicode_DecodeUTF16(data, size, "surrogatepass", &byte_order)
                             : api.PyUnicode_FromStringAndSize(data, size);
}

// In UTF-8, Node-API replaces lone surrogates with U+FFFD.
static bool HasReplacement(const char* text, size_t size) {
  for (const char* at = text; (at = static_cast<const char*>(memchr(at, '\xef', size - (at - text)))) != nullptr;
       ++at) {
    if (size - static_cast<size_t>(at - text) >= 3 && at[1] == '\xbf' && at[2] == '\xbd') return true;
  }
  return false;
}

JavaScriptText::JavaScriptText(napi_env env, napi_value string, uint32_t kind) : Characters{nullptr, 0, false} {
  if (kind == kBytes) {
    const Elements<uint8_t> bytes(env, string);
    data = bytes.length == 0 ? small_ : reinterpret_cast<char*>(bytes.data);
    size = bytes.length;
    return;
  }
  size_t length = 0;
  if (napi_get_value_string_utf8(env, string, nullptr, 0, &length) != napi_ok) return;
  Reserve(length + 1);
  if (data == nullptr) return;
  napi_get_value_string_utf8(env, string, data, length + 1, &size);
  if (!HasReplacement(data, size)) return;
  napi_get_value_string_utf16(env, string, nullptr, 0, &length);
  Reserve(sizeof(char16_t) * (length + 1));
  if (data == nullptr) return;
  napi_get_value_string_utf16(env, string, reinterpret_cast<char16_t*>(data), length + 1, &length);
  size = sizeof(char16_t) * length;
  is_utf16 = true;
}

void JavaScriptText::Reserve(size_t bytes) {
  free(heap_);
  const bool is_small = bytes <= sizeof(small_);
  heap_ = is_small ? nullptr : static_cast<char*>(malloc(bytes));
  data = is_small ? small_ : heap_;
}

}  // namespace dlpack::python
