#include "copy.h"

#include "../../platform/platform.h"
#include "copy_plan.h"
#if DLPACK_HAS_CUDA && __has_include("copy_kernels_ptx.h")
#include "copy_kernels_ptx.h"
#else
static const char kCopyKernelsPtx[] = "";
#endif

namespace dlpack::cuda {

namespace {

// In the order of Device::copies.
const char* const kNames[2 * kItemSizes] = {
    "strided_copy_1",   "strided_copy_2",   "strided_copy_4",   "strided_copy_8",   "strided_copy_16",
    "transpose_copy_1", "transpose_copy_2", "transpose_copy_4", "transpose_copy_8", "transpose_copy_16"};

// Rows and columns of a matrix that one block of transpose_copy moves; the same as in copy_kernels.cu. Measured on an
// H200: these reach nine tenths of the copy bandwidth; smaller tiles have too few requests in flight and reach half of
// it.
const struct {
  uint32_t rows;
  uint32_t columns;
} kTiles[kItemSizes] = {{256, 128}, {128, 128}, {128, 64}, {64, 32}, {32, 32}};

Address AsAddress(const void* pointer) { return reinterpret_cast<Address>(pointer); }

bool IsBlock(const DeviceCopy& request) {
  return request.ndim == 0 ||
         (request.ndim == 1 && request.source_steps[0] == request.item && request.target_steps[0] == request.item);
}

Result QueueBlock(const DeviceCopy& request, StreamHandle stream) {
  const int64_t items = request.ndim == 0 ? 1 : request.shape[0];
  return driver.MemcpyAsync(AsAddress(request.target), AsAddress(request.source),
                            static_cast<size_t>(items * request.item), stream);
}

// Rows of the same length at a fixed distance. The copy engine supports these directly, also over the bus.
bool IsPitched(const DeviceCopy& request) {
  if (request.ndim != 2 || request.source_steps[1] != request.item || request.target_steps[1] != request.item)
    return false;
  const int64_t width = request.shape[1] * request.item;
  return request.source_steps[0] >= width && request.target_steps[0] >= width;
}

Result QueuePitched(const DeviceCopy& request, StreamHandle stream) {
  Copy2D copy = {};
  copy.source_type = request.is_source_reachable ? kMemoryUnified : kMemoryHost;
  copy.source_host = request.source;
  copy.source_device = AsAddress(request.source);
  copy.source_pitch = static_cast<size_t>(request.source_steps[0]);
  copy.target_type = request.is_target_reachable ? kMemoryUnified : kMemoryHost;
  copy.target_host = request.target;
  copy.target_device = AsAddress(request.target);
  copy.target_pitch = static_cast<size_t>(request.target_steps[0]);
  copy.width = static_cast<size_t>(request.shape[1] * request.item);
  copy.height = static_cast<size_t>(request.shape[0]);
  return driver.Memcpy2DAsync(&copy, stream);
}

// Division by multiplication, see copy_plan.h.
PlanAxis MakeAxis(int64_t length, int64_t source_step, int64_t target_step) {
  PlanAxis axis = {};
  axis.length = static_cast<uint32_t>(length);
  while ((uint64_t{1} << axis.shift) < axis.length) ++axis.shift;
  axis.multiplier =
      static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << axis.shift) - axis.length)) / axis.length + 1);
  axis.source_step = source_step;
  axis.target_step = target_step;
  return axis;
}

bool IsMultiple(const DeviceCopy& request, int64_t size) {
  if ((AsAddress(request.source) | AsAddress(request.target)) % static_cast<uint64_t>(size) != 0) return false;
  for (int32_t i = 0; i + 1 < request.ndim; ++i) {
    if (request.source_steps[i] % size != 0 || request.target_steps[i] % size != 0) return false;
  }
  return request.shape[request.ndim - 1] * request.item % size == 0;
}

// Contiguous items are copied in words as wide as the addresses and the sizes allow.
void Widen(DeviceCopy* request) {
  const int32_t last = request->ndim - 1;
  if (request->source_steps[last] != request->item || request->target_steps[last] != request->item) return;
  int64_t wide = 16;
  while (wide > request->item && !IsMultiple(*request, wide)) wide /= 2;
  if (wide <= request->item) return;
  request->shape[last] = request->shape[last] * request->item / wide;
  request->source_steps[last] = request->target_steps[last] = wide;
  request->item = wide;
}

// Splits items whose memory is aligned only for a part of them, which is possible for complex numbers.
bool Narrow(DeviceCopy* request) {
  int64_t part = request->item;
  while ((AsAddress(request->source) | AsAddress(request->target)) % static_cast<uint64_t>(part) != 0) part /= 2;
  if (part == request->item) return true;
  if (request->ndim == kMaxNdim) return false;
  request->shape[request->ndim] = request->item / part;
  request->source_steps[request->ndim] = request->target_steps[request->ndim] = part;
  request->item = part;
  ++request->ndim;
  return true;
}

