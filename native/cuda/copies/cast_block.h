// What the kernels of cast_kernels.cu and scale_kernels.cu have in common: one block of threads converts contiguous
// elements. Only NVRTC compiles this file.
#pragma once

#include "cast_plan.h"

#define DLPACK_KERNEL extern "C" __global__ void __launch_bounds__(kCastThreads)

namespace dlpack::cuda {

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

// As many elements as fit into 16 bytes of the wider side, and so many vectors of them for each thread.
template <class From, class To, int kVectors>
struct Shape {
  static constexpr int kWidest = sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To);
  static constexpr int kCount = 16 / kWidest;
  static constexpr unsigned long long kBlock = static_cast<unsigned long long>(kCastThreads) * kVectors * kCount;
};

// Converts the elements of one block from `first` on. All loads are under way before the first result is needed.
template <int kVectors, class From, class To, class Convert>
__device__ inline void CastBlock(const From* source, To* target, unsigned long long first, unsigned long long count,
                                 bool is_wide, Convert convert) {
  typedef Shape<From, To, kVectors> S;
  if (is_wide && first + S::kBlock <= count) {
    typedef Vector<From, S::kCount> In;
    typedef Vector<To, S::kCount> Out;
    const In* in = reinterpret_cast<const In*>(source + first) + threadIdx.x;
    Out* out = reinterpret_cast<Out*>(target + first) + threadIdx.x;
    In given[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) given[i] = in[i * kCastThreads];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
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

}  // namespace dlpack::cuda
