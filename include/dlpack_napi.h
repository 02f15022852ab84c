/*
 * dlpack_napi.h: how native addons hand DLPack tensors to each other through JavaScript.
 *
 * A tensor travels as a Node-API external that carries the type tag below. Its data points to a cell that holds a
 * DLManagedTensorVersioned* until the tensor is consumed, and NULL afterwards. docs/spec.md, "The native external", is
 * the normative text. An addon needs only this header, which depends only on Node-API (version 8) and dlpack.h (1.0 or
 * newer). Copy it into your project or include it from the npm package `dlpack`.
 *
 * All functions run on the JavaScript thread of `env`. They return a napi_status and do not throw.
 */
#ifndef DLPACK_NAPI_H_
#define DLPACK_NAPI_H_

#include <node_api.h>
#include <stdbool.h>
#include <stdlib.h>

#ifndef DLPACK_NAPI_STAYS_LOADED /* define it when the library keeps itself loaded */
#include <string.h>
#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <dlfcn.h>
#endif
#endif

#ifndef DLPACK_NAPI_STRUCTS_DECLARED /* define it when DLManagedTensorVersioned is declared elsewhere */
#include <dlpack/dlpack.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  DLManagedTensorVersioned* managed; /* NULL once consumed */
} dlpack_napi_cell;

/* The tag of every DLPack external, whichever addon made it: 6d5d3d0f-9c1e-4b57-8f0a-646c7061636b. */
static inline const napi_type_tag* dlpack_napi_tag(void) {
  static const napi_type_tag tag = {0x6d5d3d0f9c1e4b57ULL, 0x8f0a646c7061636bULL};
  return &tag;
}

/* Runs when the external is collected or its environment ends. Releases the tensor if it was not consumed. */
static inline void dlpack_napi_finalize(napi_env env, void* data, void* hint) {
  dlpack_napi_cell* cell = (dlpack_napi_cell*)data;
  DLManagedTensorVersioned* managed = cell->managed;
  (void)env;
  (void)hint;
  free(cell);
  if (managed != NULL && managed->deleter != NULL) managed->deleter(managed);
}

#ifndef DLPACK_NAPI_STAYS_LOADED
/* Keeps the library that contains an address loaded until the process ends. Any thread. */
static inline void dlpack_napi_keep_loaded(const void* address) {
#ifdef _WIN32
  HMODULE module;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN, (LPCWSTR)address, &module);
#else
  /* The fields of Dl_info. C declares it, dladdr and RTLD_DEFAULT, which is NULL, only with _GNU_SOURCE. */
  struct {
    const char* file;
    void* base;
    const char* symbol;
    void* place;
  } info;
  int (*find)(const void*, void*);
#ifdef RTLD_DEFAULT
  void* found = dlsym(RTLD_DEFAULT, "dladdr");
#else
  void* found = dlsym(NULL, "dladdr");
#endif
  memcpy(&find, &found, sizeof(find));
  if (find != NULL && find(address, &info) != 0) dlopen(info.file, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

/* Does it once for the library that contains this function. Threads may do it at the same time. */
static inline void dlpack_napi_stay_loaded(void) {
  static volatile bool is_kept = false;
  if (is_kept) return;
  dlpack_napi_keep_loaded((const void*)&is_kept);
  is_kept = true;
}
#endif

/* Producer: wraps a managed tensor. On success the external owns it; on failure the caller still owns it.
 * Node unloads an addon when the last worker that loaded it ends, but the tensor may live longer. So this function
 * keeps the library that contains it loaded. If the deleter is in another library, keep that one loaded, too. */
static inline napi_status dlpack_napi_create(napi_env env, DLManagedTensorVersioned* managed, napi_value* result) {
  napi_status status;
  dlpack_napi_cell* cell = (dlpack_napi_cell*)malloc(sizeof(dlpack_napi_cell));
  if (cell == NULL) return napi_generic_failure;
#ifndef DLPACK_NAPI_STAYS_LOADED
  dlpack_napi_stay_loaded();
#endif
  cell->managed = NULL; /* the caller owns the tensor until nothing can fail any more */
  status = napi_create_external(env, cell, dlpack_napi_finalize, NULL, result);
  if (status != napi_ok) {
    free(cell);
    return status;
  }
  status = napi_type_tag_object(env, *result, dlpack_napi_tag());
  if (status == napi_ok) cell->managed = managed;
  return status;
}

/* Is this value a DLPack external (consumed or not)? */
static inline napi_status dlpack_napi_check(napi_env env, napi_value value, bool* result) {
  napi_valuetype type;
  napi_status status = napi_typeof(env, value, &type);
  *result = false;
  if (status != napi_ok || type != napi_external) return status;
  return napi_check_object_type_tag(env, value, dlpack_napi_tag(), result);
}

/* Consumer: takes the tensor out. The caller must call its deleter once. NULL when it was consumed before, or when the
 * value is not a DLPack external. */
static inline napi_status dlpack_napi_take(napi_env env, napi_value value, DLManagedTensorVersioned** result) {
  bool ours = false;
  void* data = NULL;
  napi_status status = dlpack_napi_check(env, value, &ours);
  *result = NULL;
  if (status != napi_ok || !ours) return status;
  status = napi_get_value_external(env, value, &data);
  if (status == napi_ok && data != NULL) {
    dlpack_napi_cell* cell = (dlpack_napi_cell*)data;
    *result = cell->managed;
    cell->managed = NULL;
  }
  return status;
}

#ifdef __cplusplus
}
#endif

#endif /* DLPACK_NAPI_H_ */
