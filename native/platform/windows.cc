// Windows 10 and newer.
#if defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <new>

#include "platform.h"

namespace dlpack::platform {

// The longest path that the system supports.
static const int kMaxPath = 32768;

// A UTF-16 copy of a UTF-8 text; NULL when out of memory.
class WideText {
 public:
  explicit WideText(const char* text) {
    const int length = MultiByteToWideChar(CP_UTF8, 0, text, -1, nullptr, 0);
    data_ = static_cast<wchar_t*>(calloc(static_cast<size_t>(length) + 1, sizeof(wchar_t)));
    if (data_ != nullptr) MultiByteToWideChar(CP_UTF8, 0, text, -1, data_, length);
  }
  WideText(const WideText&) = delete;
  WideText& operator=(const WideText&) = delete;
  ~WideText() { free(data_); }
  wchar_t* get() { return data_; }

 private:
  wchar_t* data_;
};

static bool WriteUtf8(const wchar_t* text, char* out, size_t size) {
  const int written = WideCharToMultiByte(CP_UTF8, 0, text, -1, out, static_cast<int>(size), nullptr, nullptr);
  if (written == 0 && size > 0) out[0] = 0;
  return written > 0;
}

static void DescribeLastError(const char* path, char* out, size_t size) {
  const DWORD code = GetLastError();
  wchar_t text[512];
  DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr, code, 0, text,
                                static_cast<DWORD>(sizeof(text) / sizeof(*text)), nullptr);
  while (length > 0 && text[length - 1] <= L' ') text[--length] = 0;
  char reason[3 * sizeof(text) / sizeof(*text)];  // a UTF-16 unit takes up to three bytes
  if (length == 0 || !WriteUtf8(text, reason, sizeof(reason))) snprintf(reason, sizeof(reason), "it cannot be loaded");
  snprintf(out, size, "%s: %s (error %lu)", path, reason, code);
}

static HMODULE ModuleOf(const void* address, DWORD flags) {
  HMODULE module = nullptr;
  const BOOL found =
      GetModuleHandleExW(flags | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, static_cast<const wchar_t*>(address), &module);
  return found ? module : nullptr;
}

// With the flag, the dependencies of a library are searched in its own folder first. The flag requires an absolute
// path.
static HMODULE OpenPath(const wchar_t* path) {
  wchar_t* whole = static_cast<wchar_t*>(malloc(sizeof(wchar_t) * kMaxPath));
  const DWORD length = whole == nullptr ? 0 : GetFullPathNameW(path, kMaxPath, whole, nullptr);
  const bool fits = length > 0 && length < static_cast<DWORD>(kMaxPath);
  HMODULE module = fits ? LoadLibraryExW(whole, nullptr, LOAD_WITH_ALTERED_SEARCH_PATH) : nullptr;
  const DWORD code = fits ? GetLastError() : ERROR_FILENAME_EXCED_RANGE;
  free(whole);
  SetLastError(code);
  return module;
}

