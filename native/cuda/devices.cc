#include "devices.h"

#include <atomic>

#include "../lock.h"

namespace dlpack::cuda {

// Freed memory that a pool keeps for the next allocation instead of returning it to the device: a part of the device's
// memory, but not less than this. Returning memory and allocating it again takes a millisecond for each GiB.
static const uint64_t kKeptPart = 16;
static const uint64_t kLeastKept = uint64_t{512} << 20;

static Device devices[kMaxDevices];
static std::atomic<Device*> opened[kMaxDevices];
static Lock devices_lock;

int32_t DeviceCount() {
  int32_t count = 0;
  if (!IsLoaded() || driver.DeviceGetCount(&count) != kSuccess) return 0;
  return count < kMaxDevices ? count : kMaxDevices;
}

static MemoryPool MakePool(Ordinal ordinal, int32_t id) {
  int32_t supported = 0;
  if (driver.DeviceGetAttribute(&supported, kMemoryPoolsSupported, ordinal) != kSuccess || supported == 0)
    return nullptr;
  PoolProperties properties = {};
  properties.allocation_type = 1;
  properties.location_type = 1;
  properties.location_id = id;
  MemoryPool pool = nullptr;
  if (driver.MemPoolCreate(&pool, &properties) != kSuccess) return nullptr;
  size_t total = 0;
  uint64_t kept = driver.DeviceTotalMem(&total, ordinal) == kSuccess ? total / kKeptPart : 0;
  if (kept < kLeastKept) kept = kLeastKept;
  driver.MemPoolSetAttribute(pool, kPoolReleaseThreshold, &kept);
  return pool;
}

// The primary context is retained for the life of the process, because any thread may release tensors at any time.
static Result Open(int32_t id, Device* device) {
  Ordinal ordinal = 0;
  Result result = driver.DeviceGet(&ordinal, id);
  Context context = nullptr;
  if (result == kSuccess) result = driver.DevicePrimaryCtxRetain(&context, ordinal);
  if (result != kSuccess) return result;
  device->id = id;
  device->context = context;
  RelaxedContextScope scope(device);
  device->pool = MakePool(ordinal, id);
  return driver.StreamCreateWithPriority(&device->side_stream, kStreamNonBlocking, 0);
}

bool IsUsed(int32_t id) { return id >= 0 && id < kMaxDevices && opened[id].load(std::memory_order_acquire) != nullptr; }

Device* GetDevice(int32_t id, Result* result) {
  *result = kSuccess;
  if (id >= 0 && id < kMaxDevices) {
    Device* device = opened[id].load(std::memory_order_acquire);
    if (device != nullptr) return device;
  }
  if (id < 0 || id >= DeviceCount()) {
    *result = IsLoaded() ? kInvalidDevice : kNotInitialized;
    return nullptr;
  }
  LockScope scope(&devices_lock);
  Device* device = opened[id].load(std::memory_order_relaxed);
  if (device != nullptr) return device;
  *result = Open(id, &devices[id]);
  if (*result != kSuccess) return nullptr;
  opened[id].store(&devices[id], std::memory_order_release);
  return &devices[id];
}

static Lock kernels_lock;

Result LoadKernels(const char* ptx, const char* const* names, int count, Function* functions) {
  LockScope lock(&kernels_lock);
  if (functions[count - 1] != nullptr) return kSuccess;
  RelaxedScope relaxed;
  Module module = nullptr;
  Result result = driver.ModuleLoadData(&module, ptx);
  for (int i = 0; i < count && result == kSuccess; ++i) {
    result = driver.ModuleGetFunction(&functions[i], module, names[i]);
  }
  if (result != kSuccess) {
    functions[count - 1] = nullptr;
    if (module != nullptr) driver.ModuleUnload(module);  // the next request loads it again
  }
  return result;
}

}  // namespace dlpack::cuda
