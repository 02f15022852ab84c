// Batches: values that do not fit into a slot.
#include <stdlib.h>

#include "tensor_arguments.h"

namespace dlpack::tvm_ffi {

// Any thread.
static void DeleteBatch(void* self, int flags) {
  Batch* batch = static_cast<Batch*>(self);
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) {
    for (int32_t i = 0; i < batch->count; ++i) ReleaseValue(batch->values[i]);
    free(batch->values);
  }
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) free(batch);
}

static Batch* CreateBatch() {
  Batch* batch = static_cast<Batch*>(calloc(1, sizeof(Batch)));
  if (batch == nullptr) return nullptr;
  batch->header = TVMFFIObject{(uint64_t{1} << 32) | 1, kTVMFFIStaticObjectBegin, 0, DeleteBatch};
  return batch;
}

Batch* AsBatch(TVMFFIObjectHandle object) {
  TVMFFIObject* header = static_cast<TVMFFIObject*>(object);
  return header != nullptr && header->deleter == DeleteBatch ? reinterpret_cast<Batch*>(header) : nullptr;
}

static bool Reserve(Batch* batch, int32_t count) {
  if (count <= batch->capacity - batch->count) return true;
  const int64_t wanted = int64_t{batch->count} + count;
  const int64_t capacity = wanted < 512 ? 1024 : wanted * 2;
  if (capacity > INT32_MAX) return false;
  void* values = realloc(batch->values, sizeof(TVMFFIAny) * static_cast<size_t>(capacity));
  if (values == nullptr) return false;
  batch->values = static_cast<TVMFFIAny*>(values);
  batch->capacity = static_cast<int32_t>(capacity);
  return true;
}

// Appends copies of the values, with new references, to a batch. False with an error raised.
static bool Append(Context* self, Batch* batch, TVMFFIAny* values, int32_t count) {
  if (batch == nullptr || !Reserve(batch, count)) {
    OutOfMemory();
    return false;
  }
  TensorArguments tensors(self);
  if (tensors.Read(values, count) != 0) return false;
  for (int32_t i = 0; i < count; ++i) {
    TVMFFIAny owned = {};
    if (library.AnyViewToOwnedAny(values + i, &owned) != 0) return false;
    batch->values[batch->count++] = owned;
  }
  return true;
}

// appendValues(batch, word, count): returns the batch, which is a new one for the number 0.
static napi_value AppendValues(Context* self, napi_env env, uint32_t batch, uint32_t word, int32_t count) {
  const uint32_t number = batch == 0 ? Own(self, CreateBatch()) : batch;
  if (Append(self, AsBatch(OwnedAt(self, number)), ValuesAt(self, word), count)) return NewNumber(env, number);
  if (batch == 0) Disown(self, number);
  return nullptr;
}

const NamedFunction kBatchesFunctions[] = {{"appendValues", Binding<AppendValues>::Call}, {}};

}  // namespace dlpack::tvm_ffi
