#include "tensor_arguments.h"

#include "../../bindings.h"

namespace dlpack::tvm_ffi {

static int Refuse(Status status) {
  if (status == kOutOfMemory) return OutOfMemory();
  return Raise("ValueError", "Expected a tensor that lies inside of its memory, with a layout that is known");
}

// Of lent memory; NULL for the memory of a storage.
static void* AddressOf(const TensorArgument& argument) {
  return Pointer(uint64_t{argument.address_high} << 32 | argument.address_low);
}

int TensorArguments::ReadOne(TVMFFIAny* value) {
  const double payload = value->v_float64;
  const uint32_t word = payload >= 0 && payload < kWireWords ? static_cast<uint32_t>(payload) : kWireWords;
  const TensorArgument* argument = MessageAt<TensorArgument>(self_->instance, word);
  Storage* storage = nullptr;
  void* data = AddressOf(*argument);
  double nbytes = argument->nbytes;
  if (data == nullptr) {
    storage = GetHeld(self_->instance, argument->tensor.handle);
    if (storage == nullptr) return Refuse(kConsumed);
    data = storage->data;
  } else if (!IsSize(nbytes)) {
    return Refuse(kTooLarge);
  }
  LayoutRoom room;
  Descriptor tensor;
  const uint64_t size = storage == nullptr ? static_cast<uint64_t>(nbytes) : storage->nbytes;
  const Status status = ReadTensor(self_->instance, argument->tensor, size, &room, &tensor);
  if (status != kOk) return Refuse(status);
  TensorObject* object = count_ == kMost ? nullptr : LendTensorObject(tensor, data, storage, self_->instance->thread);
  if (object == nullptr) return OutOfMemory();
  object->held = argument->held;
  made_[count_++] = object;
  const bool is_lent = value->type_index == kLentTensor || storage == nullptr;
  value->type_index = is_lent ? kTVMFFIDLTensorPtr : kTVMFFITensor;
  value->zero_padding = 0;
  value->v_ptr = is_lent ? static_cast<void*>(&object->tensor) : object;
  return 0;
}

// readAddress(Uint8Array): the address of memory that JavaScript keeps alive.
static void ReadAddress(Context*, TensorArgument* request, napi_env env, napi_value value) {
  const Elements<uint8_t> bytes(env, value);
  request->status = bytes.is_valid ? 0 : Raise("TypeError", "Expected a Uint8Array over the memory of a tensor");
  // Any address will do for memory of no bytes.
  const uint64_t address = bytes.data == nullptr ? 4096 : reinterpret_cast<uint64_t>(bytes.data);
  request->address_low = static_cast<uint32_t>(address);
  request->address_high = static_cast<uint32_t>(address >> 32);
  request->nbytes = static_cast<double>(bytes.length);
}

// An object of the tensor, with a reference.
static void KeepTensor(Context* self, TensorArgument* request) {
  TVMFFIAny value = {};
  value.type_index = kTensor;
  value.v_float64 = static_cast<double>(reinterpret_cast<uint64_t*>(request) - self->words);
  TensorArguments tensors(self);
  request->status = tensors.Read(&value, 1);
  if (request->status != 0) return;
  TensorObject* object = tensors.Last();
  library.ObjectIncRef(object);
  request->view = reinterpret_cast<uint64_t>(&object->tensor);
  request->object = reinterpret_cast<uint64_t>(object);
  request->reference = Own(self, object);
  if (request->reference == 0) request->status = OutOfMemory();
}

const NamedFunction kTensorArgumentsFunctions[] = {
    {"readAddress", Binding<ReadAddress>::Call}, {"keepTensor", Binding<KeepTensor>::Call}, {}};

}  // namespace dlpack::tvm_ffi
