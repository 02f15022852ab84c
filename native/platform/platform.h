// Everything that differs between operating systems. The other files of this folder implement it; no file outside the
// folder includes a system header.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define DLPACK_LIBRARY(name) name ".dll"
#define DLPACK_CUDA_DRIVER "nvcuda.dll"
#define DLPACK_ONNXRUNTIME "onnxruntime.dll"
#elif defined(__APPLE__)
#define DLPACK_LIBRARY(name) "lib" name ".dylib"
#define DLPACK_CUDA_DRIVER "libcuda.dylib"
#define DLPACK_ONNXRUNTIME "@rpath/libonnxruntime.1.dylib"
#else
#define DLPACK_LIBRARY(name) "lib" name ".so"
#define DLPACK_CUDA_DRIVER "libcuda.so.1"
#define DLPACK_ONNXRUNTIME "libonnxruntime.so.1"
#endif

// Whether NVIDIA has drivers for the system: Linux with glibc, and Windows on x64. Elsewhere the addon contains no
// kernels, which would be a quarter of its size in the package. The package does not contain their source, either,
// because the systems that have drivers have prebuilt addons.
#if defined(__GLIBC__) || (defined(_WIN32) && defined(__x86_64__))
#define DLPACK_HAS_CUDA 1
#else
#define DLPACK_HAS_CUDA 0
#endif

// macOS enables the registers of AVX-512 only when a program first uses them, so rows for them would never be chosen.
#if defined(__x86_64__) && !defined(__APPLE__)
#define DLPACK_HAS_AVX512 1
#else
#define DLPACK_HAS_AVX512 0
#endif

