// Containers: made from values in the slots, any number of them, and read back into the slots.
#include <stdio.h>
#include <stdlib.h>

#include "batch.h"
#include "builtins.h"
#include "context.h"

namespace dlpack {
namespace tvm_ffi {

// Any thread.
static void DeleteBatch(void* self, int flags) {
  Batch* batch = static_cast<Batch*>(self);
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) {
    for (int32_t i = 0; i < batch->count; ++i) {
      if (batch->values[i].type_index >= kTVMFFIStaticObjectBegin) library.ObjectDecRef(batch->values[i].v_obj);
    }
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

static int OutOfMemory() {
  library.ErrorSetRaisedFromCStr("MemoryError", "Out of memory for the values of a container");
  return -1;
}

// Copies `count` slots from `base` on, with references of its own, to the end of the batch under the number `slot`.
// With 0 a batch is made, and `slot` becomes its number.
napi_value AppendValues(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  CallFrame* frame = self->frame;
  if (frame->slot == 0) {
    Batch* made = CreateBatch();
    frame->slot = made == nullptr ? 0 : Own(self, made);
  }
  Batch* batch = AsBatch(OwnedAt(self, frame->slot));
  if (batch == nullptr || !Reserve(batch, frame->count)) {
    frame->status = OutOfMemory();
    return nullptr;
  }
  frame->status = 0;
  for (int32_t i = 0; i < frame->count && frame->status == 0; ++i) {
    TVMFFIAny owned = {};
    frame->status = library.AnyViewToOwnedAny(frame->slots + frame->base + i, &owned);
    if (frame->status == 0) batch->values[batch->count++] = owned;
  }
  return nullptr;
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

// Releases a value that a maker returned though it is not of its type, and raises an error.
static int RefuseResult(const TVMFFIAny& value, const char* maker) {
  if (value.type_index >= kTVMFFIStaticObjectBegin) library.ObjectDecRef(value.v_obj);
  char text[200];
  snprintf(text, sizeof(text),
           "Expected a container from the global function '%s' but received a value of type %d: it was replaced before "
           "this package loaded libtvm_ffi",
           maker, value.type_index);
  library.ErrorSetRaisedFromCStr("TypeError", text);
  return -1;
}

// A container whose type is in slot `base + count`, of the values of the batch `slot`, or with 0 of the `count` slots
// from `base` on. It replaces the type; its reference is under the number `slot`.
napi_value MakeContainer(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  CallFrame* frame = self->frame;
  TVMFFIAny* out = frame->slots + frame->base + frame->count;
  const int32_t type = out->type_index;
  const Batch* batch = frame->slot == 0 ? nullptr : AsBatch(OwnedAt(self, frame->slot));
  const TVMFFIAny* values = batch == nullptr ? frame->slots + frame->base : batch->values;
  const char* maker = MakerOf(type);
  TVMFFIAny result = {};
  int status = CallBuiltin(maker, values, batch == nullptr ? frame->count : batch->count, &result);
  if (status == 0 && result.type_index != type) status = RefuseResult(result, maker);
  frame->slot = status == 0 ? Own(self, result.v_obj) : 0;
  frame->status = status == 0 && frame->slot == 0 ? OutOfMemory() : status;
  if (frame->status == 0) *out = result;
  return nullptr;
}

// Elements `slot` to `slot + count` of an Array, List or Shape, borrowed, in the slots from `base` on. `count` becomes
// how many there were.
napi_value ReadSequence(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  CallFrame* frame = self->frame;
  TVMFFIObject* object = static_cast<TVMFFIObject*>(Pointer(frame->object));
  TVMFFIAny* out = frame->slots + frame->base;
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
  int32_t written = 0;
  for (int64_t i = frame->slot; i < size && written < frame->count; ++i, ++written) {
    TVMFFIAny& slot = out[written];
    if (values == nullptr) {
      slot.type_index = kTVMFFIInt;
      slot.zero_padding = 0;
      slot.v_int64 = lengths[i];
      continue;
    }
    slot = values[i];
  }
  frame->count = written;
  return nullptr;
}

// Calls a map's iterator, whose results the map itself keeps alive: the reference that comes with one is dropped.
static int Step(TVMFFIObject* iterator, int64_t command, TVMFFIAny* result) {
  TVMFFIAny argument = {};
  argument.type_index = kTVMFFIInt;
  argument.v_int64 = command;
  *result = TVMFFIAny{};
  const int status = CellOf<TVMFFIFunctionCell>(iterator)->safe_call(iterator, &argument, 1, result);
  if (status == 0 && result->type_index >= kTVMFFIStaticObjectBegin) library.ObjectDecRef(result->v_obj);
  return status;
}

// An iterator over the Map or Dict `object`, under the number `slot`; 0 when the map is empty.
napi_value IterateEntries(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  CallFrame* frame = self->frame;
  TVMFFIAny map = {};
  map.v_obj = static_cast<TVMFFIObject*>(Pointer(frame->object));
  map.type_index = map.v_obj->type_index;
  const bool is_dict = map.type_index == kTVMFFIDict;
  TVMFFIAny size = {}, iterator = {};
  frame->slot = 0;
  frame->status = CallBuiltin(is_dict ? "ffi.DictSize" : "ffi.MapSize", &map, 1, &size);
  if (frame->status != 0 || (size.type_index == kTVMFFIInt && size.v_int64 == 0)) return nullptr;
  const char* maker = is_dict ? "ffi.DictForwardIterFunctor" : "ffi.MapForwardIterFunctor";
  frame->status = CallBuiltin(maker, &map, 1, &iterator);
  if (frame->status != 0) return nullptr;
  if (iterator.type_index != kTVMFFIFunction) {
    frame->status = RefuseResult(iterator, maker);
    return nullptr;
  }
  frame->slot = Own(self, iterator.v_obj);
  if (frame->slot == 0) frame->status = OutOfMemory();
  return nullptr;
}

// Up to `count` entries at the iterator `slot`, key and value in two slots each from `base` on, borrowed. `count`
// becomes how many there were; `slot` becomes 0 when these were the last.
napi_value ReadEntries(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  CallFrame* frame = self->frame;
  TVMFFIObject* iterator = static_cast<TVMFFIObject*>(OwnedAt(self, frame->slot));
  TVMFFIAny* out = frame->slots + frame->base;
  TVMFFIAny more = {};
  more.v_int64 = 1;
  int32_t written = 0;
  for (frame->status = 0; written < frame->count && more.v_int64 != 0; ++written) {
    if (Step(iterator, 0, out + 2 * written) != 0 || Step(iterator, 1, out + 2 * written + 1) != 0 ||
        Step(iterator, 2, &more) != 0) {
      frame->status = -1;
      break;
    }
  }
  frame->count = written;
  if (more.v_int64 == 0) frame->slot = 0;
  return nullptr;
}

}  // namespace tvm_ffi
}  // namespace dlpack
