// The allocations of the addon, of which a test lets one fail. The linker sends malloc and its relatives here
// (--wrap), but only the calls of the addon itself. All threads.
#include <execinfo.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <atomic>

#include "faults.h"

extern "C" {

__attribute__((visibility("default"))) Faults dlpack_faults;

void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* block, size_t size);
int __real_posix_memalign(void** out, size_t alignment, size_t size);
void __real_free(void* block);
void* __real_mmap(void* address, size_t length, int protection, int flags, int file, off_t offset);
int __real_munmap(void* address, size_t length);
int __real_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument);

// Counts one request and returns whether it fails.
static bool Fails() {
  const int64_t number = dlpack_faults.requests.fetch_add(1) + 1;
  if (number != dlpack_faults.fail_at.load()) return false;
  dlpack_faults.failures.fetch_add(1);
  if (getenv("DLPACK_FAULTS_TRACE") != nullptr) {
    void* frames[16];
    backtrace_symbols_fd(frames, backtrace(frames, 16), 2);
  }
  return true;
}

static void* Made(void* block) {
  if (block != nullptr) dlpack_faults.live.fetch_add(1);
  return block;
}

void* __wrap_malloc(size_t size) { return Fails() ? nullptr : Made(__real_malloc(size)); }

void* __wrap_calloc(size_t count, size_t size) { return Fails() ? nullptr : Made(__real_calloc(count, size)); }

void* __wrap_realloc(void* block, size_t size) {
  if (Fails()) return nullptr;
  void* moved = __real_realloc(block, size);
  return block == nullptr ? Made(moved) : moved;
}

int __wrap_posix_memalign(void** out, size_t alignment, size_t size) {
  if (Fails()) return 12;  // ENOMEM
  const int status = __real_posix_memalign(out, alignment, size);
  if (status == 0) dlpack_faults.live.fetch_add(1);
  return status;
}

void __wrap_free(void* block) {
  if (block != nullptr) dlpack_faults.live.fetch_sub(1);
  __real_free(block);
}

void* __wrap_mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  if (Fails()) return MAP_FAILED;
  void* mapped = __real_mmap(address, length, protection, flags, file, offset);
  if (mapped != MAP_FAILED) dlpack_faults.live.fetch_add(1);
  return mapped;
}

int __wrap_munmap(void* address, size_t length) {
  dlpack_faults.live.fetch_sub(1);
  return __real_munmap(address, length);
}

int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  return Fails() ? 11 : __real_pthread_create(thread, attributes, start, argument);  // EAGAIN
}

}  // extern "C"
