// Node-API on Windows. An addon that imports functions from node.exe fails in a program with another name (Electron,
// single executables), and delay loading needs a linker hook. Calls go through pointers with the names that the linker
// expects. This file defines the pointers and fills them from the running program when the addon is loaded. The list
// contains all of Node-API 8.
#if defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

// clang-format off: one name on each line.
#define DLPACK_NODE_API(F) \
  F(napi_acquire_threadsafe_function) \
  F(napi_add_async_cleanup_hook) \
  F(napi_add_env_cleanup_hook) \
  F(napi_add_finalizer) \
  F(napi_adjust_external_memory) \
  F(napi_async_destroy) \
  F(napi_async_init) \
  F(napi_call_function) \
  F(napi_call_threadsafe_function) \
  F(napi_cancel_async_work) \
  F(napi_check_object_type_tag) \
  F(napi_close_callback_scope) \
  F(napi_close_escapable_handle_scope) \
  F(napi_close_handle_scope) \
  F(napi_coerce_to_bool) \
  F(napi_coerce_to_number) \
  F(napi_coerce_to_object) \
  F(napi_coerce_to_string) \
  F(napi_create_array) \
  F(napi_create_array_with_length) \
  F(napi_create_arraybuffer) \
  F(napi_create_async_work) \
  F(napi_create_bigint_int64) \
  F(napi_create_bigint_uint64) \
  F(napi_create_bigint_words) \
  F(napi_create_buffer) \
  F(napi_create_buffer_copy) \
  F(napi_create_dataview) \
  F(napi_create_date) \
  F(napi_create_double) \
  F(napi_create_error) \
  F(napi_create_external) \
  F(napi_create_external_arraybuffer) \
  F(napi_create_external_buffer) \
  F(napi_create_function) \
  F(napi_create_int32) \
  F(napi_create_int64) \
  F(napi_create_object) \
  F(napi_create_promise) \
  F(napi_create_range_error) \
  F(napi_create_reference) \
  F(napi_create_string_latin1) \
  F(napi_create_string_utf16) \
  F(napi_create_string_utf8) \
  F(napi_create_symbol) \
  F(napi_create_threadsafe_function) \
  F(napi_create_type_error) \
  F(napi_create_typedarray) \
  F(napi_create_uint32) \
  F(napi_define_class) \
  F(napi_define_properties) \
  F(napi_delete_async_work) \
  F(napi_delete_element) \
  F(napi_delete_property) \
  F(napi_delete_reference) \
  F(napi_detach_arraybuffer) \
  F(napi_escape_handle) \
  F(napi_fatal_error) \
  F(napi_fatal_exception) \
  F(napi_get_all_property_names) \
  F(napi_get_and_clear_last_exception) \
  F(napi_get_array_length) \
  F(napi_get_arraybuffer_info) \
  F(napi_get_boolean) \
  F(napi_get_buffer_info) \
  F(napi_get_cb_info) \
  F(napi_get_dataview_info) \
  F(napi_get_date_value) \
  F(napi_get_element) \
  F(napi_get_global) \
  F(napi_get_instance_data) \
  F(napi_get_last_error_info) \
  F(napi_get_named_property) \
  F(napi_get_new_target) \
  F(napi_get_node_version) \
  F(napi_get_null) \
  F(napi_get_property) \
  F(napi_get_property_names) \
  F(napi_get_prototype) \
  F(napi_get_reference_value) \
  F(napi_get_threadsafe_function_context) \
  F(napi_get_typedarray_info) \
  F(napi_get_undefined) \
  F(napi_get_uv_event_loop) \
  F(napi_get_value_bigint_int64) \
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
  F(napi_get_version) \
  F(napi_has_element) \
  F(napi_has_named_property) \
  F(napi_has_own_property) \
  F(napi_has_property) \
  F(napi_instanceof) \
  F(napi_is_array) \
  F(napi_is_arraybuffer) \
  F(napi_is_buffer) \
  F(napi_is_dataview) \
  F(napi_is_date) \
  F(napi_is_detached_arraybuffer) \
  F(napi_is_error) \
  F(napi_is_exception_pending) \
  F(napi_is_promise) \
  F(napi_is_typedarray) \
  F(napi_make_callback) \
  F(napi_module_register) \
  F(napi_new_instance) \
  F(napi_object_freeze) \
  F(napi_object_seal) \
  F(napi_open_callback_scope) \
  F(napi_open_escapable_handle_scope) \
  F(napi_open_handle_scope) \
  F(napi_queue_async_work) \
  F(napi_ref_threadsafe_function) \
  F(napi_reference_ref) \
  F(napi_reference_unref) \
  F(napi_reject_deferred) \
  F(napi_release_threadsafe_function) \
  F(napi_remove_async_cleanup_hook) \
  F(napi_remove_env_cleanup_hook) \
  F(napi_remove_wrap) \
  F(napi_resolve_deferred) \
  F(napi_run_script) \
  F(napi_set_element) \
  F(napi_set_instance_data) \
  F(napi_set_named_property) \
  F(napi_set_property) \
  F(napi_strict_equals) \
  F(napi_throw) \
  F(napi_throw_error) \
  F(napi_throw_range_error) \
  F(napi_throw_type_error) \
  F(napi_type_tag_object) \
  F(napi_typeof) \
  F(napi_unref_threadsafe_function) \
  F(napi_unwrap) \
  F(napi_wrap)
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
