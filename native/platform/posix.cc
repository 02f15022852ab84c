// Linux and macOS.
#if !defined(_WIN32)

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "platform.h"
#include "posix.h"

// The C library of Debian 12 has newer versions of these symbols, with which the addon would not load on older systems.
// There the old versions are in a library that every JavaScript runtime has loaded.
#if defined(__GLIBC__) && defined(__x86_64__)
#define DLPACK_OLDEST "GLIBC_2.2.5"
#elif defined(__GLIBC__) && defined(__aarch64__)
#define DLPACK_OLDEST "GLIBC_2.17"
#endif
#if defined(DLPACK_OLDEST)
#define DLPACK_OLD(name) __asm__(".symver " name ", " name "@" DLPACK_OLDEST);
DLPACK_OLD("dlopen")
DLPACK_OLD("dlsym")
DLPACK_OLD("dlclose")
DLPACK_OLD("dlerror")
DLPACK_OLD("dladdr")
DLPACK_OLD("pthread_create")
DLPACK_OLD("pthread_sigmask")
DLPACK_OLD("pthread_attr_setstacksize")
#endif

namespace dlpack::platform {

static int ModeOf(Symbols symbols) { return RTLD_NOW | (symbols == Symbols::kGlobal ? RTLD_GLOBAL : RTLD_LOCAL); }

void* OpenLibrary(const char* path, Symbols symbols, char* problem, size_t size) {
  void* library = dlopen(path, ModeOf(symbols));
  if (library == nullptr) {
    const char* reason = dlerror();
    snprintf(problem, size, "%s", reason == nullptr ? "it cannot be loaded" : reason);
  }
  return library;
}

void SetDefaultVariable(const char* name, const char* value) { setenv(name, value, 0); }

void* FindLoadedLibrary(const char* name, Symbols symbols) { return dlopen(name, ModeOf(symbols) | RTLD_NOLOAD); }

void* FindSymbol(void* library, const char* name) { return dlsym(library, name); }

void CloseLibrary(void* library) { dlclose(library); }

bool FindLibraryOf(const void* address, char* path, size_t size) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return false;
  const int length = snprintf(path, size, "%s", info.dli_fname);
  return length >= 0 && static_cast<size_t>(length) < size;
}

void KeepLoaded(const void* address) {
  Dl_info info;
  // The library is loaded. Without RTLD_NOLOAD the name of the program itself could load another file.
  if (dladdr(address, &info) != 0) dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static sigset_t remembered_mask;

void RememberSignalMask() { pthread_sigmask(SIG_SETMASK, nullptr, &remembered_mask); }

void UseSignalMask() { pthread_sigmask(SIG_SETMASK, &remembered_mask, nullptr); }

bool StartThread(void* (*work)(void*), void* argument, size_t stack_size) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack_size > 0) pthread_attr_setstacksize(&attributes, stack_size);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, work, argument) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void YieldThread() { sched_yield(); }

void SleepMicroseconds(uint32_t microseconds) {
  const timespec time = {static_cast<time_t>(microseconds / 1000000), static_cast<long>(microseconds % 1000000) * 1000};
  nanosleep(&time, nullptr);
}

Mutex::Mutex() { pthread_mutex_init(new (state_) pthread_mutex_t, nullptr); }
void Mutex::Acquire() { pthread_mutex_lock(SystemOf<pthread_mutex_t>(state_)); }
void Mutex::Release() { pthread_mutex_unlock(SystemOf<pthread_mutex_t>(state_)); }

#if defined(__linux__)
// Not the C library's condition: its pthread_cond_signal waits for threads that were woken before and that a busy
// machine has not run yet, and the event loop waited with it. This one counts signals, and never waits for a waiter.
struct Signals {
  std::atomic<uint32_t> count;
  std::atomic<uint32_t> waiters;  // changes only with the mutex held
};

static void Wake(Signals* signals, int most) {
  signals->count.fetch_add(1, std::memory_order_release);
  if (signals->waiters.load(std::memory_order_relaxed) == 0) return;
  syscall(SYS_futex, &signals->count, FUTEX_WAKE_PRIVATE, most, nullptr, nullptr, 0);
}

