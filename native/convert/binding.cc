// convert and convertAsync: a pass that JavaScript described, over storages or over typed arrays.
#include <stdlib.h>
#include <string.h>

#include "../async_work.h"
#include "../bindings.h"
#include "pass.h"

namespace dlpack {

static_assert(sizeof(ConvertRequest::shape) == kMaxAxes * sizeof(double), "a request has room for all axes");

// Reads dtypes that are packed as in DLDataType.
static void ReadTypes(uint32_t from, uint32_t to, Pass* pass) {
  pass->from_bits = from >> 8 & 0xff;
  pass->to_bits = to >> 8 & 0xff;
  pass->from_type = ElementTypeOf(from & 0xff, from >> 8 & 0xff);
  pass->to_type = ElementTypeOf(to & 0xff, to >> 8 & 0xff);
  // Types without rows can only be copied unchanged to the same type.
  if (pass->from_type == kRaw && from != to) pass->to_bits = 0;
}

// Scales and then as many offsets, which the caller keeps until the pass has run. False when they do not fit the axis.
static bool SetFactors(const ConvertRequest& request, const double* factors, size_t length, Pass* pass) {
  const int32_t axis = request.scaled_axis;
  if (axis < -1 || axis >= pass->ndim) return false;
  const int64_t each = axis < 0 ? 1 : pass->shape[axis];
  if (factors == nullptr || length % 2 != 0 || each != static_cast<int64_t>(length / 2)) return false;
  pass->scale = factors;
  pass->offset = factors + each;
  pass->scaled_axis = axis;
  return true;
}

static bool ReadPass(const ConvertRequest& request, Pass* pass) {
  ReadTypes(request.from_type, request.to_type, pass);
  pass->ndim = request.ndim;
  pass->threads = request.threads;
  if (pass->ndim < 0 || pass->ndim > kMaxAxes) return false;
  return ReadNumbers(&request.from_bit, 1, &pass->from_bit) && ReadNumbers(&request.to_bit, 1, &pass->to_bit) &&
         ReadNumbers(request.shape, pass->ndim, pass->shape) &&
         ReadNumbers(request.from_steps, pass->ndim, pass->from_step) &&
         ReadNumbers(request.to_steps, pass->ndim, pass->to_step);
}

// Whether the pass can run, and stays inside the memory of both sides.
static bool IsSound(const Pass& pass, uint64_t from_nbytes, uint64_t to_nbytes) {
  const uint64_t most = uint64_t{1} << 59;  // so that their bits can be counted
  return CanRun(pass) && from_nbytes <= most && to_nbytes <= most &&
         FitsInside(pass.ndim, pass.shape, pass.from_step, pass.from_bit, pass.from_bits, from_nbytes * 8) &&
         FitsInside(pass.ndim, pass.shape, pass.to_step, pass.to_bit, pass.to_bits, to_nbytes * 8);
}

// Describes the elements of a tensor in row-major order, with axes joined where the elements of both follow each other.
// The target has no gaps. False for an empty tensor, or one with too many elements.
static bool ReadAxes(const Layout& layout, Pass* pass, int64_t* count) {
  *count = 1;
  pass->ndim = 0;
  for (int32_t i = 0; i < layout.ndim; ++i) {
    const int64_t length = layout.shape[i];
    const int64_t step = layout.strides[i] * pass->from_bits;  // at most 2^53 times 128
    int64_t whole;
    if (length == 0 || __builtin_mul_overflow(*count, length, count) || *count > kMaxSafe) return false;
    if (length == 1) continue;
    const int32_t outer = pass->ndim - 1;
    if (outer >= 0 && !__builtin_mul_overflow(step, length, &whole) && pass->from_step[outer] == whole) {
      pass->shape[outer] *= length;
      pass->from_step[outer] = step;
    } else {
      pass->shape[pass->ndim] = length;
      pass->from_step[pass->ndim++] = step;
    }
  }
  PackTarget(pass);
  return true;
}

// copy(source): allocates, converts and holds in one call, because small copies take as long as a call. The status is
// kNapi for types that need another way.
static void Copy(Instance* self, CopyRequest* request, napi_env, napi_value array) {
  request->status = kNapi;
  LayoutRoom room;
  Descriptor tensor;
  Pass pass;
  const NamedMemory from(self, request->tensor.handle, array);
  pass.from = from.data;
  if (pass.from == nullptr || ReadTensor(self, request->tensor, from.nbytes, &room, &tensor) != kOk) return;
  const Layout& layout = *tensor.layout;
  if (layout.dtype.lanes != 1) return;
  ReadTypes(layout.dtype.code | uint32_t{layout.dtype.bits} << 8 | uint32_t{1} << 16, request->to_type, &pass);
  int64_t count;
  if (pass.from_bits % 8 != 0 || pass.to_bits % 8 != 0 || !ReadAxes(layout, &pass, &count)) return;
  pass.threads = request->threads;
  pass.from_bit = static_cast<int64_t>(tensor.byte_offset) * 8;
  pass.to_bit = 0;
  const uint64_t nbytes = static_cast<uint64_t>(count * (pass.to_bits / 8));
  if (!IsSound(pass, from.nbytes, nbytes)) return;
  Storage* to = AllocateStorage(nbytes);
  if (to != nullptr) {
    pass.to = static_cast<uint8_t*>(to->data);
    RunPass(pass);
  }
  HoldIn(self, to, true, request);
}

// convert(source, target, factors), on the JavaScript thread.
static void Convert(Instance* self, ConvertRequest* request, napi_env env, napi_value source, napi_value target,
                    napi_value scaling) {
  Pass pass;
  request->is_done = 0;
  if (!ReadPass(*request, &pass)) return;
  if (request->is_scaled != 0) {
    const Elements<double> factors(env, scaling);
    if (!SetFactors(*request, factors.data, factors.length, &pass)) return;
  }
  const NamedMemory from(self, request->from_handle, source), to(self, request->to_handle, target);
  pass.from = from.data;
  pass.to = to.data;
  if (pass.from == nullptr || pass.to == nullptr || !IsSound(pass, from.nbytes, to.nbytes)) return;
  RunPass(pass);
  request->is_done = 1;
}

// Keeps both storages.
struct AsyncPass {
  Pass pass;
  Storage* from;
  Storage* to;
  double* factors;  // a copy, because a program may write to its arrays
  AsyncWork work;

