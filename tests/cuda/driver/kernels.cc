// Modules, and the copy and cast kernels of native/cuda as plain loops over their plan.
#include <stdlib.h>
#include <string.h>

#include "../../../native/cuda/copies/cast_plan.h"
#include "../../../native/cuda/copies/copy_plan.h"
#include "state.h"

using namespace fake;
using namespace dlpack::cuda;

namespace {

constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxGridY = 65535;
constexpr uint32_t kMaxSharedBytes = 48 << 10;

// Divides as the device does, so that a wrong multiplier or shift is detected.
uint32_t Divide(uint32_t n, const PlanAxis& axis, bool* agrees) {
  const uint32_t high = static_cast<uint32_t>((static_cast<uint64_t>(n) * axis.multiplier) >> 32);
  const uint32_t sum = high + n;
  const uint32_t quotient = axis.shift < 32 ? sum >> axis.shift : 0;
  const uint32_t truth = n / axis.length;
  if (quotient != truth && *agrees) {
    Report("error: a plan divides %u by %u with multiplier %u and shift %u and gets %u", n, axis.length,
           axis.multiplier, axis.shift, quotient);
    *agrees = false;
  }
  return truth;
}

bool IsSane(const Kernel& kernel, const CopyPlan& plan) {
  if (plan.ndim > kMaxPlanAxes || (kernel.transposes && plan.ndim < 2)) {
    Report("error: %s with a plan of %u axes", kernel.name.c_str(), plan.ndim);
    return false;
  }
  uint64_t count = 1;
  for (uint32_t i = 0; i < plan.ndim; ++i) count *= plan.axes[i].length;
  if (count != plan.count || count == 0 || count >= uint64_t{1} << 31) {
    Report("error: %s with a plan of %u items, and axes of %llu", kernel.name.c_str(), plan.count,
           static_cast<unsigned long long>(count));
    return false;
  }
  const bool contiguous =
      !kernel.transposes || (plan.axes[plan.ndim - 2].source_step == 1 && plan.axes[plan.ndim - 1].target_step == 1);
  if (!contiguous) Report("error: %s with a plan whose last axes do not lie as it needs", kernel.name.c_str());
  if (plan.source % kernel.item != 0 || plan.target % kernel.item != 0) {
    Report("violation: %s with misaligned memory", kernel.name.c_str());
    return false;
  }
  return contiguous;
}

// The bytes from the lowest to the highest item.
Touch RangeOf(const CopyPlan& plan, Address base, size_t item, long long PlanAxis::* step, bool writes) {
  long long low = 0, high = 0;
  for (uint32_t i = 0; i < plan.ndim; ++i) {
    const long long reach = plan.axes[i].*step * (static_cast<long long>(plan.axes[i].length) - 1);
    (reach < 0 ? low : high) += reach;
  }
  const long long size = static_cast<long long>(item);
  return {base + static_cast<Address>(low * size), static_cast<size_t>((high - low + 1) * size), writes};
}

void RunPlan(const Kernel& kernel, const CopyPlan& plan) {
  const char* name = kernel.name.c_str();
  // The tiles of a transpose need no division by the last two lengths.
  const uint32_t divided = kernel.transposes ? plan.ndim - 2 : plan.ndim;
  bool agrees = true;
  for (uint32_t n = 0; n < plan.count; ++n) {
    uint32_t rest = n;
    long long from = 0, to = 0;
    for (uint32_t i = plan.ndim; i-- > 0;) {
      const PlanAxis& axis = plan.axes[i];
      const bool divides = i > 0 && i < divided;
      const uint32_t quotient = i == 0 ? 0 : divides ? Divide(rest, axis, &agrees) : rest / axis.length;
      const long long index = rest - quotient * axis.length;
      from += index * axis.source_step;
      to += index * axis.target_step;
      rest = quotient;
    }
    const size_t before = machine().errors.size();
    char item[16];
    const long long size = static_cast<long long>(kernel.item);
    Read(name, plan.source + static_cast<Address>(from * size), kernel.item, item);
    Write(name, plan.target + static_cast<Address>(to * size), kernel.item, item);
    // On a device the first bad access ends the kernel.
    if (machine().errors.size() != before) return;
  }
}

// A cast kernel: the bytes of an element before and after, and how one is converted. Lookups have a plan of their own.
struct CastKernel {
  const char* name;
  size_t from_bytes;
  size_t to_bytes;
  uint32_t (*convert)(uint32_t bits, const ScalePlan& plan);  // NULL for lookups
  bool scales;                                                // it has a ScalePlan, whose CastPlan others have
};

template <class From, class To>
uint32_t Convert(uint32_t bits, const ScalePlan& plan) {
  return To::Encode(From::Decode(static_cast<typename From::Unit>(bits)), plan.cast.format);
}

template <class From, class To>
uint32_t ConvertScaled(uint32_t bits, const ScalePlan& plan) {
  return ScaleTo<From, To>(static_cast<typename From::Unit>(bits), plan);
}

template <class From>
uint32_t ConvertToByte(uint32_t bits, const ScalePlan& plan) {
  const ByteFormat& format = plan.cast.format;
  const typename From::Unit unit = static_cast<typename From::Unit>(bits);
  return format.is_fnuz != 0 ? From::template ToByte<true>(unit, format) : From::template ToByte<false>(unit, format);
}

const CastKernel kCasts[] = {
    {"lookup_1", 1, 1, nullptr, false},
    {"lookup_2", 1, 2, nullptr, false},
    {"lookup_4", 1, 4, nullptr, false},
    {"cast_f32_f16", 4, 2, Convert<F32, F16>, false},
    {"cast_f32_bf16", 4, 2, Convert<F32, BF16>, false},
    {"cast_f32_f8", 4, 1, Convert<F32, F8>, false},
    {"cast_f16_f32", 2, 4, Convert<F16, F32>, false},
    {"cast_f16_bf16", 2, 2, Convert<F16, BF16>, false},
    {"cast_f16_f8", 2, 1, ConvertToByte<F16>, false},
    {"cast_bf16_f32", 2, 4, Convert<BF16, F32>, false},
    {"cast_bf16_f16", 2, 2, Convert<BF16, F16>, false},
    {"cast_bf16_f8", 2, 1, ConvertToByte<BF16>, false},
    {"scale_f16_f8", 2, 1, ConvertScaled<F16, F8>, true},
    {"scale_f16_f16", 2, 2, ConvertScaled<F16, F16>, true},
    {"scale_f16_bf16", 2, 2, ConvertScaled<F16, BF16>, true},
    {"scale_f16_f32", 2, 4, ConvertScaled<F16, F32>, true},
    {"scale_bf16_f8", 2, 1, ConvertScaled<BF16, F8>, true},
    {"scale_bf16_f16", 2, 2, ConvertScaled<BF16, F16>, true},
    {"scale_bf16_bf16", 2, 2, ConvertScaled<BF16, BF16>, true},
    {"scale_bf16_f32", 2, 4, ConvertScaled<BF16, F32>, true},
    {"scale_f32_f8", 4, 1, ConvertScaled<F32, F8>, true},
    {"scale_f32_f16", 4, 2, ConvertScaled<F32, F16>, true},
    {"scale_f32_bf16", 4, 2, ConvertScaled<F32, BF16>, true},
    {"scale_f32_f32", 4, 4, ConvertScaled<F32, F32>, true},
};

// Elements that one block converts, as cast_kernels.cu divides the work.
uint64_t PerBlock(const CastKernel& kernel) {
  const size_t widest = kernel.from_bytes > kernel.to_bytes ? kernel.from_bytes : kernel.to_bytes;
  return kCastThreads * (kernel.scales ? kScaleVectors : kCastVectors) * (16 / widest) *
         (kernel.convert == nullptr ? kLookupRounds : 1);
}

void RunCast(const CastKernel& kernel, const ScalePlan& scaled, const uint32_t* table) {
  const CastPlan& plan = scaled.cast;
  for (uint64_t i = 0; i < plan.count; ++i) {
    const size_t before = machine().errors.size();
    uint32_t bits = 0;
    Read(kernel.name, plan.source + i * kernel.from_bytes, kernel.from_bytes, reinterpret_cast<char*>(&bits));
    const uint32_t result = kernel.convert == nullptr ? table[bits] : kernel.convert(bits, scaled);
    Write(kernel.name, plan.target + i * kernel.to_bytes, kernel.to_bytes, reinterpret_cast<const char*>(&result));
    if (machine().errors.size() != before) return;
  }
}

// The plan of a launch; all plans begin with the same fields.
Result QueueCast(Stream* stream, const CastKernel& kernel, const void* parameters, uint32_t blocks) {
  ScalePlan scaled = {};
  LookupPlan lookup = {};
  CastPlan& plan = scaled.cast;
  if (kernel.convert == nullptr) {
    memcpy(&lookup, parameters, sizeof lookup);
    plan = {lookup.source, lookup.target, lookup.count, lookup.is_wide, {}};
  } else {
    memcpy(&scaled, parameters, kernel.scales ? sizeof scaled : sizeof plan);
  }
  const uint64_t per_block = PerBlock(kernel);
  const size_t widest = kernel.from_bytes > kernel.to_bytes ? kernel.from_bytes : kernel.to_bytes;
  const size_t at_once = plan.is_wide != 0 ? 16 / widest : 1;
  if (plan.count == 0 || blocks != (plan.count + per_block - 1) / per_block) {
    Report("error: %s for %llu elements in %u blocks", kernel.name, plan.count, blocks);
    return kInvalidValue;
  }
  if (plan.source % (at_once * kernel.from_bytes) != 0 || plan.target % (at_once * kernel.to_bytes) != 0) {
    Report("violation: %s with misaligned memory", kernel.name);
    return kInvalidValue;
  }
  const std::vector<Touch> touches{{plan.source, static_cast<size_t>(plan.count) * kernel.from_bytes, false},
                                   {plan.target, static_cast<size_t>(plan.count) * kernel.to_bytes, true}};
  Enqueue(stream, kernel.name, touches, [kernel, scaled, lookup] { RunCast(kernel, scaled, lookup.table); });
  return kSuccess;
}

bool IsKernel(const std::string& name, Kernel* kernel) {
  for (const CastKernel& cast : kCasts) {
    if (name != cast.name) continue;
    *kernel = {name, 1, false, static_cast<int>(&cast - kCasts), nullptr};
    return true;
  }
  for (const char* prefix : {"strided_copy_", "transpose_copy_"}) {
    for (size_t item = 1; item <= 16; item *= 2) {
      if (name != prefix + std::to_string(item)) continue;
      *kernel = {name, item, prefix[0] == 't', -1, nullptr};
      return true;
    }
  }
  return false;
}

// Whether the text contains the name as a whole word: strided_copy_16 does not mention strided_copy_1.
bool Mentions(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if (end == text.size() || (!isalnum(static_cast<unsigned char>(text[end])) && text[end] != '_')) return true;
  }
  return false;
}

}  // namespace