Condition::Condition() { new (state_) Signals{}; }
void Condition::Wait(Mutex* mutex) {
  Signals* signals = SystemOf<Signals>(state_);
  // A change that this thread waits for is made with the mutex, so its signal comes after both lines.
  signals->waiters.fetch_add(1, std::memory_order_relaxed);
  const uint32_t before = signals->count.load(std::memory_order_relaxed);
  mutex->Release();
  syscall(SYS_futex, &signals->count, FUTEX_WAIT_PRIVATE, before, nullptr, nullptr, 0);
  mutex->Acquire();
  signals->waiters.fetch_sub(1, std::memory_order_relaxed);
}
void Condition::Signal() { Wake(SystemOf<Signals>(state_), 1); }
void Condition::Broadcast() { Wake(SystemOf<Signals>(state_), INT_MAX); }
#else
Condition::Condition() { pthread_cond_init(new (state_) pthread_cond_t, nullptr); }
void Condition::Wait(Mutex* mutex) {
  pthread_cond_wait(SystemOf<pthread_cond_t>(state_), SystemOf<pthread_mutex_t>(mutex->state_));
}
void Condition::Signal() { pthread_cond_signal(SystemOf<pthread_cond_t>(state_)); }
void Condition::Broadcast() { pthread_cond_broadcast(SystemOf<pthread_cond_t>(state_)); }
#endif

void* AllocateMemory(size_t nbytes) {
  void* data = nullptr;
  return posix_memalign(&data, kAlignment, nbytes) == 0 ? data : nullptr;
}

void FreeMemory(void* block) { free(block); }

static const size_t kLargePage = size_t{2} << 20;

// Room to start a large mapping on a large page.
static size_t SlackOf(size_t nbytes) { return nbytes >= 2 * kLargePage ? kLargePage : 0; }

void ReturnFreePages() {
#if defined(__GLIBC__)
  static const intptr_t kGrowth = 64 << 20;
  static std::atomic<intptr_t> seen{0};
  const intptr_t end = reinterpret_cast<intptr_t>(sbrk(0));  // reads a variable
  const intptr_t before = seen.load(std::memory_order_relaxed);
  if (before != 0 && end >= before && end - before < kGrowth) return;
  if (before != 0 && end >= before) malloc_trim(0);
  seen.store(reinterpret_cast<intptr_t>(sbrk(0)), std::memory_order_relaxed);
#endif
}

size_t MappedLength(size_t nbytes) { return nbytes + SlackOf(nbytes); }

void* MapZeroed(size_t nbytes, void** base) {
  const size_t slack = SlackOf(nbytes);
  if (nbytes > SIZE_MAX - slack) return nullptr;
  void* mapped = mmap(nullptr, nbytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  *base = mapped;
  if (slack == 0) return mapped;
  const uintptr_t start = (reinterpret_cast<uintptr_t>(mapped) + kLargePage - 1) & ~(kLargePage - 1);
#if defined(__linux__)
  madvise(reinterpret_cast<void*>(start), nbytes, MADV_HUGEPAGE);
#endif
  return reinterpret_cast<void*>(start);
}

void UnmapMemory(void* base, size_t length) { munmap(base, length); }

bool IsPagePresent(const void* address) {
#if defined(__linux__)
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char is_present = 1;
  void* start = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) & ~(page - 1));
  return mincore(start, page, &is_present) != 0 || (is_present & 1) != 0;
#else
  return address != nullptr;
#endif
}

const char* NameOf(int problem) {
  switch (problem) {
    case ENOENT:
    case ENOTDIR: return "ENOENT";
    case EACCES:
    case EPERM: return "EACCES";
    case EISDIR: return "EISDIR";
    case EMFILE:
    case ENFILE: return "EMFILE";
    case ENOMEM: return "ENOMEM";
    case EEXIST: return "EEXIST";
    case EDQUOT:
    case ENOSPC: return "ENOSPC";
    case EROFS: return "EROFS";
    case EFBIG: return "EFBIG";
    case ENAMETOOLONG: return "ENAMETOOLONG";
    case ESPIPE:
    case ENODEV:
    case ENXIO:
    case EINVAL: return "ENODEV";
    default: return "EIO";
  }
}

const char* MapDescriptor(int file, uint64_t nbytes, bool is_writable, int flags, void** data) {
  alignas(256) static char no_bytes[256];
  *data = no_bytes;
  if (nbytes == 0) return nullptr;
  const int protection = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* memory = mmap(nullptr, static_cast<size_t>(nbytes), protection, flags, file, 0);
  if (memory == MAP_FAILED) return NameOf(errno);
  *data = memory;
  return nullptr;
}

static int DescriptorOf(const OpenedFile& opened) { return static_cast<int>(opened.handle); }

