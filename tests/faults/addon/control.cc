// A small addon through which tests control the allocations of an addon built with allocations.cc.
#include <dlfcn.h>
#include <node_api.h>

#include "faults.h"

static Faults* faults;

static napi_value Number(napi_env env, double value) {
  napi_value result = nullptr;
  napi_create_double(env, value, &result);
  return result;
}

// open(path): true if the addon counts its allocations.
static napi_value Open(napi_env env, napi_callback_info info) {
  napi_value argument, result = nullptr;
  size_t count = 1, length = 0;
  char path[4096];
  napi_get_cb_info(env, info, &count, &argument, nullptr, nullptr);
  napi_get_value_string_utf8(env, argument, path, sizeof(path), &length);
  void* library = dlopen(path, RTLD_LAZY);
  if (library != nullptr) faults = static_cast<Faults*>(dlsym(library, "dlpack_faults"));
  napi_get_boolean(env, faults != nullptr, &result);
  return result;
}

// failAt(n): the nth request from now on fails.
static napi_value FailAt(napi_env env, napi_callback_info info) {
  napi_value argument;
  size_t count = 1;
  int64_t number = 0;
  napi_get_cb_info(env, info, &count, &argument, nullptr, nullptr);
  napi_get_value_int64(env, argument, &number);
  faults->fail_at.store(0);
  faults->requests.store(0);
  faults->failures.store(0);
  faults->fail_at.store(number);
  return nullptr;
}

static napi_value Requests(napi_env env, napi_callback_info) {
  return Number(env, static_cast<double>(faults->requests.load()));
}
static napi_value Failures(napi_env env, napi_callback_info) {
  return Number(env, static_cast<double>(faults->failures.load()));
}
static napi_value Live(napi_env env, napi_callback_info) {
  return Number(env, static_cast<double>(faults->live.load()));
}

NAPI_MODULE_INIT() {
  const struct {
    const char* name;
    napi_callback function;
  } functions[] = {{"open", Open}, {"failAt", FailAt}, {"requests", Requests}, {"failures", Failures}, {"live", Live}};
  for (const auto& entry : functions) {
    napi_value function;
    napi_create_function(env, entry.name, NAPI_AUTO_LENGTH, entry.function, nullptr, &function);
    napi_set_named_property(env, exports, entry.name, function);
  }
  return exports;
}
