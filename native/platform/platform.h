// Everything that differs between operating systems. posix.cc and windows.cc implement it; no other file includes a
// header of the system.
#ifndef DLPACK_NODE_PLATFORM_PLATFORM_H_
#define DLPACK_NODE_PLATFORM_PLATFORM_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define DLPACK_LIBRARY(name) name ".dll"
#define DLPACK_CUDA_DRIVER "nvcuda.dll"
#elif defined(__APPLE__)
#define DLPACK_LIBRARY(name) "lib" name ".dylib"
#define DLPACK_CUDA_DRIVER "libcuda.dylib"
#else
#define DLPACK_LIBRARY(name) "lib" name ".so"
#define DLPACK_CUDA_DRIVER "libcuda.so.1"
#endif

namespace dlpack {
namespace platform {

// Libraries. Paths and problems are UTF-8. Any thread.

// kGlobal: libraries that are loaded later may use its symbols. Windows has no such difference.
enum class Symbols { kLocal, kGlobal };

// NULL with the reason in `problem`.
void* OpenLibrary(const char* path, Symbols symbols, char* problem, size_t size);

// The library of this name if the process has loaded it, else NULL.
void* FindLoadedLibrary(const char* name, Symbols symbols);

void* FindSymbol(void* library, const char* name);
void CloseLibrary(void* library);

// The file of the library that contains this address; false when there is none.
bool FindLibraryOf(const void* address, char* path, size_t size);

// Keeps the library that contains this address in the process for good.
void KeepLoaded(const void* address);

// Threads.

// Runs `work` on a new thread that nobody waits for and that takes no signals: those belong to threads that the program
// knows. 0 is the system's stack size. False when the system has no thread left. Any thread.
bool StartThread(void* (*work)(void*), void* argument, size_t stack_size = 0);

// Lets another thread run.
void YieldThread();

void SleepMicroseconds(uint32_t microseconds);

// Neither holds resources of the system, so neither has a destructor: threads may still wait when the process ends. An
// object with one of them in memory from malloc needs placement new.
class Mutex {
 public:
  Mutex();
  void Acquire();
  void Release();

 private:
  friend class Condition;
  alignas(8) unsigned char state_[64];
};

class MutexScope {
 public:
  explicit MutexScope(Mutex* mutex) : mutex_(mutex) { mutex_->Acquire(); }
  ~MutexScope() { mutex_->Release(); }

 private:
  Mutex* mutex_;
};

class Condition {
 public:
  Condition();
  void Wait(Mutex* mutex);
  void Signal();
  void Broadcast();

 private:
  alignas(8) unsigned char state_[64];
};

// Memory. Any thread.

// A block at a multiple of 256 bytes, which is what dlpack.h asks for; XLA needs 64. Large blocks lie in large pages
// where the system has them, because the first use of a page costs more than what is written to it. NULL when out of
// memory.
void* AllocateMemory(size_t nbytes);
void FreeMemory(void* block);

// Pages that the system clears when they are first used, aligned as above. NULL when out of memory. `base` and `length`
// are for UnmapMemory.
void* MapZeroed(size_t nbytes, void** base, size_t* length);
void UnmapMemory(void* base, size_t length);

// False when the system still has to find memory for the page at this address; true where the system does not tell.
bool IsPagePresent(const void* address);

// Files. Any thread.

// Maps all of a file, for reading or, with `is_writable`, so that writes stay in this process. NULL, or the POSIX name
// of what went wrong, such as "ENOENT". An empty file has an address and no bytes. The path is UTF-8.
const char* MapFile(const char* path, bool is_writable, void** data, uint64_t* nbytes);
void UnmapFile(void* data, uint64_t nbytes);

// Memory that other processes can open while `file` is: nothing of it is left when the process ends, however it ends.
// Its size never changes. `number` tells it from what has the same file number later. NULL, or the POSIX name of what
// went wrong: "ENOSYS" where the system has no such memory. Any thread.
const char* CreateSharedMemory(uint64_t nbytes, void** data, int* file, uint64_t* number);

// Maps the memory of a process. "ESTALE" when the file is no longer that memory.
const char* OpenSharedMemory(uint32_t process, int file, uint64_t number, uint64_t nbytes, bool is_writable,
                             void** data);

// `file` is -1 for memory that another process made.
void CloseSharedMemory(void* data, uint64_t nbytes, int file);

// Signals. Windows has no handlers to keep, and Read returns false.

enum class Signal : int { kInterrupt = 2, kSegmentation = 11 };

class SignalHandler {
 public:
  bool Read(Signal signal);
  void Install(Signal signal) const;
  // Of its function; NULL for the default.
  const void* address() const { return address_; }

 private:
  const void* address_ = nullptr;
  [[maybe_unused]] alignas(8) unsigned char state_[160];
};

// Processors, processes and time. Any thread.

uint32_t CountProcessors();

// Bytes of the last cache that processors share; 0 where the system does not tell.
int64_t LastCacheBytes();

uint32_t ProcessNumber();

// Since 1970.
uint64_t WallNanoseconds();

// Calls `handler` in every process that is forked off from now on, on its one thread, before anything else runs there.
void OnFork(void (*handler)());

// Calls `handler` when the process ends, the last one registered first, with the status of the process; with `status`
// where the system does not tell that. Windows ends all other threads first and calls nothing.
void OnExit(void (*handler)(int status), int status);

// Ends the process at once, without handlers and destructors, after `text` on the error output unless it is NULL.
[[noreturn]] void EndProcess(int status, const char* text);

}  // namespace platform
}  // namespace dlpack

#endif  // DLPACK_NODE_PLATFORM_PLATFORM_H_
