// The kernels that multiply and add while they cast. scripts/make-ptx.py compiles them, by NVRTC, into
// scale_kernels_ptx.h, which is committed: a build needs no CUDA. A module of their own, because the driver compiles a
// module when it is first used, and most programs only cast.
#include "cast_block.h"

using namespace dlpack::cuda;

template <class From, class To>
__device__ inline void Scale(const ScalePlan& plan) {
  typedef typename From::Unit In;
  typedef typename To::Unit Out;
  const CastPlan& cast = plan.cast;
  const unsigned long long first = blockIdx.x * Shape<In, Out, kScaleVectors>::kBlock;
  CastBlock<kScaleVectors>(reinterpret_cast<const In*>(cast.source), reinterpret_cast<Out*>(cast.target), first,
                           cast.count, cast.is_wide != 0, [&](In unit) { return ScaleTo<From, To>(unit, plan); });
}

DLPACK_KERNEL scale_f16_f8(const __grid_constant__ ScalePlan plan) { Scale<F16, F8>(plan); }
DLPACK_KERNEL scale_f16_f16(const __grid_constant__ ScalePlan plan) { Scale<F16, F16>(plan); }
DLPACK_KERNEL scale_f16_bf16(const __grid_constant__ ScalePlan plan) { Scale<F16, BF16>(plan); }
DLPACK_KERNEL scale_f16_f32(const __grid_constant__ ScalePlan plan) { Scale<F16, F32>(plan); }
DLPACK_KERNEL scale_bf16_f8(const __grid_constant__ ScalePlan plan) { Scale<BF16, F8>(plan); }
DLPACK_KERNEL scale_bf16_f16(const __grid_constant__ ScalePlan plan) { Scale<BF16, F16>(plan); }
DLPACK_KERNEL scale_bf16_bf16(const __grid_constant__ ScalePlan plan) { Scale<BF16, BF16>(plan); }
DLPACK_KERNEL scale_bf16_f32(const __grid_constant__ ScalePlan plan) { Scale<BF16, F32>(plan); }
DLPACK_KERNEL scale_f32_f8(const __grid_constant__ ScalePlan plan) { Scale<F32, F8>(plan); }
DLPACK_KERNEL scale_f32_f16(const __grid_constant__ ScalePlan plan) { Scale<F32, F16>(plan); }
DLPACK_KERNEL scale_f32_bf16(const __grid_constant__ ScalePlan plan) { Scale<F32, BF16>(plan); }
DLPACK_KERNEL scale_f32_f32(const __grid_constant__ ScalePlan plan) { Scale<F32, F32>(plan); }