namespace dlpack::platform {

// How libraries take paths: UTF-16 on Windows, bytes elsewhere.
#if defined(_WIN32)
typedef char16_t PathChar;
#else
typedef char PathChar;
#endif

// Libraries. Paths and error messages are UTF-8. Any thread.

// kGlobal: libraries that are loaded later may use its symbols. Windows makes no such distinction.
enum class Symbols { kLocal, kGlobal };

// A path, or the name of a library of the system. NULL with the reason in `problem`.
void* OpenLibrary(const char* path, Symbols symbols, char* problem, size_t size);

// Sets a variable of the process, unless it exists.
void SetDefaultVariable(const char* name, const char* value);

// The library with this name if the process has loaded it, else NULL.
void* FindLoadedLibrary(const char* name, Symbols symbols);

void* FindSymbol(void* library, const char* name);

// The function with this name; false, with NULL in `out`, when there is none, or no library.
template <class Function>
inline bool Find(void* library, const char* name, Function* out) {
  *out = library == nullptr ? nullptr : reinterpret_cast<Function>(FindSymbol(library, name));
  return *out != nullptr;
}

void CloseLibrary(void* library);

// The file of the library that contains this address; false when there is none, or its path does not fit.
bool FindLibraryOf(const void* address, char* path, size_t size);

// Prevents the library that contains this address from being unloaded.
void KeepLoaded(const void* address);

// Threads.

// Remembers the signal mask of this thread for UseSignalMask. One thread at a time.
void RememberSignalMask();

// Gives this thread the remembered signal mask. A thread that may start processes needs it, because processes inherit
// the mask.
void UseSignalMask();

// Runs `work` on a new detached thread, which blocks all signals: they belong to the program's own threads. 0 means the
// system's stack size. False when the system has no thread left. Any thread.
bool StartThread(void* (*work)(void*), void* argument, size_t stack_size = 0);

// Lets another thread run.
void YieldThread();

void SleepMicroseconds(uint32_t microseconds);

// What the system keeps in a Mutex or a Condition.
template <class System>
System* SystemOf(unsigned char (&state)[64]) {
  static_assert(sizeof(System) <= sizeof(state), "the class is too small for what the system keeps in it");
  return reinterpret_cast<System*>(state);
}

// Neither Mutex nor Condition holds system resources, so neither has a destructor, and threads may still wait when the
// process ends. In memory from malloc they need placement new.
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

// The alignment of new memory, as dlpack.h requires. XLA needs 64.
static const size_t kAlignment = 256;

// A block with that alignment. NULL when out of memory.
void* AllocateMemory(size_t nbytes);
void FreeMemory(void* block);

// Gives free pages inside the C heap back to the system when the heap has grown by more than 64 MiB since the last call
// that did so. Only glibc needs this: a small block that stays alive beside each large one that is freed keeps the free
// blocks from being joined, so that each new large block needs new pages.
void ReturnFreePages();

// Pages that the system clears when they are first used, aligned as above. Large pages where the system has them and
// the block is large, because the first access to a page costs more than filling it. NULL when out of memory.
// UnmapMemory takes `base` and the mapped length.
void* MapZeroed(size_t nbytes, void** base);
void UnmapMemory(void* base, size_t length);

// How much address space a mapping of this size takes.
size_t MappedLength(size_t nbytes);

// False when the system still has to provide memory for the page at this address; true where the system does not report
// it.
bool IsPagePresent(const void* address);

// Whether the system still has to provide pages for this memory, which was not used since it was allocated. An estimate
// from a few addresses.
inline bool IsFresh(const void* memory, int64_t bytes) {
  for (int64_t eighth = 1; eighth < 8; eighth += 2) {
    if (IsPagePresent(static_cast<const char*>(memory) + bytes / 8 * eighth)) return false;
  }
  return true;
}

// Files. Any thread.

// A file that is open for reading. The functions return NULL, or the POSIX name of the error, such as "ENOENT".
struct OpenedFile {
  intptr_t handle;
  uint64_t nbytes;
};

// The path is UTF-8.
const char* OpenFile(const char* path, OpenedFile* opened);
void CloseFile(const OpenedFile& opened);

// Maps the whole file for reading; with `is_writable` also for writing, but writes stay in this process. The mapping
// outlives the open file. An empty file has an address and no bytes.
const char* MapFile(const OpenedFile& opened, bool is_writable, void** data);
void UnmapFile(void* data, uint64_t nbytes);

// Reads the whole file into memory of its size. "ESTALE" when the file has become shorter.
const char* ReadFile(const OpenedFile& opened, void* data);

// How many mappings the system allows this process to have; 0 where it has no such limit.
uint64_t MaxMappings();

// Memory that other processes can open. Any thread. The functions return NULL, or the POSIX name of the error: "ENOSYS"
// where the system has no such memory, "ESTALE" when the memory found is not the memory meant.
struct SharedMemory {
  void* data;
  uint64_t nbytes;
  int file;  // the descriptor of the memory in the process that made it; -1 where there is none
  uint64_t
      number;  // distinguishes the memory from later memory with the same name or descriptor; 0 where there is none
};

// Without a name the size of the memory never changes, and nothing remains when the process ends, however it ends. Only
// Linux has such memory. A name remains if the process is killed. "EEXIST" when the name is taken.
const char* CreateSharedMemory(const char* name, uint64_t nbytes, SharedMemory* made);

// Nobody can open the memory for writing from now on; this process keeps its own access. Memory with a name only
// becomes a read-only file, which its user can make writable again.
const char* SealSharedMemory(const char* name, const SharedMemory& memory);

// Removes the name of memory that CreateSharedMemory made; a newer memory with that name keeps it.
void RemoveSharedName(const char* name, const SharedMemory& memory);

// Releases what CreateSharedMemory made, except its name.
void ReleaseSharedMemory(const SharedMemory& memory);

// Where memory is: its name, or without a name the descriptor of a process.
struct SharedPlace {
  const char* name;
  uint32_t process;
  int file;
};

// What an opener relies on. `is_ours`: CreateSharedMemory made the memory, and its size and number must be those that
// `opened` has before the call; else both are found. `is_sealed`: its size must be sealed. `is_among_names`: it must be
// in the folder of named memory, although its name may be gone.
struct SharedAccess {
  bool is_writable;
  bool is_ours;
  bool is_sealed;
  bool is_among_names;
};

// Maps memory of another process, which must belong to the same user. CloseSharedMemory unmaps it. "EACCES" for writing
// through a descriptor that is open for reading only.
const char* OpenSharedMemory(const SharedPlace& place, const SharedAccess& access, SharedMemory* opened);
void CloseSharedMemory(const SharedMemory& opened);

// Signals. Windows has no handlers to keep, and Read returns false.

enum class Signal : int { kInterrupt = 2, kSegmentation = 11 };

class SignalHandler {
 public:
  bool Read(Signal signal);
  void Install(Signal signal) const;
  // The address of its function; NULL for the default.
  const void* address() const { return address_; }

 private:
  const void* address_ = nullptr;
  [[maybe_unused]] alignas(8) unsigned char state_[160];
};

// Processors, processes and time. Any thread.

uint32_t CountProcessors();

// Size of the last-level cache in bytes; 0 where the system does not report it.
int64_t LastCacheBytes();

uint32_t ProcessNumber();

// Since 1970.
uint64_t WallNanoseconds();

// Calls `handler` in every process that is forked from now on, on its only thread, before other code runs there.
void OnFork(void (*handler)());

// Calls `action` when the process ends by exit or quick_exit. On Windows it is not called.
void BeforeExit(void (*action)());

// Calls `handler` with the exit status when the process ends; handlers run last in, first out. The handler gets
// `status` where the system does not report the exit status. On Windows, which ends all other threads first, the
// handler is not called.
void OnExit(void (*handler)(int status), int status);

// Writes `text` to the error output unless it is NULL, and ends the process at once, without handlers and destructors.
[[noreturn]] void EndProcess(int status, const char* text);

}  // namespace dlpack::platform
