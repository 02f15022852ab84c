// The cast kernels. scripts/make-ptx.py compiles them, by NVRTC, into cast_kernels_ptx.h, which is committed: a build
// needs no CUDA.
#include "cast_plan.h"

using namespace dlpack::cuda;

// Elements that a thread reads or writes at once, in words, because PTX moves at most four elements at once.
template <class Unit, int kCount>
struct alignas(sizeof(Unit) * kCount) Vector {
  static constexpr int kPack = 4 / sizeof(Unit);
  unsigned int words[kCount / kPack];

  __device__ Unit Get(int i) const {
    return static_cast<Unit>(words[i / kPack] >> (i % kPack * 8 * static_cast<int>(sizeof(Unit))));
  }
  __device__ void Add(int i, Unit unit) {
    const unsigned int shifted = static_cast<unsigned int>(unit) << (i % kPack * 8 * static_cast<int>(sizeof(Unit)));
    words[i / kPack] = i % kPack == 0 ? shifted : words[i / kPack] | shifted;
  }
};

// As many elements as fit into 16 bytes of the wider side.
template <class From, class To>
struct Shape {
  static constexpr int kWidest = sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To);
  static constexpr int kCount = 16 / kWidest;
  static constexpr unsigned long long kBlock = static_cast<unsigned long long>(kCastThreads) * kCastVectors * kCount;
};

// Converts the elements of one block from `first` on. All loads are under way before the first result is needed.
template <class From, class To, class Convert>
__device__ inline void CastBlock(const From* source, To* target, unsigned long long first, unsigned long long count,
                                 bool is_wide, Convert convert) {
  typedef Shape<From, To> S;
  if (is_wide && first + S::kBlock <= count) {
    typedef Vector<From, S::kCount> In;
    typedef Vector<To, S::kCount> Out;
    const In* in = reinterpret_cast<const In*>(source + first) + threadIdx.x;
    Out* out = reinterpret_cast<Out*>(target + first) + threadIdx.x;
    In given[kCastVectors];
#pragma unroll
    for (int i = 0; i < kCastVectors; ++i) given[i] = in[i * kCastThreads];
#pragma unroll
    for (int i = 0; i < kCastVectors; ++i) {
      Out made;
#pragma unroll
      for (int k = 0; k < S::kCount; ++k) made.Add(k, convert(given[i].Get(k)));
      out[i * kCastThreads] = made;
    }
    return;
  }
  const unsigned long long end = first + S::kBlock < count ? first + S::kBlock : count;
#pragma unroll 1
  for (unsigned long long i = first + threadIdx.x; i < end; i += kCastThreads) target[i] = convert(source[i]);
}

template <class From, class To>
__device__ inline void Cast(const CastPlan& plan) {
  typedef typename From::Unit In;
  typedef typename To::Unit Out;
  const unsigned long long first = blockIdx.x * Shape<In, Out>::kBlock;
  CastBlock(reinterpret_cast<const In*>(plan.source), reinterpret_cast<Out*>(plan.target), first, plan.count,
            plan.is_wide != 0, [&](In unit) { return To::Encode(From::Decode(unit), plan.format); });
}

// From two bytes to one.
template <class From>
__device__ inline void CastToByte(const CastPlan& plan) {
  typedef typename From::Unit In;
  const unsigned long long first = blockIdx.x * Shape<In, unsigned char>::kBlock;
  const In* source = reinterpret_cast<const In*>(plan.source);
  unsigned char* target = reinterpret_cast<unsigned char*>(plan.target);
  if (plan.format.is_fnuz != 0) {
    CastBlock(source, target, first, plan.count, plan.is_wide != 0,
              [&](In unit) { return From::template ToByte<true>(unit, plan.format); });
  } else {
    CastBlock(source, target, first, plan.count, plan.is_wide != 0,
              [&](In unit) { return From::template ToByte<false>(unit, plan.format); });
  }
}

// Each lane of a warp has a copy of the table in a bank of its own, so that lanes never wait for each other.
template <class To>
__device__ inline void Lookup(const LookupPlan& plan) {
  __shared__ unsigned int table[256][32];
  const unsigned int lane = threadIdx.x % 32;
  for (unsigned int code = threadIdx.x / 32; code < 256; code += kCastThreads / 32) {
    table[code][lane] = plan.table[code];
  }
  __syncthreads();
  constexpr unsigned long long kBlock = Shape<unsigned char, To>::kBlock;
  const unsigned long long start = blockIdx.x * (kBlock * kLookupRounds);
#pragma unroll 1
  for (int round = 0; round < kLookupRounds; ++round) {
    const unsigned long long first = start + round * kBlock;
    if (first >= plan.count) return;
    CastBlock(reinterpret_cast<const unsigned char*>(plan.source), reinterpret_cast<To*>(plan.target), first,
              plan.count, plan.is_wide != 0, [&](unsigned char code) { return static_cast<To>(table[code][lane]); });
  }
}

#define DLPACK_KERNEL extern "C" __global__ void __launch_bounds__(kCastThreads)

DLPACK_KERNEL lookup_1(const __grid_constant__ LookupPlan plan) { Lookup<unsigned char>(plan); }
DLPACK_KERNEL lookup_2(const __grid_constant__ LookupPlan plan) { Lookup<unsigned short>(plan); }
DLPACK_KERNEL lookup_4(const __grid_constant__ LookupPlan plan) { Lookup<unsigned int>(plan); }

DLPACK_KERNEL cast_f32_f16(const __grid_constant__ CastPlan plan) { Cast<F32, F16>(plan); }
DLPACK_KERNEL cast_f32_bf16(const __grid_constant__ CastPlan plan) { Cast<F32, BF16>(plan); }
DLPACK_KERNEL cast_f32_f8(const __grid_constant__ CastPlan plan) { Cast<F32, F8>(plan); }
DLPACK_KERNEL cast_f16_f32(const __grid_constant__ CastPlan plan) { Cast<F16, F32>(plan); }
DLPACK_KERNEL cast_f16_bf16(const __grid_constant__ CastPlan plan) { Cast<F16, BF16>(plan); }
DLPACK_KERNEL cast_f16_f8(const __grid_constant__ CastPlan plan) { CastToByte<F16>(plan); }
DLPACK_KERNEL cast_bf16_f32(const __grid_constant__ CastPlan plan) { Cast<BF16, F32>(plan); }
DLPACK_KERNEL cast_bf16_f16(const __grid_constant__ CastPlan plan) { Cast<BF16, F16>(plan); }
DLPACK_KERNEL cast_bf16_f8(const __grid_constant__ CastPlan plan) { CastToByte<BF16>(plan); }
