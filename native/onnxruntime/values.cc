#include "values.h"

#include <stdlib.h>
#include <string.h>

#include "../wire/wire.h"
#include "allocator.h"
#include "runtime.h"
#include "text.h"

namespace dlpack::onnxruntime {

// The forms in which a value travels; src/onnxruntime/values.ts has the same.
enum Form { kAbsent = 0, kTensorForm = 1, kStringsForm = 2, kSequenceForm = 3, kMapForm = 4 };

OrtValue* Reader::Value() {
  if (failure_->code != 0) return nullptr;
  switch (static_cast<int>(Next())) {
    case kTensorForm: return Tensor();
    case kStringsForm: return Strings();
    case kSequenceForm: return Container(kSequence);
    case kMapForm: return Container(kMap);
    default: return nullptr;
  }
}

bool Reader::Shape(int64_t* shape, size_t* ndim) {
  const double axes = Next();
  if (!(axes >= 0 && axes <= kMaxNdim)) return false;
  *ndim = static_cast<size_t>(axes);
  for (size_t i = 0; i < *ndim; ++i) {
    const double length = Next();
    if (!IsSize(length)) return false;
    shape[i] = static_cast<int64_t>(length);
  }
  return true;
}

// Version 1.30 takes the numbers of the newest types for others.
static bool HasType(const OrtValue* value, int32_t type, Failure* failure) {
  OrtTensorInfo* info = nullptr;
  int32_t actual = 0;
  if (failure->Take(library.GetTensorTypeAndShape(value, &info))) return false;
  failure->Take(library.GetTensorElementType(info, &actual));
  library.ReleaseTensorTypeAndShapeInfo(info);
  return actual == type;
}

// handle, offset, bytes, element type, 1 for memory of the device, shape
OrtValue* Reader::Tensor() {
  static char nothing[1];
  const uint32_t handle = static_cast<uint32_t>(Next());
  const double offset = Next(), nbytes = Next();
  const int32_t type = static_cast<int32_t>(Next());
  const OrtMemoryInfo* memory = Next() == 0 ? library.host : device_.memory;
  int64_t shape[kMaxNdim];
  size_t ndim = 0;
  Storage* storage = GetHeld(self_->instance, handle);
  if (!Shape(shape, &ndim) || memory == nullptr || storage == nullptr || !IsSize(offset) || !IsSize(nbytes) ||
      offset + nbytes > static_cast<double>(storage->nbytes) || (nbytes > 0 && storage->data == nullptr)) {
    failure_->Set(kInvalidArgument, "a tensor lies outside of its memory");
    return nullptr;
  }
  // Empty tensors may lie at NULL, which the library takes for a missing pointer.
  char* data = nbytes == 0 ? nothing : static_cast<char*>(storage->data) + static_cast<size_t>(offset);
  OrtValue* value = nullptr;
  if (!memory_->Add({storage, data, static_cast<size_t>(nbytes), name_, is_written_})) {
    failure_->Set(kFailed, "out of memory");
    return nullptr;
  }
  failure_->Take(
      library.CreateTensorWithDataAsOrtValue(memory, data, static_cast<size_t>(nbytes), shape, ndim, type, &value));
  if (type < kNewestTypes || (value != nullptr && HasType(value, type, failure_))) return value;
  char text[sizeof(failure_->text)];
  snprintf(text, sizeof(text), "this version takes the dtype of %s '%.500s' for another one",
           is_written_ ? "output" : "input", name_);
  failure_->Set(kFailed, text);
  if (value != nullptr) library.ReleaseValue(value);
  return nullptr;
}

// shape, then as many strings in `texts`, from the position that comes first
OrtValue* Reader::Strings() {
  uint32_t at = static_cast<uint32_t>(Next());
  const size_t count = static_cast<size_t>(Next());
  int64_t shape[kMaxNdim];
  size_t ndim = 0;
  OrtValue* value = nullptr;
  if (!Shape(shape, &ndim)) failure_->Set(kInvalidArgument, "a shape is not valid");
  if (failure_->code != 0 ||
      failure_->Take(library.CreateTensorAsOrtValue(library.strings, shape, ndim, kStringElements, &value))) {
    return nullptr;
  }
  for (size_t i = 0; i < count && failure_->code == 0; ++i) {
    napi_handle_scope scope;
    napi_open_handle_scope(env_, &scope);
    napi_value text = ElementOf(env_, texts_, at++);
    size_t length = 0;
    char* buffer = nullptr;
    if (napi_get_value_string_utf8(env_, text, nullptr, 0, &length) != napi_ok) {
      failure_->Set(kInvalidArgument, "an element is not a string");
    } else if (!failure_->Take(library.GetResizedStringTensorElementBuffer(value, i, length, &buffer)) && length > 0) {
      // Node-API adds a NUL, for which the library's strings have room.
      napi_get_value_string_utf8(env_, text, buffer, length + 1, &length);
    }
    napi_close_handle_scope(env_, scope);
  }
  if (failure_->code == 0) return value;
  library.ReleaseValue(value);
  return nullptr;
}

// number of values, the values
OrtValue* Reader::Container(ValueType type) {
  const size_t count = static_cast<size_t>(Next());
  OrtValue** values = static_cast<OrtValue**>(calloc(count + 1, sizeof(OrtValue*)));
  if (values == nullptr) {
    failure_->Set(kFailed, "out of memory");
    return nullptr;
  }
  OrtValue* container = nullptr;
  for (size_t i = 0; i < count && failure_->code == 0; ++i) values[i] = Value();
  for (size_t i = 0; i < count && failure_->code == 0; ++i) {
    if (values[i] == nullptr) failure_->Set(kInvalidArgument, "an element of a sequence or map has no value");
  }
  if (failure_->code == 0) failure_->Take(library.CreateValue(values, count, type, &container));
  for (size_t i = 0; i < count; ++i) {
    if (values[i] != nullptr) library.ReleaseValue(values[i]);
  }
  free(values);
  return container;
}

// Bits of an element, by its type. 0: not a tensor over memory.
static const uint8_t kElementBits[kMaxElementType + 1] = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                                                          64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 2,  2,  8};

