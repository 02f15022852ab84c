// Containers: made from any number of values in slots, and read back into slots.
#include <stdio.h>
#include <stdlib.h>

#include "builtins.h"
#include "context.h"

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

// Appends copies of the values, with new references, to a batch.
static void AppendValues(Context* self, BatchRequest* request) {
  if (request->batch == 0) {
    request->batch = Own(self, CreateBatch());
  }
  Batch* batch = AsBatch(OwnedAt(self, request->batch));
  if (batch == nullptr || !Reserve(batch, request->count)) {
    request->status = OutOfMemory();
    return;
  }
  request->status = 0;
  const TVMFFIAny* values = ValuesAt(self, request->values);
  for (int32_t i = 0; i < request->count && request->status == 0; ++i) {
    TVMFFIAny owned = {};
    request->status = library.AnyViewToOwnedAny(values + i, &owned);
    if (request->status == 0) batch->values[batch->count++] = owned;
  }
}

static const char* MakerOf(int32_t type) {
  switch (type) {
    case kTVMFFIArray: return "ffi.Array";
    case kTVMFFIList: return "ffi.List";
    case kTVMFFIShape: return "ffi.Shape";
    case kTVMFFIMap: return "ffi.Map";
    default: return "ffi.Dict";
  }
}

// Releases a value of the wrong type that a maker function returned, and raises an error.
static int RefuseResult(const TVMFFIAny& value, const char* maker) {
  ReleaseValue(value);
  char text[200];
  snprintf(text, sizeof(text),
           "Expected a container from the global function '%s' but received a value of type %d: it was replaced before "
           "this package loaded libtvm_ffi",
           maker, value.type_index);
  return Raise("TypeError", text);
}

// A container of the values in the slot, or of the values of a batch.
static void MakeContainer(Context* self, ContainerRequest* request) {
  const Batch* batch = AsBatch(OwnedAt(self, request->batch));
  const TVMFFIAny* values = batch == nullptr ? ValuesAt(self, request->values) : batch->values;
  const char* maker = MakerOf(request->type);
  TVMFFIAny result = {};
  int status = CallBuiltin(maker, values, batch == nullptr ? request->count : batch->count, &result);
  if (status == 0 && result.type_index != request->type) status = RefuseResult(result, maker);
  request->reference = status == 0 ? Own(self, result.v_obj) : 0;
  request->status = status == 0 && request->reference == 0 ? OutOfMemory() : status;
  request->object = result.v_uint64;
}

// Reads elements of an Array, List or Shape as borrowed values. `count` gets the number of elements read.
static void ReadSequence(Context* self, SequenceRequest* request) {
  TVMFFIObject* object = static_cast<TVMFFIObject*>(Pointer(request->object));
  TVMFFIAny* out = ValuesAt(self, request->values);
  int64_t size;
  const TVMFFIAny* values = nullptr;
  const int64_t* lengths = nullptr;
  if (object->type_index == kTVMFFIShape) {
    const TVMFFIShapeCell* cell = CellOf<TVMFFIShapeCell>(object);
    size = static_cast<int64_t>(cell->size);
    lengths = cell->data;
  } else {
    const TVMFFISeqCell* cell = CellOf<TVMFFISeqCell>(object);
    size = cell->size;
    values = static_cast<const TVMFFIAny*>(cell->data);
  }
  request->size = static_cast<double>(size);
  int32_t written = 0;
  for (int64_t i = request->start; i < size && written < request->count; ++i, ++written) {
    out[written] = values == nullptr ? IntegerValue(lengths[i]) : values[i];
  }
  request->count = written;
}

// Calls the iterator of a map. The map keeps the results alive, so the reference of a result is dropped.
static int Step(TVMFFIObject* iterator, int64_t command, TVMFFIAny* result) {
  const TVMFFIAny argument = IntegerValue(command);
  *result = TVMFFIAny{};
  const int status = CellOf<TVMFFIFunctionCell>(iterator)->safe_call(iterator, &argument, 1, result);
  if (status == 0) ReleaseValue(*result);
  return status;
}

// An iterator over a Map or Dict.
static void IterateEntries(Context* self, EntriesRequest* request) {
  TVMFFIAny map = {};
  map.v_obj = static_cast<TVMFFIObject*>(Pointer(request->object));
  map.type_index = map.v_obj->type_index;
  const bool is_dict = map.type_index == kTVMFFIDict;
  TVMFFIAny size = {}, iterator = {};
  request->iterator = 0;
  request->status = CallBuiltin(is_dict ? "ffi.DictSize" : "ffi.MapSize", &map, 1, &size);
  if (request->status != 0 || (size.type_index == kTVMFFIInt && size.v_int64 == 0)) return;
  const char* maker = is_dict ? "ffi.DictForwardIterFunctor" : "ffi.MapForwardIterFunctor";
  request->status = CallBuiltin(maker, &map, 1, &iterator);
  if (request->status != 0) return;
  if (iterator.type_index != kTVMFFIFunction) {
    request->status = RefuseResult(iterator, maker);
    return;
  }
  request->iterator = Own(self, iterator.v_obj);
  if (request->iterator == 0) request->status = OutOfMemory();
}

// Reads up to `count` entries from an iterator as borrowed values. `count` gets the number of entries read.
static void ReadEntries(Context* self, EntriesRequest* request) {
  TVMFFIObject* iterator = static_cast<TVMFFIObject*>(OwnedAt(self, request->iterator));
  TVMFFIAny* out = ValuesAt(self, request->values);
  TVMFFIAny more = {};
  more.v_int64 = 1;
  int32_t written = 0;
  for (request->status = 0; written < request->count && more.v_int64 != 0; ++written) {
    if (Step(iterator, 0, out + 2 * written) != 0 || Step(iterator, 1, out + 2 * written + 1) != 0 ||
        Step(iterator, 2, &more) != 0) {
      request->status = -1;
      break;
    }
  }
  request->count = written;
  request->is_last = more.v_int64 == 0;
}

const NamedFunction kContainersFunctions[] = {
    {"appendValues", Binding<AppendValues>::Call}, {"makeContainer", Binding<MakeContainer>::Call},
    {"readSequence", Binding<ReadSequence>::Call}, {"iterateEntries", Binding<IterateEntries>::Call},
    {"readEntries", Binding<ReadEntries>::Call},   {}};

}  // namespace dlpack::tvm_ffi
