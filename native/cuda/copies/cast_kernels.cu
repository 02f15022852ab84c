// The cast kernels. scripts/make-ptx.py compiles them, by NVRTC, into cast_kernels_ptx.h, which is committed: a build
// needs no CUDA.
#include "cast_block.h"

using namespace dlpack::cuda;

template <class From, class To>
__device__ inline void Cast(const CastPlan& plan) {
  typedef typename From::Unit In;
  typedef typename To::Unit Out;
  const unsigned long long first = blockIdx.x * Shape<In, Out, kCastVectors>::kBlock;
  CastBlock<kCastVectors>(reinterpret_cast<const In*>(plan.source), reinterpret_cast<Out*>(plan.target), first,
                          plan.count, plan.is_wide != 0,
                          [&](In unit) { return To::Encode(From::Decode(unit), plan.format); });
}

// From two bytes to one.
template <class From>
__device__ inline void CastToByte(const CastPlan& plan) {
  typedef typename From::Unit In;
  const unsigned long long first = blockIdx.x * Shape<In, unsigned char, kCastVectors>::kBlock;
  const In* source = reinterpret_cast<const In*>(plan.source);
  unsigned char* target = reinterpret_cast<unsigned char*>(plan.target);
  if (plan.format.is_fnuz != 0) {
    CastBlock<kCastVectors>(source, target, first, plan.count, plan.is_wide != 0,
                            [&](In unit) { return From::template ToByte<true>(unit, plan.format); });
  } else {
    CastBlock<kCastVectors>(source, target, first, plan.count, plan.is_wide != 0,
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
  constexpr unsigned long long kBlock = Shape<unsigned char, To, kCastVectors>::kBlock;
  const unsigned long long start = blockIdx.x * (kBlock * kLookupRounds);
#pragma unroll 1
  for (int round = 0; round < kLookupRounds; ++round) {
    const unsigned long long first = start + round * kBlock;
    if (first >= plan.count) return;
    CastBlock<kCastVectors>(reinterpret_cast<const unsigned char*>(plan.source), reinterpret_cast<To*>(plan.target),
                            first, plan.count, plan.is_wide != 0,
                            [&](unsigned char code) { return static_cast<To>(table[code][lane]); });
  }
}

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
