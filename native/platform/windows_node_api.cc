// Node-API on Windows. An addon that imports functions from node.exe fails in a program with another name (Electron,
// single executables), and delay loading needs a linker hook. Calls go through pointers with the names that the linker
// expects. This file defines the pointers and fills them from the running program when the addon is loaded.
#if defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

// The functions that the addon calls.
// clang-format off: one name on each line.
#define DLPACK_NODE_API(F) \
  F(napi_add_env_cleanup_hook) \
  F(napi_adjust_external_memory) \
  F(napi_call_function) \
  F(napi_call_threadsafe_function) \
  F(napi_check_object_type_tag) \
  F(napi_close_handle_scope) \
  F(napi_create_array) \
  F(napi_create_array_with_length) \
  F(napi_create_arraybuffer) \
  F(napi_create_async_work) \
  F(napi_create_bigint_int64) \
  F(napi_create_bigint_uint64) \
  F(napi_create_bigint_words) \
  F(napi_create_double) \
  F(napi_create_external) \
  F(napi_create_external_arraybuffer) \
  F(napi_create_function) \
  F(napi_create_object) \
  F(napi_create_promise) \
  F(napi_create_reference) \
  F(napi_create_string_latin1) \
  F(napi_create_string_utf16) \
  F(napi_create_string_utf8) \
  F(napi_create_threadsafe_function) \
  F(napi_create_typedarray) \
  F(napi_create_uint32) \
  F(napi_delete_async_work) \
  F(napi_delete_reference) \
  F(napi_detach_arraybuffer) \
  F(napi_get_and_clear_last_exception) \
  F(napi_get_array_length) \
  F(napi_get_arraybuffer_info) \
  F(napi_get_boolean) \
  F(napi_get_cb_info) \
  F(napi_get_element) \
  F(napi_get_named_property) \
  F(napi_get_null) \
  F(napi_get_reference_value) \
  F(napi_get_typedarray_info) \
  F(napi_get_undefined) \
  F(napi_get_value_bigint_uint64) \
  F(napi_get_value_bigint_words) \
  F(napi_get_value_bool) \
  F(napi_get_value_double) \
  F(napi_get_value_external) \
  F(napi_get_value_int32) \
  F(napi_get_value_int64) \
  F(napi_get_value_string_latin1) \
  F(napi_get_value_string_utf16) \
  F(napi_get_value_string_utf8) \
  F(napi_get_value_uint32) \
  F(napi_is_detached_arraybuffer) \
  F(napi_is_exception_pending) \
  F(napi_open_handle_scope) \
  F(napi_queue_async_work) \
  F(napi_ref_threadsafe_function) \
  F(napi_resolve_deferred) \
  F(napi_set_element) \
  F(napi_set_named_property) \
  F(napi_throw_error) \
  F(napi_type_tag_object) \
  F(napi_typeof) \
  F(napi_unref_threadsafe_function)
// clang-format on

namespace {

// Replaces functions that the program lacks. Returns napi_generic_failure.
int Missing() { return 9; }

}  // namespace

extern "C" {
#define DLPACK_DEFINE(name) void* __imp_##name = reinterpret_cast<void*>(Missing);
DLPACK_NODE_API(DLPACK_DEFINE)
#undef DLPACK_DEFINE
}

namespace {

struct FillPointers {
  FillPointers() {
    HMODULE program = GetModuleHandleW(nullptr);
#define DLPACK_FILL(name) \
  if (FARPROC function = GetProcAddress(program, #name)) __imp_##name = reinterpret_cast<void*>(function);
    DLPACK_NODE_API(DLPACK_FILL)
#undef DLPACK_FILL
  }
};

// This constructor runs before the first function of the addon is called.
const FillPointers fill_pointers;

}  // namespace

#endif
