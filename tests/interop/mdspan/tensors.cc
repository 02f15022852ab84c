// Prints the DLPack tensors that the CUDA C++ library makes from spans, as JSON: every DLTensor field for element
// types x extents x layouts, the properties of each layout mapping, and the error text of each tensor that the library
// refuses to turn into a span. The fixture tensors.json is its output; tensors.test.ts compares it with this package.
//
// Plain g++ compiles it; no CUDA compiler is needed. The library queries the CUDA driver for the device of a pointer. A
// stand-in answers, so that the output is the same on machines with and without a driver. Not covered: `long double`,
// which differs between platforms, and the types that the library refuses to compile.

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <dlpack/dlpack.h>

#include <cuda/mdspan>
#include <cuda/std/complex>
#include <cuda/std/mdspan>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <utility>

namespace {

alignas(256) char memory[1 << 16];

constexpr size_t dyn = cuda::std::dynamic_extent;
template <size_t... Lengths>
using Extents = cuda::std::extents<size_t, Lengths...>;
// The library compares strides in the index type, so a negative stride of an unsigned type is "too large".
template <size_t... Lengths>
using SignedExtents = cuda::std::extents<int64_t, Lengths...>;

// A stand-in for the CUDA driver. `memory` belongs to device 5; all other memory belongs to no device.

CUresult stand_in_init(unsigned) { return CUDA_SUCCESS; }

CUresult stand_in_attributes(unsigned count, CUpointer_attribute* attributes, void** results, CUdeviceptr pointer) {
  const auto first = reinterpret_cast<CUdeviceptr>(memory);
  if (count != 1 || attributes[0] != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) return CUDA_ERROR_NOT_SUPPORTED;
  if (pointer < first || pointer >= first + sizeof(memory)) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int*>(results[0]) = 5;
  return CUDA_SUCCESS;
}

CUresult stand_in_symbol(const char* name, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult* result) {
  const bool is_init = std::strcmp(name, "cuInit") == 0;
  if (!is_init && std::strcmp(name, "cuPointerGetAttributes") != 0) return CUDA_ERROR_NOT_FOUND;
  *function = is_init ? reinterpret_cast<void*>(&stand_in_init) : reinterpret_cast<void*>(&stand_in_attributes);
  *result = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}

/// Prints the commas between the items of a JSON list, one item on each line.
struct List {
  bool first = true;
  void next() {
    std::printf(first ? "\n    " : ",\n    ");
    first = false;
  }
};

template <class Get>
void print_array(size_t rank, Get get) {
  std::printf("[");
  for (size_t i = 0; i < rank; ++i) std::printf("%s%lld", i ? ", " : "", static_cast<long long>(get(i)));
  std::printf("]");
}

void print_pointer(const int64_t* values, int rank) {
  if (values == nullptr) {
    std::printf("null");
    return;
  }
  print_array(static_cast<size_t>(rank), [&](size_t i) { return values[i]; });
}

template <class Use>
void each_other_mapping(Use use) {
  auto packed = [&](auto extents) {
    using E = decltype(extents);
    use("layoutRight", cuda::std::layout_right::mapping<E>(extents));
    use("layoutLeft", cuda::std::layout_left::mapping<E>(extents));
  };
  use("layoutLeft", cuda::std::layout_left::mapping<Extents<>>());
  packed(Extents<5>{});
  use("layoutLeft", cuda::std::layout_left::mapping<Extents<2, 3>>());
  packed(Extents<dyn, 3>{2});
  use("layoutRight", cuda::std::layout_right::mapping<Extents<dyn, dyn, dyn>>(Extents<dyn, dyn, dyn>{2, 3, 4}));
  packed(Extents<1, 4, 1>{});
  packed(Extents<0, 3>{});
  packed(Extents<3, 0>{});
  packed(Extents<2, 0, 3>{});
  packed(Extents<2, 1, 3, 1, 2>{});

  auto strided = [&](auto extents, auto strides) {
    using E = decltype(extents);
    use("layoutStride", cuda::std::layout_stride::mapping<E>(extents, strides));
  };
  strided(Extents<2, 3>{}, cuda::std::array<size_t, 2>{3, 1});
  strided(Extents<2, 3>{}, cuda::std::array<size_t, 2>{1, 2});
  strided(Extents<2, dyn>{3}, cuda::std::array<size_t, 2>{10, 3});
  strided(Extents<4>{}, cuda::std::array<size_t, 1>{7});
  strided(Extents<0>{}, cuda::std::array<size_t, 1>{1});
  strided(Extents<0>{}, cuda::std::array<size_t, 1>{2});
  strided(Extents<0, 3>{}, cuda::std::array<size_t, 2>{3, 1});
  strided(Extents<3, 0>{}, cuda::std::array<size_t, 2>{5, 1});

  auto relaxed = [&](auto extents, auto strides, int64_t offset) {
    using E = decltype(extents);
    using Mapping = cuda::layout_stride_relaxed::mapping<E>;
    use("layoutStrideRelaxed", Mapping(extents, typename Mapping::strides_type(strides), offset));
  };
  relaxed(SignedExtents<2, 3>{}, cuda::std::array<int64_t, 2>{3, 1}, 0);
  relaxed(SignedExtents<2, 3>{}, cuda::std::array<int64_t, 2>{0, 1}, 0);
  relaxed(SignedExtents<2, 3>{}, cuda::std::array<int64_t, 2>{-3, -1}, 5);
  relaxed(SignedExtents<dyn, 3>{2}, cuda::std::array<int64_t, 2>{0, -2}, 7);
  relaxed(SignedExtents<0, 3>{}, cuda::std::array<int64_t, 2>{-3, 0}, 2);
}

/// Calls `use` with each mapping of the table and its layout's name. Every type is tried with the first four mappings,
/// but only a few types with all of them, because each pair costs the compiler some 50 ms.
template <bool All, class Use>
void each_mapping(Use use) {
  use("layoutRight", cuda::std::layout_right::mapping<Extents<2, 3>>());
  use("layoutLeft", cuda::std::layout_left::mapping<Extents<dyn, dyn, dyn>>(Extents<dyn, dyn, dyn>{2, 3, 4}));
  use("layoutRight", cuda::std::layout_right::mapping<Extents<>>());
  using Relaxed = cuda::layout_stride_relaxed::mapping<SignedExtents<2, 3>>;
  use("layoutStrideRelaxed", Relaxed({}, Relaxed::strides_type(cuda::std::array<int64_t, 2>{0, -1}), 2));
  if constexpr (All) each_other_mapping(use);
}

template <class Mapping>
auto offset_of(const Mapping& mapping, int) -> decltype(static_cast<long long>(mapping.offset())) {
  return static_cast<long long>(mapping.offset());
}
template <class Mapping>
long long offset_of(const Mapping&, long) {
  return 0;
}

template <class Mapping>
void print_mapping(const char* layout, const Mapping& mapping) {
  using E = typename Mapping::extents_type;
  std::printf("{\"layout\": \"%s\", \"extents\": ", layout);
  print_array(E::rank(), [&](size_t i) { return mapping.extents().extent(i); });
  std::printf(", \"static\": ");
  print_array(E::rank(),
              [&](size_t i) { return E::static_extent(i) == dyn ? -1 : static_cast<long long>(E::static_extent(i)); });
  std::printf(", \"strides\": ");
  if constexpr (E::rank() == 0) {
    std::printf("[]");
  } else {
    print_array(E::rank(), [&](size_t i) { return mapping.stride(i); });
  }
  std::printf(
      ", \"offset\": %lld, \"requiredSpanSize\": %lld, \"isUnique\": %s, \"isExhaustive\": %s, \"isStrided\": %s}",
      offset_of(mapping, 0), static_cast<long long>(mapping.required_span_size()),
      mapping.is_unique() ? "true" : "false", mapping.is_exhaustive() ? "true" : "false",
      mapping.is_strided() ? "true" : "false");
}

/// One row: mapping, data (bytes from the handle, null for NULL) and the other fields.
void print_tensor(int mapping, const DLTensor& tensor) {
  std::printf("[%d, ", mapping);
  if (tensor.data == nullptr) {
    std::printf("null");
  } else {
    std::printf("%lld", static_cast<long long>(static_cast<char*>(tensor.data) - memory));
  }
  std::printf(", %d, %d, %d, %d, %d, %d, ", tensor.device.device_type, tensor.device.device_id, tensor.ndim,
              tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  print_pointer(tensor.shape, tensor.ndim);
  std::printf(", ");
  print_pointer(tensor.strides, tensor.ndim);
  std::printf(", %llu]", static_cast<unsigned long long>(tensor.byte_offset));
}

List types;

template <class T, bool All>
void print_type(const char* name, const char* dtype) {
  types.next();
  std::printf("{\"type\": \"%s\", \"dtype\": \"%s\", \"sizeof\": %zu, \"host\": [", name, dtype, sizeof(T));
  auto* data = reinterpret_cast<T*>(memory);
  int index = 0;
  each_mapping<All>([&](const char*, auto mapping) {
    using M = decltype(mapping);
    std::printf(index ? ",\n      " : "\n      ");
    cuda::host_mdspan<T, typename M::extents_type, typename M::layout_type> span(data, mapping);
    const auto wrapper = cuda::to_dlpack_tensor(span);
    print_tensor(index++, wrapper.get());
  });
  std::printf("]");
  if constexpr (All) {
    cuda::managed_mdspan<const T, Extents<2, 3>> managed(data, Extents<2, 3>{});
    const auto wrapper = cuda::to_dlpack_tensor(managed);
    std::printf(", \"managed\": [");
    print_tensor(0, wrapper.get());
    cuda::device_mdspan<T, Extents<2, 3>> device(data, Extents<2, 3>{});
    const auto device_wrapper = cuda::to_dlpack_tensor(device);
    std::printf("], \"device\": [");
    print_tensor(0, device_wrapper.get());
    std::printf("]");
  }
  std::printf("}");
}

#define TYPE(type, dtype) print_type<type, false>(#type, dtype);
#define TYPE_ALL(type, dtype) print_type<type, true>(#type, dtype);
#define VECTORS(base, dtype) TYPE(base##2, dtype "x2") TYPE(base##4, dtype "x4")

void print_types(){
    TYPE(bool, "bool") TYPE(signed char,
                            "int8") TYPE(short, "int16") TYPE(int, "int32") TYPE(long, "int64") TYPE(long long, "int64")
        TYPE(__int128, "int128") TYPE(unsigned char, "uint8") TYPE(unsigned short, "uint16") TYPE(unsigned, "uint32")
            TYPE(unsigned long, "uint64") TYPE(unsigned long long, "uint64") TYPE(unsigned __int128, "uint128") TYPE(
                __half, "float16") TYPE(__nv_bfloat16, "bfloat16") TYPE_ALL(float, "float32") TYPE(double, "float64")
                TYPE(__float128, "float128") TYPE(__nv_fp8_e4m3, "float8_e4m3fn") TYPE(__nv_fp8_e5m2, "float8_e5m2")
                    TYPE(__nv_fp8_e8m0, "float8_e8m0fnu") TYPE(__nv_fp6_e2m3, "float6_e2m3fn") TYPE(__nv_fp6_e3m2,
                                                                                                    "float6_e3m2fn")
                        TYPE_ALL(__nv_fp4_e2m1, "float4_e2m1fn") TYPE(cuda::std::complex<__half>, "complex32")
                            TYPE(cuda::std::complex<float>, "complex64") TYPE(cuda::std::complex<double>, "complex128")
                                VECTORS(char, "int8") VECTORS(uchar, "uint8") VECTORS(short, "int16") VECTORS(ushort,
                                                                                                              "uint16")
                                    VECTORS(int, "int32") VECTORS(uint, "uint32") VECTORS(float, "float32")
                                        TYPE(long2, "int64x2") TYPE(ulong2, "uint64x2") TYPE(longlong2, "int64x2")
                                            TYPE(ulonglong2, "uint64x2") TYPE(double2, "float64x2") TYPE(
                                                long4_16a, "int64x4") TYPE(long4_32a, "int64x4") TYPE(ulong4_16a,
                                                                                                      "uint64x4")
                                                TYPE(ulong4_32a, "uint64x4") TYPE(longlong4_16a, "int64x4") TYPE(
                                                    longlong4_32a, "int64x4") TYPE(ulonglong4_16a, "uint64x4")
                                                    TYPE(ulonglong4_32a, "uint64x4") TYPE_ALL(double4_16a, "float64x4")
                                                        TYPE(double4_32a, "float64x4") TYPE(__half2, "float16x2") TYPE(
                                                            __nv_bfloat162,
                                                            "bfloat16x2") TYPE(__nv_fp8x2_e4m3, "float8_e4m3fnx2")
                                                            TYPE(__nv_fp8x4_e4m3, "float8_e4m3fnx4") TYPE(
                                                                __nv_fp8x2_e5m2,
                                                                "float8_e5m2x2") TYPE(__nv_fp8x4_e5m2, "float8_e5m2x4")
                                                                TYPE(__nv_fp8x2_e8m0, "float8_e8m0fnux2")
                                                                    TYPE(__nv_fp8x4_e8m0, "float8_e8m0fnux4")
                                                                        TYPE(__nv_fp6x2_e2m3, "float6_e2m3fnx2")
                                                                            TYPE(__nv_fp6x4_e2m3, "float6_e2m3fnx4")
                                                                                TYPE(__nv_fp6x2_e3m2, "float6_e3m2fnx2")
                                                                                    TYPE(__nv_fp6x4_e3m2,
                                                                                         "float6_e3m2fnx4")
                                                                                        TYPE(__nv_fp4x2_e2m1,
                                                                                             "float4_e2m1fnx2")
                                                                                            TYPE(__nv_fp4x4_e2m1,
                                                                                                 "float4_e2m1fnx4")}

List refusals;

void print_refusal(const char* name, const std::function<void()>& action) {
  refusals.next();
  try {
    action();
    std::printf("{\"case\": \"%s\", \"what\": null}", name);
  } catch (const std::exception& error) {
    // Some errors have the name of a CUDA error code in front of the text.
    std::string what = error.what();
    const size_t colon = what.rfind(": ");
    std::printf("{\"case\": \"%s\", \"what\": \"%s\"}", name,
                colon == std::string::npos ? what.c_str() : what.c_str() + colon + 2);
  }
}

/// tensors.test.ts has the same cases under the same names.
void print_refusals() {
  static int64_t shape[] = {2, 3};
  static int64_t right[] = {3, 1};
  static int64_t left[] = {1, 2};
  DLTensor good{memory, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, right, 0};
  using cuda::std::layout_left;
  using cuda::std::layout_right;
  using cuda::std::layout_stride;
  using relaxed = cuda::layout_stride_relaxed;

#define REFUSAL(name, to, layout, change) \
  print_refusal(name, [=] {               \
    DLTensor t = good;                    \
    change;                               \
    (void)cuda::to<float, 2, layout>(t);  \
  });

  REFUSAL("good", to_host_mdspan, relaxed, (void)t)
  REFUSAL("host from cuda", to_host_mdspan, relaxed, t.device.device_type = kDLCUDA)
  REFUSAL("host from cuda_host", to_host_mdspan, relaxed, t.device.device_type = kDLCUDAHost)
  REFUSAL("device from cpu", to_device_mdspan, relaxed, (void)t)
  REFUSAL("managed from cpu", to_managed_mdspan, relaxed, (void)t)
  REFUSAL("rank", to_host_mdspan, relaxed, t.ndim = 3)
  REFUSAL("dtype code", to_host_mdspan, relaxed, t.dtype.code = kDLInt)
  REFUSAL("dtype bits", to_host_mdspan, relaxed, t.dtype.bits = 64)
  REFUSAL("dtype lanes", to_host_mdspan, relaxed, t.dtype.lanes = 2)
  REFUSAL("null data", to_host_mdspan, relaxed, t.data = nullptr)
  REFUSAL("relaxed byte_offset", to_host_mdspan, relaxed, t.byte_offset = 2)
  REFUSAL("misaligned data", to_host_mdspan, relaxed, t.data = memory + 2)
  REFUSAL("misaligned byte_offset", to_host_mdspan, layout_right, t.byte_offset = 2)
  REFUSAL("null shape", to_host_mdspan, relaxed, t.shape = nullptr)
  static int64_t negative[] = {2, -3};
  REFUSAL("negative shape", to_host_mdspan, relaxed, t.shape = negative)
  REFUSAL("null strides", to_host_mdspan, relaxed, t.strides = nullptr)
  REFUSAL("null strides right", to_host_mdspan, layout_right, t.strides = nullptr)
  REFUSAL("right with left strides", to_host_mdspan, layout_right, t.strides = left)
  REFUSAL("left with right strides", to_host_mdspan, layout_left, (void)t)
  static int64_t one[] = {1, 3};
  static int64_t odd[] = {7, 1};
  REFUSAL("right with length one", to_host_mdspan, layout_right, (t.shape = one, t.strides = odd))
  static int64_t zero[] = {3, 0};
  static int64_t back[] = {-3, 1};
  REFUSAL("stride with zero", to_host_mdspan, layout_stride, t.strides = zero)
  REFUSAL("stride with negative", to_host_mdspan, layout_stride, t.strides = back)
  REFUSAL("relaxed with zero", to_host_mdspan, relaxed, t.strides = zero)
  REFUSAL("relaxed with negative", to_host_mdspan, relaxed, (t.strides = back, t.byte_offset = 12))
  print_refusal("shape overflow", [=] {
    static int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40, 1};
    static int64_t steps[] = {1, int64_t{1} << 40, 0};
    DLTensor t = good;
    t.ndim = 3;
    t.shape = huge;
    t.strides = steps;
    (void)cuda::to_host_mdspan<float, 3, layout_left>(t);
  });
  print_refusal("device ordinal", [] {
    static float elsewhere[6];
    cuda::device_mdspan<float, Extents<2, 3>> span(elsewhere, Extents<2, 3>{});
    (void)cuda::to_dlpack_tensor(span);
  });
  print_refusal("extent too large", [] {
    cuda::host_mdspan<float, Extents<dyn>> span(reinterpret_cast<float*>(memory), Extents<dyn>{size_t{1} << 63});
    (void)cuda::to_dlpack_tensor(span);
  });
  print_refusal("negative stride of an unsigned index type", [] {
    using Mapping = cuda::layout_stride_relaxed::mapping<Extents<2>>;
    cuda::host_mdspan<float, Extents<2>, cuda::layout_stride_relaxed> span(
        reinterpret_cast<float*>(memory), Mapping({}, Mapping::strides_type(cuda::std::array<int64_t, 1>{-1}), 1));
    (void)cuda::to_dlpack_tensor(span);
  });
  print_refusal("stride too large", [] {
    using Mapping = cuda::std::layout_stride::mapping<Extents<1>>;
    cuda::host_mdspan<float, Extents<1>, cuda::std::layout_stride> span(
        reinterpret_cast<float*>(memory), Mapping(Extents<1>{}, cuda::std::array<size_t, 1>{size_t{1} << 63}));
    (void)cuda::to_dlpack_tensor(span);
  });
}

List imports;

/// One row: shape, strides, byte_offset, layout, and three properties of the span: its handle (bytes from `memory`),
/// offset and size.
template <class Layout>
void print_import(const char* layout, int64_t rows, int64_t columns, int64_t row_step, int64_t step,
                  uint64_t byte_offset) {
  int64_t shape[] = {rows, columns};
  int64_t strides[] = {row_step, step};
  // Not the start of the memory, so that a wrong handle is detected.
  DLTensor tensor{memory + 12, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, byte_offset};
  imports.next();
  std::printf("{\"layout\": \"%s\", \"shape\": [%lld, %lld], \"strides\": [%lld, %lld], \"byteOffset\": %llu, ", layout,
              static_cast<long long>(rows), static_cast<long long>(columns), static_cast<long long>(row_step),
              static_cast<long long>(step), static_cast<unsigned long long>(byte_offset));
  const auto span = cuda::to_host_mdspan<float, 2, Layout>(tensor);
  const auto handle = reinterpret_cast<const char*>(span.data_handle()) - memory;
  std::printf("\"data\": %lld, \"offset\": %lld, \"requiredSpanSize\": %lld}", static_cast<long long>(handle),
              offset_of(span.mapping(), 0), static_cast<long long>(span.mapping().required_span_size()));
}

/// Tensors with and without elements, in every layout. The library keeps the pointer and the offset of both.
void print_imports() {
  for (const uint64_t offset : {0, 8}) {
    for (const int64_t rows : {0, 2}) {
      for (const int64_t columns : {0, 1, 3}) {
        print_import<cuda::std::layout_right>("layoutRight", rows, columns, columns, 1, offset);
        print_import<cuda::std::layout_left>("layoutLeft", rows, columns, 1, rows, offset);
        print_import<cuda::std::layout_stride>("layoutStride", rows, columns, 7, 2, offset);
        print_import<cuda::layout_stride_relaxed>("layoutStrideRelaxed", rows, columns, 5, 0, offset);
      }
      print_import<cuda::layout_stride_relaxed>("layoutStrideRelaxed", rows, 0, -5, -1, offset);
    }
  }
  print_import<cuda::layout_stride_relaxed>("layoutStrideRelaxed", 2, 3, 3, -1, 8);
  print_import<cuda::std::layout_left>("layoutLeft", 0, int64_t{1} << 52, 1, 0, 0);
}

/// Extents whose product overflows although one is zero: the size is zero, and every field fits.
void print_overflow() {
  using E = Extents<0, size_t{1} << 32, size_t{1} << 31>;
  cuda::host_mdspan<float, E, cuda::std::layout_left> span(reinterpret_cast<float*>(memory), E{});
  const auto wrapper = cuda::to_dlpack_tensor(span);
  print_tensor(0, wrapper.get());
}

List exact;

void print_text(long long value) { std::printf("\"%lld\"", value); }

template <class Get>
void print_texts(size_t rank, Get get) {
  std::printf("[");
  for (size_t i = 0; i < rank; ++i) {
    if (i != 0) std::printf(", ");
    print_text(static_cast<long long>(get(i)));
  }
  std::printf("]");
}

template <class Mapping, size_t... Axes>
long long last_offset(const Mapping& mapping, std::index_sequence<Axes...>) {
  return static_cast<long long>(mapping((mapping.extents().extent(Axes) - 1)...));
}

/// One mapping with integers that no double can hold, as text: its properties, its DLTensor, and the span of that.
template <class Layout, class Mapping>
void print_exact(const char* layout, const Mapping& mapping) {
  using E = typename Mapping::extents_type;
  constexpr size_t rank = E::rank();
  cuda::host_mdspan<float, E, Layout> span(reinterpret_cast<float*>(memory), mapping);
  exact.next();
  std::printf("{\"layout\": \"%s\", \"extents\": ", layout);
  print_texts(rank, [&](size_t i) { return mapping.extents().extent(i); });
  std::printf(", \"strides\": ");
  print_texts(rank, [&](size_t i) { return mapping.stride(i); });
  std::printf(", \"offset\": ");
  print_text(offset_of(mapping, 0));
  std::printf(", \"size\": ");
  print_text(static_cast<long long>(span.size()));
  std::printf(", \"requiredSpanSize\": ");
  print_text(static_cast<long long>(mapping.required_span_size()));
  std::printf(", \"last\": ");
  if (span.empty()) {
    std::printf("null");
  } else {
    print_text(last_offset(mapping, std::make_index_sequence<rank>{}));
  }
  std::printf(", \"isExhaustive\": %s", mapping.is_exhaustive() ? "true" : "false");
  const auto wrapper = cuda::to_dlpack_tensor(span);
  DLTensor tensor = wrapper.get();
  std::printf(", \"tensor\": {\"isNull\": %s, \"shape\": ", tensor.data == nullptr ? "true" : "false");
  print_texts(rank, [&](size_t i) { return tensor.shape[i]; });
  std::printf(", \"strides\": ");
  print_texts(rank, [&](size_t i) { return tensor.strides[i]; });
  // The library drops the offset, and it rejects NULL.
  tensor.data = memory;
  tensor.byte_offset = static_cast<uint64_t>(offset_of(mapping, 0)) * sizeof(float);
  const auto back = cuda::to_host_mdspan<float, rank, Layout>(tensor);
  std::printf("}, \"back\": {\"data\": ");
  print_text(reinterpret_cast<const char*>(back.data_handle()) - memory);
  std::printf(", \"offset\": ");
  print_text(offset_of(back.mapping(), 0));
  std::printf(", \"requiredSpanSize\": ");
  print_text(static_cast<long long>(back.mapping().required_span_size()));
  std::printf("}}");
}

/// Integers beyond 2^53: lengths beside an empty axis or with stride zero, strides of short axes, and offsets.
void print_exacts() {
  using Two = SignedExtents<dyn, dyn>;
  using Three = SignedExtents<dyn, dyn, dyn>;
  using cuda::std::layout_left;
  using cuda::std::layout_right;
  using cuda::std::layout_stride;
  using relaxed = cuda::layout_stride_relaxed;
  constexpr int64_t odd53 = (int64_t{1} << 53) + 1;
  constexpr int64_t odd60 = (int64_t{1} << 60) + 1;
  print_exact<layout_right>("layoutRight", layout_right::mapping<Three>(Three{0, int64_t{1} << 40, (1 << 20) + 1}));
  print_exact<layout_right>("layoutRight", layout_right::mapping<Two>(Two{3, odd53}));
  print_exact<layout_left>("layoutLeft", layout_left::mapping<Three>(Three{3, odd53, 0}));
  print_exact<layout_left>("layoutLeft", layout_left::mapping<Two>(Two{odd60, 7}));
  auto strided = [](Two extents, int64_t row, int64_t step) {
    const cuda::std::array<int64_t, 2> strides{row, step};
    print_exact<layout_stride>("layoutStride", layout_stride::mapping<Two>(extents, strides));
  };
  strided(Two{1, 2}, odd60, 1);
  strided(Two{0, 2}, odd53, odd60);
  strided(Two{2, 3}, odd60, odd53);
  auto loose = [](Two extents, int64_t row, int64_t step, int64_t offset) {
    using Mapping = relaxed::mapping<Two>;
    const cuda::std::array<int64_t, 2> strides{row, step};
    print_exact<relaxed>("layoutStrideRelaxed", Mapping(extents, Mapping::strides_type(strides), offset));
  };
  loose(Two{odd60, 3}, 0, 1, 0);
  loose(Two{0, 4}, -odd60, odd53, odd60 + 2);
  loose(Two{2, 3}, -odd60, odd53, odd60 + 4);
  loose(Two{1, 3}, -odd60, -1, 2);
}

}  // namespace