FAKE_EXPORT(ModuleLoadData, cuModuleLoadData)(dlpack::cuda::Module* module, const void* image) {
  ENTER("cuModuleLoadData");
  if (module == nullptr || image == nullptr) return kInvalidValue;
  const Result forbidden = Forbidden("cuModuleLoadData");
  if (forbidden != kSuccess) return forbidden;
  LoadedModule* made = new LoadedModule{static_cast<const char*>(image), Current()};
  machine().modules.insert(made);
  *module = made;
  return kSuccess;
}

FAKE_EXPORT(ModuleGetFunction, cuModuleGetFunction)(dlpack::cuda::Function* function, dlpack::cuda::Module module,
                                                    const char* name) {
  ENTER("cuModuleGetFunction");
  LoadedModule* loaded = static_cast<LoadedModule*>(module);
  if (machine().modules.count(loaded) == 0) return kInvalidHandle;
  Kernel kernel;
  if (!IsKernel(name, &kernel) || !Mentions(loaded->text, name)) return kNotFound;
  kernel.context = loaded->context;
  kernel.module = loaded;
  Kernel* made = new Kernel(kernel);
  machine().kernels.insert(made);
  *function = made;
  return kSuccess;
}

FAKE_EXPORT(ModuleUnload, cuModuleUnload)(dlpack::cuda::Module module) {
  ENTER("cuModuleUnload");
  LoadedModule* loaded = static_cast<LoadedModule*>(module);
  if (machine().modules.erase(loaded) == 0) return kInvalidHandle;
  for (auto kernel = machine().kernels.begin(); kernel != machine().kernels.end();) {
    kernel = (*kernel)->module == loaded ? machine().kernels.erase(kernel) : std::next(kernel);
  }
  return kSuccess;
}