void* OpenLibrary(const char* path, Symbols, char* problem, size_t size) {
  WideText wide(path);
  if (wide.get() == nullptr) {
    snprintf(problem, size, "out of memory");
    return nullptr;
  }
  for (wchar_t* at = wide.get(); *at != 0; ++at) {
    if (*at == L'/') *at = L'\\';
  }
  const bool is_path = wcschr(wide.get(), L'\\') != nullptr;
  // A name is a library of the system. The flag leaves out the working folder and the PATH.
  HMODULE module =
      is_path ? OpenPath(wide.get()) : LoadLibraryExW(wide.get(), nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  if (module == nullptr) DescribeLastError(path, problem, size);
  return module;
}

void SetDefaultVariable(const char* name, const char* value) {
  if (getenv(name) == nullptr) _putenv_s(name, value);
}

void* FindLoadedLibrary(const char* name, Symbols) {
  WideText wide(name);
  HMODULE module = nullptr;
  if (wide.get() == nullptr || !GetModuleHandleExW(0, wide.get(), &module)) return nullptr;
  return module;
}

void* FindSymbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

void CloseLibrary(void* library) { FreeLibrary(static_cast<HMODULE>(library)); }

bool FindLibraryOf(const void* address, char* path, size_t size) {
  HMODULE module = ModuleOf(address, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT);
  wchar_t* wide = static_cast<wchar_t*>(malloc(sizeof(wchar_t) * kMaxPath));
  const bool found = module != nullptr && wide != nullptr && GetModuleFileNameW(module, wide, kMaxPath) > 0 &&
                     WriteUtf8(wide, path, size);
  free(wide);
  return found;
}

void KeepLoaded(const void* address) { ModuleOf(address, GET_MODULE_HANDLE_EX_FLAG_PIN); }

struct Start {
  void* (*work)(void*);
  void* argument;
};

static DWORD WINAPI RunThread(void* data) {
  const Start start = *static_cast<Start*>(data);
  free(data);
  start.work(start.argument);
  return 0;
}

void RememberSignalMask() {}
void UseSignalMask() {}

bool StartThread(void* (*work)(void*), void* argument, size_t stack_size) {
  Start* start = static_cast<Start*>(malloc(sizeof(Start)));
  if (start == nullptr) return false;
  *start = Start{work, argument};
  HANDLE thread = CreateThread(nullptr, stack_size, RunThread, start, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (thread == nullptr) {
    free(start);
    return false;
  }
  CloseHandle(thread);
  return true;
}

void YieldThread() { SwitchToThread(); }

#if !defined(CREATE_WAITABLE_TIMER_HIGH_RESOLUTION)
#define CREATE_WAITABLE_TIMER_HIGH_RESOLUTION 2
#endif

// Sleep() has a resolution of 15.6 milliseconds. These timers, available since 2018, have half a millisecond.
void SleepMicroseconds(uint32_t microseconds) {
  HANDLE timer = CreateWaitableTimerExW(nullptr, nullptr, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, TIMER_ALL_ACCESS);
  LARGE_INTEGER due;
  due.QuadPart = -static_cast<LONGLONG>(microseconds) * 10;
  if (timer != nullptr && SetWaitableTimer(timer, &due, 0, nullptr, nullptr, FALSE)) {
    WaitForSingleObject(timer, INFINITE);
  } else {
    Sleep((microseconds + 999) / 1000);
  }
  if (timer != nullptr) CloseHandle(timer);
}

Mutex::Mutex() { InitializeSRWLock(new (state_) SRWLOCK); }
void Mutex::Acquire() { AcquireSRWLockExclusive(SystemOf<SRWLOCK>(state_)); }
void Mutex::Release() { ReleaseSRWLockExclusive(SystemOf<SRWLOCK>(state_)); }

Condition::Condition() { InitializeConditionVariable(new (state_) CONDITION_VARIABLE); }
void Condition::Wait(Mutex* mutex) {
  SleepConditionVariableSRW(SystemOf<CONDITION_VARIABLE>(state_), SystemOf<SRWLOCK>(mutex->state_), INFINITE, 0);
}
void Condition::Signal() { WakeConditionVariable(SystemOf<CONDITION_VARIABLE>(state_)); }
void Condition::Broadcast() { WakeAllConditionVariable(SystemOf<CONDITION_VARIABLE>(state_)); }

void* AllocateMemory(size_t nbytes) { return _aligned_malloc(nbytes, kAlignment); }
void FreeMemory(void* block) { _aligned_free(block); }

size_t MappedLength(size_t nbytes) { return nbytes; }

void* MapZeroed(size_t nbytes, void** base) {
  *base = VirtualAlloc(nullptr, nbytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  return *base;
}
void ReturnFreePages() {}

void UnmapMemory(void* base, size_t) { VirtualFree(base, 0, MEM_RELEASE); }

bool IsPagePresent(const void*) { return true; }

static const char* NameOf(DWORD problem) {
  switch (problem) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME: return "ENOENT";
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION: return "EACCES";
    case ERROR_TOO_MANY_OPEN_FILES: return "EMFILE";
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_COMMITMENT_LIMIT: return "ENOMEM";
    case ERROR_FILENAME_EXCED_RANGE: return "ENAMETOOLONG";
    default: return "EIO";
  }
}

alignas(256) static char empty_file[256];

static HANDLE HandleOf(const OpenedFile& opened) { return reinterpret_cast<HANDLE>(opened.handle); }

const char* OpenFile(const char* path, OpenedFile* opened) {
  WideText wide(path);
  if (wide.get() == nullptr) return "ENOMEM";
  // Other programs may replace or delete the file while it is mapped, as far as the system allows.
  HANDLE file = CreateFileW(wide.get(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                            OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    const char* problem = NameOf(GetLastError());
    const DWORD attributes = GetFileAttributesW(wide.get());
    // The system denies access to a folder.
    const bool is_folder = attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    return is_folder ? "EISDIR" : problem;
  }
  LARGE_INTEGER size;
  const char* problem = nullptr;
  if (GetFileType(file) != FILE_TYPE_DISK) {
    problem = "ENODEV";
  } else if (!GetFileSizeEx(file, &size)) {
    problem = NameOf(GetLastError());
  }
  if (problem != nullptr) {
    CloseHandle(file);
    return problem;
  }
  *opened = {reinterpret_cast<intptr_t>(file), static_cast<uint64_t>(size.QuadPart)};
  return nullptr;
}

void CloseFile(const OpenedFile& opened) { CloseHandle(HandleOf(opened)); }

const char* MapFile(const OpenedFile& opened, bool is_writable, void** data) {
  *data = empty_file;
  if (opened.nbytes == 0) return nullptr;
  const DWORD protection = is_writable ? PAGE_WRITECOPY : PAGE_READONLY;
  HANDLE mapping = CreateFileMappingW(HandleOf(opened), nullptr, protection, 0, 0, nullptr);
  if (mapping == nullptr) return NameOf(GetLastError());
  void* memory = MapViewOfFile(mapping, is_writable ? FILE_MAP_COPY : FILE_MAP_READ, 0, 0, 0);
  const DWORD problem = GetLastError();
  CloseHandle(mapping);  // the view keeps the mapping alive
  if (memory == nullptr) return NameOf(problem);
  *data = memory;
  return nullptr;
}

const char* ReadFile(const OpenedFile& opened, void* data) {
  static const uint64_t kMost = 1u << 30;  // the system takes 32 bits
  for (uint64_t at = 0; at < opened.nbytes;) {
    const uint64_t left = opened.nbytes - at;
    DWORD count = 0;
    char* into = static_cast<char*>(data) + at;
    if (!::ReadFile(HandleOf(opened), into, static_cast<DWORD>(left < kMost ? left : kMost), &count, nullptr)) {
      return NameOf(GetLastError());
    }
    if (count == 0) return "ESTALE";
    at += count;
  }
  return nullptr;
}

uint64_t MaxMappings() { return 0; }

void UnmapFile(void* data, uint64_t nbytes) {
  if (nbytes > 0) UnmapViewOfFile(data);
}

// Named memory, which Windows removes when no process has it open. Run under Wine only.

static HANDLE HandleOf(int file) { return reinterpret_cast<HANDLE>(static_cast<intptr_t>(file)); }

const char* CreateSharedMemory(const char* name, uint64_t nbytes, SharedMemory* made) {
  if (name == nullptr) return "ENOSYS";
  WideText wide(name);
  if (wide.get() == nullptr) return "ENOMEM";
  const uint64_t size = nbytes == 0 ? 1 : nbytes;
  HANDLE mapping = CreateFileMappingW(INVALID_HANDLE_VALUE, nullptr, PAGE_READWRITE, static_cast<DWORD>(size >> 32),
                                      static_cast<DWORD>(size), wide.get());
  // ERROR_INVALID_HANDLE: an object that is not memory, such as an event, has the name.
  if (mapping == nullptr) return GetLastError() == ERROR_INVALID_HANDLE ? "EEXIST" : NameOf(GetLastError());
  if (GetLastError() == ERROR_ALREADY_EXISTS) {
    CloseHandle(mapping);
    return "EEXIST";
  }
  void* memory = MapViewOfFile(mapping, FILE_MAP_ALL_ACCESS, 0, 0, 0);
  if (memory == nullptr) {
    const char* problem = NameOf(GetLastError());
    CloseHandle(mapping);
    return problem;
  }
  *made = {memory, nbytes, static_cast<int>(reinterpret_cast<intptr_t>(mapping)), 0};
  return nullptr;
}

const char* SealSharedMemory(const char*, const SharedMemory&) { return "ENOSYS"; }

void RemoveSharedName(const char*, const SharedMemory&) {}

void ReleaseSharedMemory(const SharedMemory& memory) {
  UnmapViewOfFile(memory.data);
  CloseHandle(HandleOf(memory.file));
}

const char* OpenSharedMemory(const SharedPlace& place, const SharedAccess& access, SharedMemory* opened) {
  if (place.name == nullptr) return "ENOSYS";
  WideText wide(place.name);
  if (wide.get() == nullptr) return "ENOMEM";
  const DWORD mode = access.is_writable ? FILE_MAP_READ | FILE_MAP_WRITE : FILE_MAP_READ;
  HANDLE mapping = OpenFileMappingW(mode, FALSE, wide.get());
  if (mapping == nullptr) return NameOf(GetLastError());
  void* memory = MapViewOfFile(mapping, mode, 0, 0, 0);
  const DWORD problem = GetLastError();
  CloseHandle(mapping);  // the view keeps the mapping alive
  if (memory == nullptr) return NameOf(problem);
  MEMORY_BASIC_INFORMATION view;
  // The system rounds the size up to whole pages.
  const uint64_t size = VirtualQuery(memory, &view, sizeof(view)) == 0 ? 0 : view.RegionSize;
  if (access.is_ours ? size < opened->nbytes : size == 0) {
    UnmapViewOfFile(memory);
    return "ESTALE";
  }
  *opened = {memory, access.is_ours ? opened->nbytes : size, -1, 0};
  return nullptr;
}

void CloseSharedMemory(const SharedMemory& opened) { UnmapViewOfFile(opened.data); }

bool SignalHandler::Read(Signal) { return false; }
void SignalHandler::Install(Signal) const {}

uint32_t CountProcessors() {
  const DWORD count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return count < 1 ? 1 : count;
}

int64_t LastCacheBytes() { return 0; }

uint32_t ProcessNumber() { return GetCurrentProcessId(); }

uint64_t WallNanoseconds() {
  FILETIME time;
  GetSystemTimePreciseAsFileTime(&time);
  // In units of 100 nanoseconds since 1601.
  const uint64_t ticks = uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime;
  return (ticks - 116444736000000000u) * 100;
}

void OnFork(void (*)()) {}

void BeforeExit(void (*)()) {}

void OnExit(void (*)(int), int) {}

void EndProcess(int status, const char* text) {
  DWORD written;
  if (text != nullptr) {
    WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, static_cast<DWORD>(strlen(text)), &written, nullptr);
  }
  TerminateProcess(GetCurrentProcess(), static_cast<UINT>(status));
  abort();
}

}  // namespace dlpack::platform

#endif