// The library finds the driver with these two functions. Defined here, they override those of libc.
extern "C" void* dlopen(const char*, int) noexcept { return memory; }
extern "C" void* dlsym(void* __restrict, const char* __restrict) noexcept {
  return reinterpret_cast<void*>(&stand_in_symbol);
}
// A function of the CUDA runtime, which is not linked. The library uses it for the text of its errors.
extern "C" const char* cudaGetErrorString(cudaError_t) { return "error"; }

int main() {
  std::printf("{\n  \"cccl\": %d,\n  \"dlpack\": [%d, %d],\n  \"mappings\": [", CCCL_VERSION, DLPACK_MAJOR_VERSION,
              DLPACK_MINOR_VERSION);
  List mappings;
  each_mapping<true>([&](const char* layout, auto mapping) {
    mappings.next();
    print_mapping(layout, mapping);
  });
  std::printf("\n  ],\n  \"types\": [");
  print_types();
  std::printf("\n  ],\n  \"imports\": [");
  print_imports();
  std::printf("\n  ],\n  \"overflow\": ");
  print_overflow();
  std::printf(",\n  \"exact\": [");
  print_exacts();
  std::printf("\n  ],\n  \"refusals\": [");
  print_refusals();
  std::printf("\n  ]\n}\n");
}