FAKE_EXPORT(LaunchKernel, cuLaunchKernel)(dlpack::cuda::Function function, uint32_t grid_x, uint32_t grid_y,
                                          uint32_t grid_z, uint32_t block_x, uint32_t block_y, uint32_t block_z,
                                          uint32_t shared_bytes, StreamHandle stream, void** parameters, void** extra) {
  ENTER("cuLaunchKernel");
  const Kernel* kernel = static_cast<Kernel*>(function);
  if (machine().kernels.count(static_cast<Kernel*>(function)) == 0) return kInvalidHandle;
  if (kernel->context != Current()) return kInvalidContext;
  Result code;
  Stream* found = FindStream(stream, &code);
  if (found == nullptr) return code;
  const uint64_t threads = uint64_t{block_x} * block_y * block_z;
  if (grid_x == 0 || grid_y == 0 || grid_z == 0 || threads == 0 || threads > kMaxThreads || block_z > 64 ||
      grid_x > 2147483647u || grid_y > kMaxGridY || grid_z > kMaxGridY || shared_bytes > kMaxSharedBytes ||
      parameters == nullptr || extra != nullptr) {
    Report("error: a launch of %s with grid %u %u %u, block %u %u %u and %u shared bytes", kernel->name.c_str(), grid_x,
           grid_y, grid_z, block_x, block_y, block_z, shared_bytes);
    return kInvalidValue;
  }
  code = Accepts(found);
  if (code != kSuccess) return code;
  if (kernel->cast >= 0) return QueueCast(found, kCasts[kernel->cast], parameters[0], grid_x);
  CopyPlan plan;
  memcpy(&plan, parameters[0], sizeof plan);
  if (!IsSane(*kernel, plan)) return kInvalidValue;
  const std::vector<Touch> touches{RangeOf(plan, plan.source, kernel->item, &PlanAxis::source_step, false),
                                   RangeOf(plan, plan.target, kernel->item, &PlanAxis::target_step, true)};
  Enqueue(found, kernel->name, touches, [copy = *kernel, plan] { RunPlan(copy, plan); });
  return kSuccess;
}
