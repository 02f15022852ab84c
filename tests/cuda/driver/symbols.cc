// Functions of a driver by name, for tests that call the fake or a real driver directly.
#include <dlfcn.h>

#include <tuple>

#include "state.h"

namespace fake {

using dlpack::cuda::DriverTable;

namespace {

template <class To>
To Convert(uint64_t bits) {
  if constexpr (std::is_pointer<To>::value) {
    return reinterpret_cast<To>(bits);
  } else if constexpr (std::is_class<To>::value) {
    return *reinterpret_cast<const To*>(bits);  // passed by its address
  } else {
    return static_cast<To>(bits);
  }
}

template <class... Parameters, size_t... Indices>
bool Apply(Result (*function)(Parameters...), const std::vector<uint64_t>& arguments, Result* result,
           std::index_sequence<Indices...>) {
  if (arguments.size() != sizeof...(Parameters)) return false;
  *result = function(Convert<Parameters>(arguments[Indices])...);
  return true;
}

template <class... Parameters>
bool Apply(Result (*function)(Parameters...), const std::vector<uint64_t>& arguments, Result* result) {
  return Apply(function, arguments, result, std::index_sequence_for<Parameters...>());
}

}  // namespace

const char* LoadTable(const char* path, Library* library) {
  library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library->handle == nullptr) return "the library";
  DriverTable* const table = &library->table;
#define FAKE_LOAD(name, symbol, parameters)                                              \
  table->name = reinterpret_cast<decltype(table->name)>(dlsym(library->handle, symbol)); \
  if (table->name == nullptr) return symbol;
  DLPACK_CUDA_FUNCTIONS(FAKE_LOAD)
#undef FAKE_LOAD
#define FAKE_LOAD_NEWER(name, symbol, parameters) \
  table->name = reinterpret_cast<decltype(table->name)>(dlsym(library->handle, symbol));
  DLPACK_CUDA_NEWER_FUNCTIONS(FAKE_LOAD_NEWER)
#undef FAKE_LOAD_NEWER
  return nullptr;
}

bool IsSymbol(const std::string& symbol) {
#define FAKE_IS(name, text, parameters) \
  if (symbol == text) return true;
  DLPACK_CUDA_FUNCTIONS(FAKE_IS)
  DLPACK_CUDA_NEWER_FUNCTIONS(FAKE_IS)
#undef FAKE_IS
  return false;
}

bool CallBySymbol(const Library& library, const std::string& symbol, const std::vector<uint64_t>& arguments,
                  Result* result) {
#define FAKE_CALL(name, text, parameters) \
  if (symbol == text && library.table.name != nullptr) return Apply(library.table.name, arguments, result);
  DLPACK_CUDA_FUNCTIONS(FAKE_CALL)
  DLPACK_CUDA_NEWER_FUNCTIONS(FAKE_CALL)
#undef FAKE_CALL
  // On every CUDA platform six integer arguments are passed in registers. A function ignores those that it does not
  // take.
  using Six = Result (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
  const Six function = reinterpret_cast<Six>(dlsym(library.handle, symbol.c_str()));
  if (function == nullptr || arguments.size() > 6) return false;
  std::vector<uint64_t> six = arguments;
  six.resize(6);
  return Apply(function, six, result);
}

}  // namespace fake
