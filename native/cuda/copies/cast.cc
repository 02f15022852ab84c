// Casts on a device, between contiguous elements of two storages. JavaScript thread.
#include <string.h>

#include "../../platform/platform.h"
#include "../context.h"
#include "../streams/uses.h"
#include "cast_plan.h"
#if DLPACK_HAS_CUDA && __has_include("cast_kernels_ptx.h")
#include "cast_kernels_ptx.h"
#include "scale_kernels_ptx.h"
#else
static const char kCastKernelsPtx[] = "";
static const char kScaleKernelsPtx[] = "";
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

// By the type of the source, and then of the target.
const char* const kScaleNames[kScaleKernels] = {"scale_f16_f8",  "scale_f16_f16",  "scale_f16_bf16",  "scale_f16_f32",
                                                "scale_bf16_f8", "scale_bf16_f16", "scale_bf16_bf16", "scale_bf16_f32",
                                                "scale_f32_f8",  "scale_f32_f16",  "scale_f32_bf16",  "scale_f32_f32"};

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

// A checked cast.
struct CastRequest {
  uint32_t from_type;
  uint32_t to_type;
  uint32_t target_bytes;
  uint64_t source;
  uint64_t target;
  uint64_t count;
  ByteFormat format;
  const uint8_t* table;   // of 256 words, for a source of one byte
  const double* scaling;  // a scale and an offset, for other sources; NULL without
};

// Queues the cast. kNotSupported, with nothing queued, when there is no such kernel. The device's context is current.
Result QueueCast(Device* device, const CastRequest& request, StreamHandle stream) {
  const bool is_scaled = request.scaling != nullptr;
  const int kernel = is_scaled ? static_cast<int>((request.from_type - kHalf) * kCastTypes + request.to_type)
                               : KernelOf(request.from_type, request.to_type, request.target_bytes);
  if (kernel < 0) return kNotSupported;
  const Result result = is_scaled ? LoadKernels(kScaleKernelsPtx, kScaleNames, kScaleKernels, device->scales)
                                  : LoadKernels(kCastKernelsPtx, kNames, kCastKernels, device->casts);
  if (result != kSuccess) return result;
  const uint32_t from_bytes = BytesOf(request.from_type);
  const uint64_t at_once = 16 / (from_bytes > request.target_bytes ? from_bytes : request.target_bytes);
  const bool is_wide =
      request.source % (at_once * from_bytes) == 0 && request.target % (at_once * request.target_bytes) == 0;
  const uint64_t per_block = at_once * kCastThreads * (is_scaled ? kScaleVectors : kCastVectors);
  if (request.from_type == kByte) {
    LookupPlan plan = {request.source, request.target, request.count, is_wide, {}};
    memcpy(plan.table, request.table, sizeof(plan.table));
    return Launch(device->casts[kernel], request.count, per_block * kLookupRounds, &plan, stream);
  }
  const CastPlan plan = {request.source, request.target, request.count, is_wide, request.format};
  ScalePlan scaled = {plan, 1, 0};
  if (!is_scaled) return Launch(device->casts[kernel], request.count, per_block, &scaled.cast, stream);
  scaled.scale = static_cast<float>(request.scaling[0]);
  scaled.offset = static_cast<float>(request.scaling[1]);
  return Launch(device->scales[kernel], request.count, per_block, &scaled, stream);
}

// The numbers of a float8 format that is the target, in the order of src/cuda/copies/cast.ts.
enum FormatNumber { kShift, kNormal, kLast, kNan, kIsFnuz, kLimit, kScale, kFormatNumbers };

bool ReadFormat(const Elements<double>& numbers, ByteFormat* format) {
  if (numbers.length < kFormatNumbers) return false;
  uint32_t words[kFormatNumbers];
  for (int i = 0; i < kScale; ++i) {
    if (!(numbers.data[i] >= 0 && numbers.data[i] <= UINT32_MAX)) return false;
    words[i] = static_cast<uint32_t>(numbers.data[i]);
  }
  *format = {static_cast<int>(words[kShift] & 31),     words[kNormal], words[kLast], words[kNan], words[kIsFnuz],
             static_cast<float>(numbers.data[kScale]), words[kLimit]};
  return true;
}

// cast(device, stream, source, sourceOffset, target, targetOffset, count, fromType, toType, targetBytes, format,
// table, scaling): handles of storages, offsets in bytes, CastTypes. `format` is for a float8 target, `table` for a
// source of one byte, `scaling` a scale and an offset for other sources.
Result CastBinding(CudaContext* self, Device* device, StreamHandle stream, uint32_t source, double source_offset,
                   uint32_t target, double target_offset, double count, uint32_t from_type, uint32_t to_type,
                   uint32_t target_bytes, Elements<double> format, Elements<uint8_t> table, Elements<double> scaling) {
  if (from_type >= kCastTypes || to_type >= kCastTypes || !IsSize(count) || count < 1) return kInvalidValue;
  CastRequest request = {};
  request.from_type = from_type;
  request.to_type = to_type;
  request.count = static_cast<uint64_t>(count);
  request.target_bytes = from_type == kByte ? target_bytes : BytesOf(to_type);
  request.table = table.data;
  request.scaling = from_type != kByte && scaling.length == 2 ? scaling.data : nullptr;
  if (request.target_bytes > 4 || request.count > UINT64_MAX / 4) return kInvalidValue;
  if (from_type == kByte ? table.length != sizeof(LookupPlan::table)
                         : to_type == kByte && !ReadFormat(format, &request.format)) {
    return kInvalidValue;
  }
  Storage* sides[] = {GetHeld(self->instance, source), GetHeld(self->instance, target)};
  request.source = AddressIn(sides[0], source_offset, request.count * BytesOf(from_type));
  request.target = AddressIn(sides[1], target_offset, request.count * request.target_bytes);
  if (request.source == 0 || request.target == 0) return kInvalidValue;
  const StreamRef on = {device, Normalize(stream)};
  return UseOnStream(on, {sides[0], sides[1]}, [&] { return QueueCast(device, request, on.handle); });
}

}  // namespace

const NamedFunction kCastFunctions[] = {{"cast", DeviceBinding<CastBinding>::Call}, {}};

}  // namespace dlpack::cuda
