// Containers: made from any number of values in slots, and read back into slots.
#include <stdio.h>

#include "../calls/builtins.h"
#include "tensor_arguments.h"

namespace dlpack::tvm_ffi {

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
  TVMFFIAny* values = batch == nullptr ? ValuesAt(self, request->values) : batch->values;
  const int32_t count = batch == nullptr ? request->count : batch->count;
  const char* maker = MakerOf(request->type);
  TVMFFIAny result = {};
  TensorArguments tensors(self);
  int status = tensors.Read(values, count);
  if (status == 0) status = CallBuiltin(maker, values, count, &result);
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

// iterateEntries(pointer): the number of an iterator over a Map or Dict; 0 when it is empty.
static napi_value IterateEntries(Context* self, napi_env env, Address address) {
  TVMFFIAny map = {};
  map.v_obj = static_cast<TVMFFIObject*>(address.pointer);
  map.type_index = map.v_obj->type_index;
  const bool is_dict = map.type_index == kTVMFFIDict;
  TVMFFIAny size = {}, iterator = {};
  if (CallBuiltin(is_dict ? "ffi.DictSize" : "ffi.MapSize", &map, 1, &size) != 0) return nullptr;
  if (size.type_index == kTVMFFIInt && size.v_int64 == 0) return NewNumber(env, 0);
  const char* maker = is_dict ? "ffi.DictForwardIterFunctor" : "ffi.MapForwardIterFunctor";
  if (CallBuiltin(maker, &map, 1, &iterator) != 0) return nullptr;
  if (iterator.type_index != kTVMFFIFunction) {
    RefuseResult(iterator, maker);
    return nullptr;
  }
  const uint32_t number = Own(self, iterator.v_obj);
  if (number != 0) return NewNumber(env, number);
  OutOfMemory();
  return nullptr;
}

// readEntries(iterator, word, count): reads up to `count` entries as borrowed values, keys and values in turn. Returns
// [number of entries, whether these are the last].
static napi_value ReadEntries(Context* self, napi_env env, uint32_t number, uint32_t word, int32_t count) {
  TVMFFIObject* iterator = static_cast<TVMFFIObject*>(OwnedAt(self, number));
  TVMFFIAny* out = ValuesAt(self, word);
  TVMFFIAny more = {};
  more.v_int64 = 1;
  int32_t written = 0;
  for (; written < count && more.v_int64 != 0; ++written) {
    TVMFFIAny* pair = out + ptrdiff_t{2} * written;
    if (Step(iterator, 0, pair) != 0 || Step(iterator, 1, pair + 1) != 0 || Step(iterator, 2, &more) != 0) {
      return nullptr;
    }
  }
  return NewArray(env, {NewNumber(env, written), NewBoolean(env, more.v_int64 == 0)});
}

const NamedFunction kContainersFunctions[] = {{"makeContainer", Binding<MakeContainer>::Call},
                                              {"readSequence", Binding<ReadSequence>::Call},
                                              {"iterateEntries", Binding<IterateEntries>::Call},
                                              {"readEntries", Binding<ReadEntries>::Call},
                                              {}};

}  // namespace dlpack::tvm_ffi
