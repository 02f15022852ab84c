// Memory that other processes can open, on Linux and macOS. macOS has named memory only; its part is not run there yet.
#if !defined(_WIN32)

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include "platform.h"
#include "posix.h"

namespace dlpack::platform {

// The path of a name in the form that open or shm_open takes. False when it is too long.
static bool NamedPath(const char* name, char (&path)[300]) {
#if defined(__linux__)
  const int length = snprintf(path, sizeof(path), "/dev/shm/%s", name);
#else
  const int length = snprintf(path, sizeof(path), "/%s", name);
#endif
  return length > 0 && length < static_cast<int>(sizeof(path));
}

#if defined(__linux__)

static const int kOpenFlags = O_CLOEXEC | O_NONBLOCK;

// Numbers of the kernel, because older C libraries have neither the functions nor the constants.
static const unsigned kMemfdCloseOnExec = 1, kMemfdAllowSealing = 2;
static const int kAddSeals = 1033, kGetSeals = 1034;
static const int kSealSeal = 1, kSealShrink = 2, kSealGrow = 4, kSealFutureWrite = 16;

// Old C libraries of these processors have no symbol fstat. The kernel fills in the same struct there, but not on every
// processor.
#if defined(__x86_64__) || defined(__aarch64__)
static bool DescribeFile(int file, struct stat* description) { return syscall(SYS_fstat, file, description) == 0; }
#else
static bool DescribeFile(int file, struct stat* description) { return fstat(file, description) == 0; }
#endif

// shm_open of older C libraries is in a library of its own, and does no more than this.
static int OpenNamed(const char* path, int flags) { return open(path, flags | kOpenFlags | O_NOFOLLOW, 0600); }
static void RemoveName(const char* path) { unlink(path); }

static int MakeUnnamed() {
  return static_cast<int>(syscall(SYS_memfd_create, "dlpack", kMemfdCloseOnExec | kMemfdAllowSealing));
}

// The pages of named memory are reserved, because the folder has a limit, and a page beyond it would end the process.
// A signal interrupts the call, which then reserves nothing. In small pieces each piece succeeds between two signals,
// even those of a profiler.
static bool Reserve(int file, uint64_t nbytes) {
  const uint64_t kPiece = uint64_t{1} << 20;
  for (uint64_t at = 0; at < nbytes;) {
    const uint64_t length = nbytes - at < kPiece ? nbytes - at : kPiece;
    if (fallocate(file, 0, static_cast<off_t>(at), static_cast<off_t>(length)) == 0) {
      at += length;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

static bool SealSize(int file) { return fcntl(file, kAddSeals, kSealShrink | kSealGrow) == 0; }

static const char* SealWriting(int file) {
  // Kernels before 5.1 have no such seal. Openers then still map the memory without write access.
  if (fcntl(file, kAddSeals, kSealFutureWrite | kSealSeal) == 0 || errno == EINVAL) return nullptr;
  // Sealed before.
  return errno == EPERM && (fcntl(file, kGetSeals) & kSealFutureWrite) != 0 ? nullptr : NameOf(errno);
}

static bool IsSealed(int file) {
  const int seals = fcntl(file, kGetSeals);
  return seals >= 0 && (seals & (kSealShrink | kSealGrow)) == (kSealShrink | kSealGrow);
}

static bool DescribePath(const char* path, struct stat* description) {
  const int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_described = DescribeFile(file, description);
  close(file);
  return is_described;
}

// Only if the folder is a file system of its own, in memory, does a file on that file system belong to the folder.
static bool IsAmongNames(int file, const struct stat& description) {
  struct stat folder, parent;
  return fcntl(file, kGetSeals) >= 0 && DescribePath("/dev/shm", &folder) && DescribePath("/dev", &parent) &&
         folder.st_dev != parent.st_dev && description.st_dev == folder.st_dev;
}

// This opens the file anew, so it could grant more access than the descriptor has. The mode of the link is the access
// of the descriptor.
static int OpenUnnamed(uint32_t process, int file, int flags) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%u/fd/%d", process, file);
  struct stat link;
  if (flags == O_RDWR && DescribePath(path, &link) && (link.st_mode & S_IWUSR) == 0) {
    errno = EACCES;
    return -1;
  }
  return open(path, flags | kOpenFlags);
}

#else

static bool DescribeFile(int file, struct stat* description) { return fstat(file, description) == 0; }
static int OpenNamed(const char* path, int flags) { return shm_open(path, flags, 0600); }
static void RemoveName(const char* path) { shm_unlink(path); }
static bool Reserve(int file, uint64_t nbytes) { return ftruncate(file, static_cast<off_t>(nbytes)) == 0; }
static bool SealSize(int) { return false; }
static const char* SealWriting(int) { return "ENOSYS"; }
static bool IsSealed(int) { return false; }
static bool IsAmongNames(int, const struct stat&) { return false; }

static int MakeUnnamed() {
  errno = ENOSYS;
  return -1;
}

static int OpenUnnamed(uint32_t, int, int) {
  errno = ENOSYS;
  return -1;
}

#endif

const char* CreateSharedMemory(const char* name, uint64_t nbytes, SharedMemory* made) {
  char path[300];
  if (name != nullptr && !NamedPath(name, path)) return "ENAMETOOLONG";
  const int file = name == nullptr ? MakeUnnamed() : OpenNamed(path, O_CREAT | O_EXCL | O_RDWR);
  if (file < 0) return errno == ENOSYS ? "ENOSYS" : NameOf(errno);
  struct stat description;
  const bool is_made =
      name == nullptr ? fchmod(file, 0600) == 0 && ftruncate(file, static_cast<off_t>(nbytes)) == 0 && SealSize(file)
                      : Reserve(file, nbytes);
  const char* problem = is_made && DescribeFile(file, &description) ? nullptr : NameOf(errno);
  if (problem == nullptr) {
    *made = {nullptr, nbytes, file, static_cast<uint64_t>(description.st_ino)};
    problem = MapDescriptor(file, nbytes, true, MAP_SHARED, &made->data);
  }
  if (problem != nullptr) {
    if (name != nullptr) RemoveName(path);
    close(file);
  }
  return problem;
}

const char* SealSharedMemory(const char* name, const SharedMemory& memory) {
  if (name == nullptr) return SealWriting(memory.file);
  return fchmod(memory.file, 0400) == 0 ? nullptr : NameOf(errno);
}

void RemoveSharedName(const char* name, const SharedMemory& memory) {
  char path[300];
  const int found = NamedPath(name, path) ? OpenNamed(path, O_RDONLY) : -1;
  if (found < 0) return;
  struct stat description;
  if (DescribeFile(found, &description) && static_cast<uint64_t>(description.st_ino) == memory.number) RemoveName(path);
  close(found);
}

void ReleaseSharedMemory(const SharedMemory& memory) {
  CloseSharedMemory(memory);
  close(memory.file);
}

static const char* MapOpened(int file, const SharedAccess& access, SharedMemory* opened) {
  struct stat description;
  if (!DescribeFile(file, &description)) return NameOf(errno);
  const uint64_t number = static_cast<uint64_t>(description.st_ino);
  const uint64_t nbytes = static_cast<uint64_t>(description.st_size);
#if defined(__linux__)
  if (!S_ISREG(description.st_mode) || (access.is_ours && nbytes != opened->nbytes)) return "ESTALE";
#else
  if (access.is_ours && nbytes < opened->nbytes) return "ESTALE";  // the system rounds up to whole pages
#endif
  if (access.is_ours && number != opened->number) return "ESTALE";
  if (access.is_sealed && !IsSealed(file)) return "ESTALE";
  if (access.is_among_names && !IsAmongNames(file, description)) return "ESTALE";
  if (description.st_uid != geteuid()) return "EACCES";
  if (!access.is_ours) opened->nbytes = nbytes;
  opened->number = number;
  opened->file = -1;
  return MapDescriptor(file, opened->nbytes, access.is_writable, MAP_SHARED, &opened->data);
}

const char* OpenSharedMemory(const SharedPlace& place, const SharedAccess& access, SharedMemory* opened) {
  const int flags = access.is_writable ? O_RDWR : O_RDONLY;
  char path[300];
  if (place.name != nullptr && !NamedPath(place.name, path)) return "ENAMETOOLONG";
  const int file = place.name == nullptr ? OpenUnnamed(place.process, place.file, flags) : OpenNamed(path, flags);
  if (file < 0) return errno == ENOSYS ? "ENOSYS" : NameOf(errno);
  const char* problem = MapOpened(file, access, opened);
  close(file);  // the mapping keeps the memory alive
  return problem;
}

void CloseSharedMemory(const SharedMemory& opened) {
  if (opened.nbytes > 0) munmap(opened.data, static_cast<size_t>(opened.nbytes));
}

}  // namespace dlpack::platform

#endif