// Any thread. `owner` is the value, whose memory comes from its allocator.
static void DestroyValue(Storage* storage) {
  CountStorage(storage, -1);
  library.ReleaseValue(static_cast<OrtValue*>(storage->owner));
  FreeStorage(storage);
}

Writer::~Writer() {
  for (const uint32_t handle : handles_) Drop(self_->instance, handle);
  handles_.Free();
  numbers_.Free();
}

void Writer::Add(double number) {
  if (!numbers_.Add(number)) failure_->Set(kFailed, "out of memory");
}

// For versions without GetTensorElementTypeAndShapeDataReference, which is thirty times as fast.
bool Writer::CopyInfo(const OrtValue* value) {
  OrtTensorInfo* info = nullptr;
  if (failure_->Take(library.GetTensorTypeAndShape(value, &info))) return false;
  shape_ = room_;
  const bool good = !failure_->Take(library.GetTensorElementType(info, &type_)) &&
                    !failure_->Take(library.GetDimensionsCount(info, &ndim_)) &&
                    (ndim_ > kMaxNdim || !failure_->Take(library.GetDimensions(info, room_, ndim_)));
  library.ReleaseTensorTypeAndShapeInfo(info);
  return good;
}

bool Writer::ReadInfo(const OrtValue* value) {
  if (library.GetTensorElementTypeAndShapeDataReference == nullptr) {
    if (!CopyInfo(value)) return false;
  } else if (failure_->Take(library.GetTensorElementTypeAndShapeDataReference(value, &type_, &shape_, &ndim_))) {
    return false;
  }
  if (ndim_ > kMaxNdim) {
    failure_->Set(kFailed, "an output has more than 64 axes");
    return false;
  }
  size_ = 1;
  for (size_t i = 0; i < ndim_; ++i) size_ *= static_cast<uint64_t>(shape_[i]);
  return true;
}

void Writer::Shape() {
  Add(static_cast<double>(ndim_));
  for (size_t i = 0; i < ndim_; ++i) Add(static_cast<double>(shape_[i]));
}

// The memory of an output. Empties `value` when the storage has taken it over. NULL when out of memory.
Storage* Writer::StorageOf(OrtValue** value, void* data, uint64_t nbytes, bool is_on_device) {
  // Without elements the library has no address, and consumers want a valid one.
  if (nbytes == 0) return AllocateStorage(0);
  // An output that is an input of the model lies in the memory of that input, which the value does not hold.
  if (memory_->Contain(data)) {
    if (is_on_device) {
      failure_->Set(kFailed, "an output on the device is an input; ask for it on the host");
      return nullptr;
    }
    Storage* copy = AllocateStorage(nbytes);
    if (copy != nullptr) memcpy(copy->data, data, static_cast<size_t>(nbytes));
    return copy;
  }
  Storage* storage = WrapStorage(data, nbytes, DestroyValue, *value, 0);
  if (storage == nullptr) return nullptr;
  CountStorage(storage, 1);
  *value = nullptr;
  return storage;
}

