// Integers beyond 64 bits: words of two's complement in TVM-FFI, a sign and words of the magnitude in Node-API.
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include <algorithm>

#include "../../bindings.h"
#include "../context.h"

namespace dlpack::tvm_ffi {

// Changes the sign of a number of `count` words, least significant first.
inline void Negate(uint64_t* words, size_t count) {
  bool carry = true;
  for (size_t i = 0; i < count; ++i) {
    words[i] = ~words[i] + (carry ? 1 : 0);
    carry = carry && words[i] == 0;
  }
}

// A bigint of JavaScript as a value, which the caller owns. Returns 0, or -1 with an error raised.
inline int MakeInteger(napi_env env, napi_value bigint, TVMFFIAny* out) {
  if (library.BigIntFromByteArray == nullptr) {
    return Raise("OverflowError", "Expected an integer of at most 64 bits: this version of TVM-FFI has no larger ones");
  }
  size_t count = 0;
  if (napi_get_value_bigint_words(env, bigint, nullptr, &count, nullptr) != napi_ok) {
    return Raise("TypeError", "Expected a bigint");
  }
  // One more word than the magnitude has, for the sign.
  uint64_t* words = static_cast<uint64_t*>(calloc(count + 1, sizeof(uint64_t)));
  if (words == nullptr) return OutOfMemory();
  int is_negative = 0;
  napi_get_value_bigint_words(env, bigint, &is_negative, &count, words);
  if (is_negative != 0) Negate(words, count + 1);
  const TVMFFIByteArray bytes{reinterpret_cast<const char*>(words), (count + 1) * sizeof(uint64_t)};
  const int status = library.BigIntFromByteArray(&bytes, out);
  free(words);
  return status;
}

// The bigint of an integer object; NULL when JavaScript has no room for it.
inline napi_value TakeInteger(napi_env env, const TVMFFIAny& value) {
  const TVMFFIByteArray bytes = library.BigIntGetContentByteArray(&value);
  const uint64_t* given = reinterpret_cast<const uint64_t*>(bytes.data);
  const size_t count = bytes.size / sizeof(uint64_t);
  uint64_t* words = static_cast<uint64_t*>(malloc(std::max(bytes.size, sizeof(uint64_t))));
  if (words == nullptr) return nullptr;
  std::copy(given, given + count, words);
  const bool is_negative = count > 0 && static_cast<int64_t>(given[count - 1]) < 0;
  if (is_negative) Negate(words, count);
  napi_value made = nullptr;
  napi_create_bigint_words(env, is_negative ? 1 : 0, count, words, &made);
  free(words);
  return made;
}

}  // namespace dlpack::tvm_ffi