  void Run() { RunPass(pass); }
  napi_value ResultOf(napi_env env, napi_status status) { return NewBoolean(env, status == napi_ok); }
  void Free() {
    ReleaseStorage(from);
    ReleaseStorage(to);
    free(factors);
    free(this);
  }
};

// convertAsync(factors), for two storages: a promise of whether the pass ran, or undefined.
static napi_value ConvertAsync(Instance* self, ConvertRequest* request, napi_env env, napi_value scaling) {
  Storage* from = GetHeld(self, request->from_handle);
  Storage* to = GetHeld(self, request->to_handle);
  AsyncPass* job = from == nullptr || to == nullptr ? nullptr : static_cast<AsyncPass*>(malloc(sizeof(AsyncPass)));
  if (job == nullptr) return nullptr;
  RetainStorage(job->from = from);
  RetainStorage(job->to = to);
  job->pass = Pass();
  job->factors = nullptr;
  bool is_read = ReadPass(*request, &job->pass);
  if (request->is_scaled != 0) {
    const Elements<double> factors(env, scaling);
    job->factors = static_cast<double*>(malloc(factors.length * sizeof(double) + 1));
    if (job->factors != nullptr) memcpy(job->factors, factors.data, factors.length * sizeof(double));
    is_read = is_read && SetFactors(*request, job->factors, factors.length, &job->pass);
  }
  job->pass.from = static_cast<uint8_t*>(from->data);
  job->pass.to = static_cast<uint8_t*>(to->data);
  if (is_read && IsSound(job->pass, from->nbytes, to->nbytes)) return QueueWork(env, job);
  job->Free();
  return nullptr;
}

const NamedFunction kConvertFunctions[] = {{"copy", Binding<Copy>::Call},
                                           {"convert", Binding<Convert>::Call},
                                           {"convertAsync", Binding<ConvertAsync>::Call},
                                           {}};

}  // namespace dlpack
