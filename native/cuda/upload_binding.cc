// Uploads for JavaScript. JavaScript thread, except Run.
#include <stdlib.h>

#include "../async_work.h"
#include "../bindings.h"
#include "context.h"
#include "pinned_blocks.h"
#include "upload.h"
#include "uses.h"

namespace dlpack::cuda {

namespace {

// A row of the argument of upload(): numbers that describe an UploadPart.
enum Column { kOffset, kNbytes, kTarget, kTargetOffset, kColumns };

// Keeps the source and the targets of its parts.
struct AsyncUpload {
  UploadRequest request;
  Storage* source;
  AsyncWork work;
  Result result;
  UploadPart parts[];

  void Run() { result = Upload(request); }
  napi_value ResultOf(napi_env env, napi_status) { return NumberOf(env, result); }
  void Free() {
    for (size_t i = 0; i < request.part_count; ++i) ReleaseStorage(parts[i].storage);
    if (source != nullptr) ReleaseStorage(source);
    free(this);
  }
};

bool IsRange(double offset, double nbytes, uint64_t room) {
  return IsSize(offset) && IsSize(nbytes) && static_cast<uint64_t>(offset) <= room &&
         static_cast<uint64_t>(nbytes) <= room - static_cast<uint64_t>(offset);
}

// Reads one row and takes a reference to its target. False when the row does not fit the memory or the row before it.
bool ReadPart(const CudaContext* self, const double* row, AsyncUpload* upload) {
  UploadRequest* request = &upload->request;
  if (!IsRange(row[kOffset], row[kNbytes], request->nbytes) || !(row[kTarget] >= 0 && row[kTarget] <= UINT32_MAX))
    return false;
  Storage* target = GetHeld(self->instance, static_cast<uint32_t>(row[kTarget]));
  if (target == nullptr || !IsRange(row[kTargetOffset], row[kNbytes], target->nbytes)) return false;
  const size_t i = request->part_count;
  UploadPart part = {static_cast<uint64_t>(row[kOffset]), static_cast<uint64_t>(row[kNbytes]),
                     static_cast<char*>(target->data) + static_cast<uint64_t>(row[kTargetOffset]), target};
  if (i > 0 && part.offset < upload->parts[i - 1].offset + upload->parts[i - 1].nbytes) return false;
  RetainStorage(target);
  upload->parts[i] = part;
  ++request->part_count;
  return true;
}

bool ReadRequest(const CudaContext* self, const UploadStep* step, const double* rows, size_t count,
                 AsyncUpload* upload) {
  UploadRequest* request = &upload->request;
  Storage* source = GetHeld(self->instance, step->from_handle);
  if (source == nullptr || !IsRange(step->from_offset, step->nbytes, source->nbytes)) return false;
  RetainStorage(upload->source = source);
  request->source = static_cast<const char*>(source->data) + static_cast<uint64_t>(step->from_offset);
  request->nbytes = static_cast<uint64_t>(step->nbytes);
  request->parts = upload->parts;
  request->threads = step->threads;
  for (size_t i = 0; i < count; ++i) {
    if (!ReadPart(self, rows + i * kColumns, upload)) return false;
  }
  return true;
}

}  // namespace

// upload(rows: Float64Array): a promise of the driver's result when the source has been read and all copies are queued,
// or undefined with the reason in the status if the upload did not start. All storages are kept until then.
static napi_value UploadBinding(CudaContext* self, UploadStep* step, napi_env env, napi_value rows) {
  Device* device = DeviceOf(step);
  if (device == nullptr) return nullptr;
  const Elements<double> numbers(env, rows);
  step->status = kInvalidValue;
  if (numbers.length < kColumns) return nullptr;
  const size_t count = numbers.length / kColumns;
  AsyncUpload* upload = static_cast<AsyncUpload*>(calloc(1, sizeof(AsyncUpload) + count * sizeof(UploadPart)));
  if (upload == nullptr) {
    step->status = kOutOfDeviceMemory;
    return nullptr;
  }
  // On a thread of the pool the per-thread handle would mean that thread's stream.
  const StreamRef stream = {device, StreamOf(step) == kPerThreadStream ? kLegacyStream : StreamOf(step)};
  upload->request.device = device;
  upload->request.stream = stream.handle;
  upload->result = kNotReady;
  if (ReadRequest(self, step, numbers.data, count, upload)) step->status = kSuccess;
  // The targets are in use on the stream from now on, although the copies are queued later.
  for (size_t i = 0; i < upload->request.part_count && step->status == kSuccess; ++i) {
    step->status = BeginUse(upload->parts[i].storage, stream);
  }
  return QueueJob(env, upload, step);
}

// releasePinned(mayWait): frees the pinned memory that no upload uses. Without `mayWait`, memory that the device still
// reads stays, and the result is true.
static napi_value ReleasePinnedBinding(CudaContext*, napi_env env, napi_value wait) {
  napi_value result = nullptr;
  bool may_wait = false;
  napi_get_value_bool(env, wait, &may_wait);
  napi_get_boolean(env, FreeIdlePinned(may_wait), &result);
  return result;
}

const NamedFunction kUploadFunctions[] = {
    {"upload", Binding<UploadBinding>::Call}, {"releasePinned", Binding<ReleasePinnedBinding>::Call}, {}};

}  // namespace dlpack::cuda