// The axis along which the source is contiguous, when the target is contiguous along the last; -1 without such an axis.
int32_t TransposedAxis(const DeviceCopy& request) {
  const int32_t last = request.ndim - 1;
  if (request.target_steps[last] != request.item || request.source_steps[last] == request.item) return -1;
  for (int32_t i = last - 1; i >= 0; --i) {
    if (request.source_steps[i] == request.item && request.shape[i] >= 8 && request.shape[last] >= 8) return i;
  }
  return -1;
}

// One launch: at most kMaxPlanAxes axes and less than 2^31 items.
Result Launch(const Device* device, const DeviceCopy& request, int64_t count, StreamHandle stream) {
  const int log_size = __builtin_ctzll(static_cast<uint64_t>(request.item));
  CopyPlan plan = {};
  plan.source = AsAddress(request.source);
  plan.target = AsAddress(request.target);
  plan.count = static_cast<uint32_t>(count);
  const int32_t rows = TransposedAxis(request);
  const int32_t last = request.ndim - 1;
  uint64_t matrices = 1;
  const auto add_axis = [&](int32_t i) {
    plan.axes[plan.ndim++] =
        MakeAxis(request.shape[i], request.source_steps[i] / request.item, request.target_steps[i] / request.item);
  };
  for (int32_t i = 0; i < request.ndim; ++i) {
    if (rows >= 0 && (i == rows || i == last)) continue;
    matrices *= static_cast<uint64_t>(request.shape[i]);
    add_axis(i);
  }
  if (rows >= 0) {
    add_axis(rows);
    add_axis(last);
  }
  const auto& tile = kTiles[log_size];
  const uint64_t per_block = uint64_t{kCopyThreads} * kCopyItems;
  const uint64_t blocks = rows < 0
                              ? (static_cast<uint64_t>(count) + per_block - 1) / per_block
                              : matrices * ((static_cast<uint64_t>(request.shape[rows]) + tile.rows - 1) / tile.rows) *
                                    ((static_cast<uint64_t>(request.shape[last]) + tile.columns - 1) / tile.columns);
  void* parameters[] = {&plan};
  Function function = device->copies[rows < 0 ? log_size : kItemSizes + log_size];
  return driver.LaunchKernel(function, static_cast<uint32_t>(blocks), 1, 1, kCopyThreads, 1, 1, 0, stream, parameters,
                             nullptr);
}

// Splits the outermost axis until each launch fits.
Result LaunchPieces(const Device* device, const DeviceCopy& request, StreamHandle stream) {
  int64_t count = 1;
  for (int32_t i = 0; i < request.ndim; ++i) count *= request.shape[i];
  if (request.ndim <= kMaxPlanAxes && count < (int64_t{1} << 31)) return Launch(device, request, count, stream);
  const int64_t length = request.shape[0];
  const int64_t inner = count / length;
  const bool drops_axis = request.ndim > kMaxPlanAxes || inner >= (int64_t{1} << 31);
  const int64_t piece = drops_axis ? 1 : ((int64_t{1} << 31) - 1) / inner;
  for (int64_t at = 0; at < length; at += piece) {
    DeviceCopy part = request;
    part.source += at * request.source_steps[0];
    part.target += at * request.target_steps[0];
    part.shape[0] = length - at < piece ? length - at : piece;
    if (drops_axis && request.ndim > 1) {
      --part.ndim;
      for (int32_t i = 0; i < part.ndim; ++i) {
        part.shape[i] = request.shape[i + 1];
        part.source_steps[i] = request.source_steps[i + 1];
        part.target_steps[i] = request.target_steps[i + 1];
      }
    }
    const Result result = LaunchPieces(device, part, stream);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}

}  // namespace

Result QueueCopy(Device* device, const DeviceCopy& request, StreamHandle stream) {
  if (IsBlock(request)) return QueueBlock(request, stream);
  if (!request.is_source_reachable || !request.is_target_reachable) {
    return IsPitched(request) ? QueuePitched(request, stream) : kNotSupported;
  }
  const Result result = LoadKernels(kCopyKernelsPtx, kNames, 2 * kItemSizes, device->copies);
  if (result != kSuccess) return result;
  DeviceCopy fitted = request;
  if (!Narrow(&fitted)) return kNotSupported;
  Widen(&fitted);
  return LaunchPieces(device, fitted, stream);
}

}  // namespace dlpack::cuda
