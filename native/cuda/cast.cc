// Casts on a device, between contiguous elements of two storages. JavaScript thread.
#include <string.h>

#include "../platform/platform.h"
#include "cast_plan.h"
#include "context.h"
#include "uses.h"
#if DLPACK_HAS_CUDA && __has_include("cast_kernels_ptx.h")
#include "cast_kernels_ptx.h"
#else
static const char kCastKernelsPtx[] = "";
#endif

namespace dlpack::cuda {

namespace {

// Types that kernels know. kByte is a source of one byte of any type, or a target of a float8 type.
enum CastType : uint32_t { kByte, kHalf, kBrain, kSingle, kCastTypes };

uint32_t BytesOf(uint32_t type) { return type == kByte ? 1 : type == kSingle ? 4 : 2; }

// Lookups come first, by the logarithm of the target's bytes; then casts, as KernelOf finds them.
const char* const kNames[kCastKernels] = {"lookup_1",      "lookup_2",     "lookup_4",     "cast_f16_f8",
                                          "cast_f16_bf16", "cast_f16_f32", "cast_bf16_f8", "cast_bf16_f16",
                                          "cast_bf16_f32", "cast_f32_f8",  "cast_f32_f16", "cast_f32_bf16"};

// -1 when there is none.
int KernelOf(uint32_t from, uint32_t to, uint32_t target_bytes) {
  if (from == kByte) return target_bytes == 1 ? 0 : target_bytes == 2 ? 1 : target_bytes == 4 ? 2 : -1;
  if (from == to) return -1;
  return 3 * static_cast<int>(from) + static_cast<int>(to) - (to > from ? 1 : 0);
}

Result Launch(Function function, uint64_t count, uint64_t per_block, void* plan, StreamHandle stream) {
  const uint64_t blocks = (count + per_block - 1) / per_block;
  if (blocks > 0x7fffffffu) return kNotSupported;
  void* parameters[] = {plan};
  return driver.LaunchKernel(function, static_cast<uint32_t>(blocks), 1, 1, kCastThreads, 1, 1, 0, stream, parameters,
                             nullptr);
}

// The address of `nbytes` bytes at an offset of a storage; 0 when they do not lie inside.
uint64_t AddressIn(const Storage* storage, double offset, uint64_t nbytes) {
  if (storage == nullptr || !IsSize(offset) || nbytes > storage->nbytes) return 0;
  const uint64_t start = static_cast<uint64_t>(offset);
  return start <= storage->nbytes - nbytes ? reinterpret_cast<uint64_t>(storage->data) + start : 0;
}

// Queues the cast. kNotSupported, with nothing queued, when there is no such kernel. The device's context is current.
Result QueueCast(Device* device, const CastStep& step, uint64_t source, uint64_t target, uint32_t target_bytes) {
  const int kernel = KernelOf(step.from_type, step.to_type, target_bytes);
  if (kernel < 0) return kNotSupported;
  const Result result = LoadKernels(kCastKernelsPtx, kNames, kCastKernels, device->casts);
  if (result != kSuccess) return result;
  const uint64_t count = static_cast<uint64_t>(step.count);
  const uint32_t from_bytes = BytesOf(step.from_type);
  const uint64_t at_once = 16 / (from_bytes > target_bytes ? from_bytes : target_bytes);
  const bool is_wide = source % (at_once * from_bytes) == 0 && target % (at_once * target_bytes) == 0;
  const uint64_t per_block = kCastThreads * kCastVectors * at_once;
  if (step.from_type == kByte) {
    LookupPlan plan = {source, target, count, is_wide, {}};
    memcpy(plan.table, step.table, sizeof(plan.table));
    return Launch(device->casts[kernel], count, per_block * kLookupRounds, &plan, StreamOf(&step));
  }
  const ByteFormat format = {static_cast<int>(step.shift & 31), step.normal, step.last, step.nan, step.is_fnuz,
                             static_cast<float>(step.scale),    step.limit};
  CastPlan plan = {source, target, count, is_wide, format};
  return Launch(device->casts[kernel], count, per_block, &plan, StreamOf(&step));
}

Result CastBinding(CudaContext* self, CastStep* step, Device* device) {
  if (step->from_type >= kCastTypes || step->to_type >= kCastTypes || !IsSize(step->count) || step->count < 1) {
    return kInvalidValue;
  }
  const uint64_t count = static_cast<uint64_t>(step->count);
  const uint32_t target_bytes = step->from_type == kByte ? step->target_bytes : BytesOf(step->to_type);
  if (target_bytes > 4 || count > UINT64_MAX / 4) return kInvalidValue;
  Storage* sides[] = {GetHeld(self->instance, step->from_handle), GetHeld(self->instance, step->to_handle)};
  const uint64_t source = AddressIn(sides[0], step->from_offset, count * BytesOf(step->from_type));
  const uint64_t target = AddressIn(sides[1], step->to_offset, count * target_bytes);
  if (source == 0 || target == 0) return kInvalidValue;
  return UseOnStream(StreamRef{device, StreamOf(step)}, {sides[0], sides[1]},
                     [&] { return QueueCast(device, *step, source, target, target_bytes); });
}

}  // namespace

const NamedFunction kCastFunctions[] = {{"cast", DeviceBinding<CastBinding>::Call}, {}};

}  // namespace dlpack::cuda