// handle, bytes, element type, 1 for memory of the device, shape. Empties `value` when its storage has taken it over.
void Writer::Tensor(OrtValue** value) {
  void* data = nullptr;
  const uint64_t nbytes = (size_ * kElementBits[type_] + 7) / 8;
  if (failure_->Take(library.GetTensorMutableData(*value, &data))) return;
  const bool is_on_device = IsOnDevice(device_, *value, failure_);
  Storage* storage = failure_->code != 0 ? nullptr : StorageOf(value, data, nbytes, is_on_device);
  const uint32_t handle = storage == nullptr ? 0 : Hold(self_->instance, storage, true);
  if (handle == 0 || !handles_.Add(handle)) {
    if (handle != 0) Drop(self_->instance, handle);
    if (failure_->code == 0) failure_->Set(kFailed, "out of memory");
    return;
  }
  Add(kTensorForm);
  Add(handle);
  Add(static_cast<double>(nbytes));
  Add(type_);
  Add(is_on_device ? 1 : 0);
  Shape();
}

// position of the first string in the texts, number of strings, shape
void Writer::Strings(const OrtValue* value) {
  size_t length = 0;
  if (failure_->Take(library.GetStringTensorDataLength(value, &length))) return;
  const size_t count = static_cast<size_t>(size_);
  char* text = static_cast<char*>(malloc(length + 1));
  size_t* offsets = static_cast<size_t*>(malloc((count + 1) * sizeof(size_t)));
  if (text == nullptr || offsets == nullptr || (texts_ == nullptr && napi_create_array(env_, &texts_) != napi_ok)) {
    failure_->Set(kFailed, "out of memory");
  } else if (!failure_->Take(library.GetStringTensorContent(value, text, length, offsets, count))) {
    Add(kStringsForm);
    Add(text_count_);
    Add(static_cast<double>(count));
    Shape();
    offsets[count] = length;
    for (size_t i = 0; i < count; ++i) {
      napi_handle_scope scope;
      napi_value element = nullptr;
      napi_open_handle_scope(env_, &scope);
      napi_create_string_utf8(env_, text + offsets[i], offsets[i + 1] - offsets[i], &element);
      napi_set_element(env_, texts_, text_count_++, element);
      napi_close_handle_scope(env_, scope);
    }
  }
  free(text);
  free(offsets);
}

// number of values, the values: the elements of a sequence, or the keys and the values of a map
void Writer::Container(const OrtValue* value, int32_t type) {
  size_t count = 0;
  if (failure_->Take(library.GetValueCount(value, &count))) return;
  Add(type == kMap ? kMapForm : kSequenceForm);
  Add(static_cast<double>(count));
  for (size_t i = 0; i < count && failure_->code == 0; ++i) {
    OrtValue* element = nullptr;
    if (!failure_->Take(library.GetValue(value, static_cast<int32_t>(i), BlockAllocator(), &element))) Take(element);
  }
}

void Writer::Describe(OrtValue** value) {
  int32_t type = 0, has_value = 1;
  if (failure_->Take(library.HasValue(*value, &has_value))) return;
  if (has_value == 0) return TakeNothing();
  if (failure_->Take(library.GetValueType(*value, &type))) return;
  if (type == kSequence || type == kMap) return Container(*value, type);
  if (type != kTensor) {
    failure_->Set(kFailed, "an output is neither a tensor nor a sequence, a map or an optional");
    return;
  }
  if (!ReadInfo(*value)) return;
  if (type_ == kStringElements) return Strings(*value);
  if (type_ > 0 && type_ <= kMaxElementType && kElementBits[type_] > 0) return Tensor(value);
  failure_->Set(kFailed, "an output has elements of a type that this package does not know");
}

void Writer::Take(OrtValue* value) {
  Describe(&value);
  if (value != nullptr) library.ReleaseValue(value);
}

void Writer::TakeNothing() { Add(kAbsent); }

napi_value Writer::Finish(const Elements<double>& room) {
  if (failure_->code != 0) return NewFailure(env_, *failure_);
  const bool fits = numbers_.count <= room.length;
  const size_t nbytes = numbers_.count * sizeof(double);
  napi_value result = nullptr;
  if (fits) {
    if (napi_get_null(env_, &result) != napi_ok) return nullptr;
    if (nbytes > 0) memcpy(room.data, numbers_.elements, nbytes);
  } else {
    napi_value buffer = nullptr;
    void* data = nullptr;
    if (napi_create_arraybuffer(env_, nbytes, &data, &buffer) != napi_ok ||
        napi_create_typedarray(env_, napi_float64_array, numbers_.count, buffer, 0, &result) != napi_ok) {
      return nullptr;
    }
    memcpy(data, numbers_.elements, nbytes);
  }
  if (texts_ != nullptr) {
    napi_value pair = nullptr;
    if (napi_create_array_with_length(env_, 2, &pair) != napi_ok ||
        napi_set_element(env_, pair, 0, result) != napi_ok || napi_set_element(env_, pair, 1, texts_) != napi_ok) {
      return nullptr;
    }
    result = pair;
  }
  handles_.count = 0;  // JavaScript has them now
  return result;
}

}  // namespace dlpack::onnxruntime
