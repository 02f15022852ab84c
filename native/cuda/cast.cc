#include "cast.h"

#include <string.h>

#include "../platform/platform.h"
#if DLPACK_HAS_CUDA && __has_include("cast_kernels_ptx.h")
#include "cast_kernels_ptx.h"
#else
static const char kCastKernelsPtx[] = "";
#endif

namespace dlpack::cuda {

namespace {

// Lookups come first, by the logarithm of the target's bytes; then casts, as KernelOf finds them.
const char* const kNames[kCastKernels] = {"lookup_1",      "lookup_2",     "lookup_4",     "cast_f16_f8",
                                          "cast_f16_bf16", "cast_f16_f32", "cast_bf16_f8", "cast_bf16_f16",
                                          "cast_bf16_f32", "cast_f32_f8",  "cast_f32_f16", "cast_f32_bf16"};

// -1 when there is none.
int KernelOf(const CastRequest& request) {
  if (request.from == kByte) {
    return request.target_bytes == 1 ? 0 : request.target_bytes == 2 ? 1 : request.target_bytes == 4 ? 2 : -1;
  }
  if (request.from >= kCastTypes || request.to >= kCastTypes || request.from == request.to) return -1;
  const int skipped = request.to > request.from ? 1 : 0;
  return 3 * static_cast<int>(request.from) + static_cast<int>(request.to) - skipped;
}

Result Launch(Function function, uint64_t count, uint64_t per_block, void* plan, StreamHandle stream) {
  const uint64_t blocks = (count + per_block - 1) / per_block;
  if (blocks > 0x7fffffffu) return kNotSupported;
  void* parameters[] = {plan};
  return driver.LaunchKernel(function, static_cast<uint32_t>(blocks), 1, 1, kCastThreads, 1, 1, 0, stream, parameters,
                             nullptr);
}

}  // namespace

Result QueueCast(Device* device, const CastRequest& request, StreamHandle stream) {
  const int kernel = KernelOf(request);
  if (kernel < 0) return kNotSupported;
  const Result result = LoadKernels(kCastKernelsPtx, kNames, kCastKernels, device->casts);
  if (result != kSuccess) return result;
  const uint64_t source = reinterpret_cast<uint64_t>(request.source);
  const uint64_t target = reinterpret_cast<uint64_t>(request.target);
  const uint32_t from_bytes = BytesOf(request.from);
  const uint32_t widest = from_bytes > request.target_bytes ? from_bytes : request.target_bytes;
  const uint64_t at_once = 16 / widest;
  const bool is_wide = source % (at_once * from_bytes) == 0 && target % (at_once * request.target_bytes) == 0;
  const uint64_t per_block = kCastThreads * kCastVectors * at_once;
  if (request.from == kByte) {
    LookupPlan plan = {source, target, request.count, is_wide, {}};
    memcpy(plan.table, request.table, sizeof(plan.table));
    return Launch(device->casts[kernel], request.count, per_block * kLookupRounds, &plan, stream);
  }
  CastPlan plan = {source, target, request.count, is_wide, request.format};
  return Launch(device->casts[kernel], request.count, per_block, &plan, stream);
}

}  // namespace dlpack::cuda