const char* OpenFile(const char* path, OpenedFile* opened) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return NameOf(errno);
  char byte;
  // A directory can be opened, but not read.
  const off_t end = read(file, &byte, 0) < 0 ? -1 : lseek(file, 0, SEEK_END);
  if (end < 0) {
    const char* problem = NameOf(errno);
    close(file);
    return problem;
  }
  *opened = {file, static_cast<uint64_t>(end)};
  return nullptr;
}

void CloseFile(const OpenedFile& opened) { close(DescriptorOf(opened)); }

const char* MapFile(const OpenedFile& opened, bool is_writable, void** data) {
#if defined(MAP_NORESERVE)
  const int flags = MAP_PRIVATE | MAP_NORESERVE;  // allows a file larger than memory, because few of its pages change
#else
  const int flags = MAP_PRIVATE;
#endif
  return MapDescriptor(DescriptorOf(opened), opened.nbytes, is_writable, flags, data);
}

const char* ReadFile(const OpenedFile& opened, void* data) {
  for (uint64_t at = 0; at < opened.nbytes;) {
    const size_t left = static_cast<size_t>(opened.nbytes - at);
    const ssize_t count = pread(DescriptorOf(opened), static_cast<char*>(data) + at, left, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return NameOf(errno);
    if (count == 0) return "ESTALE";
    at += static_cast<uint64_t>(count);
  }
  return nullptr;
}

uint64_t MaxMappings() {
  uint64_t most = 0;
#if defined(__linux__)
  FILE* file = fopen("/proc/sys/vm/max_map_count", "re");
  if (file == nullptr) return 0;
  char text[32] = "";
  if (fgets(text, sizeof(text), file) != nullptr) most = strtoull(text, nullptr, 10);
  fclose(file);
#endif
  return most;
}

void UnmapFile(void* data, uint64_t nbytes) {
  if (nbytes > 0) munmap(data, static_cast<size_t>(nbytes));
}

static_assert(static_cast<int>(Signal::kInterrupt) == SIGINT && static_cast<int>(Signal::kSegmentation) == SIGSEGV,
              "numbers of signals");

bool SignalHandler::Read(Signal signal) {
  struct sigaction action;
  static_assert(sizeof(action) <= sizeof(state_), "the class is too small for what the system keeps in it");
  if (sigaction(static_cast<int>(signal), nullptr, &action) != 0) return false;
  memcpy(state_, &action, sizeof(action));
  // sa_handler and sa_sigaction are members of one union.
  address_ = reinterpret_cast<const void*>(action.sa_handler);
  return true;
}

void SignalHandler::Install(Signal signal) const {
  struct sigaction action;
  memcpy(&action, state_, sizeof(action));
  sigaction(static_cast<int>(signal), &action, nullptr);
}

uint32_t CountProcessors() {
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : static_cast<uint32_t>(count);
}

int64_t LastCacheBytes() {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes < 0 ? 0 : bytes;
#else
  return 0;
#endif
}

uint32_t ProcessNumber() { return static_cast<uint32_t>(getpid()); }

uint64_t WallNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void OnFork(void (*handler)()) { pthread_atfork(nullptr, nullptr, handler); }

void BeforeExit(void (*action)()) {
  atexit(action);
#if defined(__linux__)
  at_quick_exit(action);  // Bun ends with quick_exit
#endif
}

#if defined(__GLIBC__)

void OnExit(void (*handler)(int), int) {
  on_exit([](int status, void* argument) { reinterpret_cast<void (*)(int)>(argument)(status); },
          reinterpret_cast<void*>(handler));
}

#else

// atexit calls a function without an argument, so each call takes the last handler that is left.
static const uint32_t kMaxExitHandlers = 32;
static std::atomic<void (*)(int)> exit_handlers[kMaxExitHandlers];
static std::atomic<uint32_t> exit_count;
static std::atomic<int> exit_status;  // the last one is the best known

void OnExit(void (*handler)(int), int status) {
  exit_status.store(status);
  const uint32_t at = exit_count.fetch_add(1);
  if (at >= kMaxExitHandlers) {
    exit_count.fetch_sub(1);
    return;
  }
  exit_handlers[at].store(handler);
  atexit([] {
    void (*last)(int) = exit_handlers[exit_count.fetch_sub(1) - 1].load();
    if (last != nullptr) last(exit_status.load());
  });
}

#endif

void EndProcess(int status, const char* text) {
  // The error output may be closed. The status counts anyway.
  [[maybe_unused]] const ssize_t written = text == nullptr ? 0 : write(STDERR_FILENO, text, strlen(text));
  _exit(status);
}

}  // namespace dlpack::platform

#endif
