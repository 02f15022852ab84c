// Values between JavaScript and ONNX Runtime: tensors over memory of this package, strings, sequences, maps, optionals.
#pragma once

#include "context.h"
#include "list.h"
#include "memory_in_use.h"
#include "session_device.h"

namespace dlpack::onnxruntime {

// Reads the values of a run, which src/onnxruntime/values.ts wrote as numbers. JavaScript thread.
class Reader {
 public:
  Reader(Context* self, napi_env env, const SessionDevice& device, const Elements<double>& numbers, napi_value texts,
         UsedMemory* memory, Failure* failure)
      : self_(self), env_(env), device_(device), numbers_(numbers), texts_(texts), memory_(memory), failure_(failure) {}

  // The next number; 0 at the end.
  double Next() { return at_ < numbers_.length ? numbers_.data[at_++] : 0; }

  // The next value, which is an input, or a given output that is written to; NULL for one that is absent, and on
  // failure.
  OrtValue* Value(const char* name, bool is_written) {
    name_ = name;
    is_written_ = is_written;
    return Value();
  }

 private:
  OrtValue* Value();
  OrtValue* Tensor();
  OrtValue* Strings();
  OrtValue* Container(ValueType type);
  bool Shape(int64_t* shape, size_t* ndim);

  Context* self_;
  napi_env env_;
  const SessionDevice& device_;
  Elements<double> numbers_;
  napi_value texts_;
  UsedMemory* memory_;
  Failure* failure_;
  size_t at_ = 0;
  const char* name_ = nullptr;
  bool is_written_ = false;
};

// Writes the outputs of a run as numbers, in the forms in which a Reader gets inputs, which src/onnxruntime/values.ts
// reads. Unless `Finish` succeeds, nothing of it stays. JavaScript thread.
class Writer {
 public:
  // `memory` is that of the inputs of the run, which no output may keep.
  Writer(Context* self, napi_env env, const SessionDevice& device, const UsedMemory* memory, Failure* failure)
      : self_(self), env_(env), device_(device), memory_(memory), failure_(failure) {}
  ~Writer();

  // Takes the value over: a tensor's memory stays with it until its tensor is released.
  void Take(OrtValue* value);

  // In the place of a value that JavaScript has already.
  void TakeNothing();

  // What src/onnxruntime/binding.ts calls RawOutputs: null when `room` has all numbers. NULL on failure, and when the
  // environment ends.
  napi_value Finish(const Elements<double>& room);

 private:
  void Add(double number);
  void Describe(OrtValue** value);
  void Tensor(OrtValue** value);
  Storage* StorageOf(OrtValue** value, void* data, uint64_t nbytes, bool is_on_device);
  void Strings(const OrtValue* value);
  void Container(const OrtValue* value, int32_t type);
  void Shape();
  bool ReadInfo(const OrtValue* value);
  bool CopyInfo(const OrtValue* value);

  Context* self_;
  napi_env env_;
  const SessionDevice& device_;
  const UsedMemory* memory_;
  Failure* failure_;
  List<double> numbers_ = {};
  napi_value texts_ = nullptr;  // the strings of all values
  uint32_t text_count_ = 0;
  List<uint32_t> handles_ = {};  // which JavaScript does not know yet
  // Of the tensor that is described.
  int32_t type_ = 0;
  size_t ndim_ = 0;
  const int64_t* shape_ = nullptr;  // in the value, or in `room_`
  int64_t room_[kMaxNdim];
  uint64_t size_ = 0;
};

}  // namespace dlpack::onnxruntime
