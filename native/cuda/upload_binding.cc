// Uploads for JavaScript. JavaScript thread, except Execute.
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

struct AsyncUpload {
  UploadRequest request;
  UploadPart* parts;
  Storage** targets;  // of the parts; a reference to each
  Storage* source;
  AsyncWork work;
  Result result;
};

void FreeUpload(AsyncUpload* self) {
  for (size_t i = 0; i < self->request.part_count; ++i) ReleaseStorage(self->targets[i]);
  if (self->source != nullptr) ReleaseStorage(self->source);
  free(self->targets);
  free(self->parts);
  free(self);
}

// Runs on a thread of the runtime's pool.
void Execute(napi_env, void* data) {
  AsyncUpload* self = static_cast<AsyncUpload*>(data);
  self->result = Upload(self->request);
}

void Complete(napi_env env, napi_status, void* data) {
  AsyncUpload* self = static_cast<AsyncUpload*>(data);
  napi_value result = nullptr;
  napi_create_int32(env, self->result, &result);
  FinishWork(env, self->work, result);
  FreeUpload(self);
}

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
                     static_cast<char*>(target->data) + static_cast<uint64_t>(row[kTargetOffset])};
  if (i > 0 && part.offset < upload->parts[i - 1].offset + upload->parts[i - 1].nbytes) return false;
  RetainStorage(target);
  upload->parts[i] = part;
  upload->targets[i] = target;
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

// The targets are in use on the stream from now on, although the copies are queued later.
Result NoteTargets(const AsyncUpload& upload) {
  const StreamRef stream = {upload.request.device, upload.request.stream};
  for (size_t i = 0; i < upload.request.part_count; ++i) {
    Result result = OrderAfterUses(upload.targets[i], stream);
    if (result == kSuccess) result = NoteUse(upload.targets[i], stream);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}

// Memory for `count` parts; NULL when there is none.
AsyncUpload* NewUpload(size_t count) {
  AsyncUpload* upload = static_cast<AsyncUpload*>(calloc(1, sizeof(AsyncUpload)));
  if (upload == nullptr) return nullptr;
  upload->parts = static_cast<UploadPart*>(malloc(count * sizeof(UploadPart)));
  upload->targets = static_cast<Storage**>(malloc(count * sizeof(Storage*)));
  if (upload->parts != nullptr && upload->targets != nullptr) return upload;
  FreeUpload(upload);
  return nullptr;
}

}  // namespace

// upload(rows: Float64Array): a promise of the driver's result when the source has been read and all copies are queued,
// or undefined with the reason in the status if the upload did not start. All storages are kept until then.
static napi_value UploadBinding(CudaContext* self, UploadStep* step, napi_env env, napi_value rows) {
  Device* device = DeviceOf(step);
  if (device == nullptr) return nullptr;
  size_t length = 0;
  void* numbers = nullptr;
  step->status = kInvalidValue;
  if (!ArrayOf(env, rows, napi_float64_array, &numbers, &length) || length < kColumns) return nullptr;
  const size_t count = length / kColumns;
  AsyncUpload* upload = NewUpload(count);
  if (upload == nullptr) {
    step->status = kOutOfDeviceMemory;
    return nullptr;
  }
  upload->request.device = device;
  // On a thread of the pool the per-thread handle would mean that thread's stream.
  upload->request.stream = StreamOf(step) == kPerThreadStream ? kLegacyStream : StreamOf(step);
  upload->result = kNotReady;
  napi_value promise = nullptr;
  if (ReadRequest(self, step, static_cast<const double*>(numbers), count, upload)) {
    step->status = NoteTargets(*upload);
    promise = step->status == kSuccess ? QueueWork(env, Execute, Complete, upload, &upload->work) : nullptr;
    if (promise == nullptr && step->status == kSuccess) step->status = kNotSupported;
  }
  if (promise == nullptr) FreeUpload(upload);
  return promise;
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
