#include "cells.h"

#include <stdio.h>
#include <string.h>

#include "../calls/functions.h"
#include "../interpreter/prelude.h"
#include "../tensors/consume.h"
#include "../tensors/tensor_type.h"

namespace dlpack::python {

static const uint32_t kMostReleased = sizeof(ReleasedList::objects) / sizeof(uint32_t);

// Takes all handles off a list before any object is dropped: dropping one may call JavaScript, which releases more.
static uint32_t TakeHandles(uint32_t* count, const uint32_t* handles, uint32_t* out) {
  const uint32_t taken = *count < kMostReleased ? *count : kMostReleased;
  for (uint32_t i = 0; i < taken; ++i) out[i] = handles[i];  // mostly one
  *count = 0;
  return taken;
}

// Drops the released storages and takes the released objects off their list. `has_gil`: this thread holds the GIL.
static uint32_t TakeReleased(Objects* self, Object** objects, bool has_gil) {
  ReleasedList* list = self->released;
  uint32_t handles[kMostReleased];
  const uint32_t storages = TakeHandles(&list->storage_count, list->storages, handles);
  for (uint32_t i = 0; i < storages; ++i) {
    // Other functions call deleters, which may run JavaScript without the GIL.
    const Storage* storage = GetHeld(self->instance, handles[i] & ~kDetached);
    ReturnScope scope(self->instance->thread, has_gil && storage != nullptr && storage->destroy == DropOwner);
    Drop(self->instance, handles[i]);
  }
  const uint32_t count = TakeHandles(&list->object_count, list->objects, handles);
  for (uint32_t i = 0; i < count; ++i) {
    Object* spare = has_gil ? TakeSpare(self, handles[i]) : nullptr;
    if (spare != nullptr) api.Py_DecRef(spare);  // not the last reference, so no code runs
    objects[i] = DropObject(self, handles[i]);
  }
  return count;
}

void DropReleased(Objects* self) {
  if (self->released->storage_count == 0 && self->released->object_count == 0) return;
  Object* objects[kMostReleased];
  const uint32_t count = TakeReleased(self, objects, true);
  for (uint32_t i = 0; i < count; ++i) api.Py_DecRef(objects[i]);
}

void DeferReleased(Objects* self) {
  FinalizerScope scope;  // storages defer their release, too
  Object* objects[kMostReleased];
  const uint32_t count = TakeReleased(self, objects, false);
  for (uint32_t i = 0; i < count; ++i) DeferDecRef(objects[i]);
}

Cells CellsBehind(const Instance* instance, const void* end, uint32_t count) {
  const char* wire_end = reinterpret_cast<const char*>(instance->words + kWireWords);
  const size_t room = static_cast<size_t>(wire_end - static_cast<const char*>(end)) / sizeof(Cell);
  return {static_cast<Cell*>(const_cast<void*>(end)), count < room ? count : static_cast<uint32_t>(room)};
}

// The index of a word in the wire that a cell refers to; the last word for an invalid index.
static uint32_t WordOf(const Cell& cell) {
  return cell.number >= 0 && cell.number < kWireWords ? static_cast<uint32_t>(cell.number) : kWireWords - 1;
}

Cells CellsOf(const Instance* instance, const Cell& container) {
  const CellList* list = MessageAt<CellList>(instance, WordOf(container));
  return CellsBehind(instance, list + 1, list->count);
}

Storage* ReadTensorCell(Objects* self, const Cell& cell, LayoutRoom* room, Descriptor* tensor) {
  const WireTensor& wire = *MessageAt<WireTensor>(self->instance, WordOf(cell));
  Storage* storage = GetHeld(self->instance, wire.handle);
  if (storage == nullptr || ReadTensor(self->instance, wire, storage->nbytes, room, tensor) != kOk) return nullptr;
  return storage;
}

Object* RaiseReleased(uint32_t kind) {
  return Raise(api.PyExc_RuntimeError, kind == kTensor ? "Expected a live tensor but it was disposed"
                                                       : "Expected a live Python object but it was released");
}

static Object* ContainerToPython(Objects* self, const Cell& cell, Spill* spill, int depth) {
  const Cells cells = CellsOf(self->instance, cell);
  return MakeContainer(cell.kind, cells.count,
                       [&](uint32_t i) { return ToPython(self, &cells.at[i], spill, depth + 1); });
}

// The Python callable of a JavaScript function: the existing callable or a new one.
static Object* FunctionToPython(Objects* self, Cell* cell, napi_env env, napi_value name) {
  Object* known = FindFunction(self, cell->handle);
  if (known != nullptr) return known;
  Storage* pin = WrapQueued(self->instance->queue, static_cast<uint64_t>(cell->number), nullptr, 0);
  if (pin == nullptr) return Raise(api.PyExc_RuntimeError, "Out of memory for a function");
  const uint32_t number = cell->handle;
  cell->handle = 0;  // the storage owns the pin now
  return NewFunction(self, number, pin, JavaScriptText(env, name));
}

Object* ToPython(Objects* self, Cell* cell, Spill* spill, int depth) {
  const uint32_t kind = cell->kind;
  switch (kind) {
    case kNone: return None();
    case kBool: return api.PyBool_FromLong(cell->number != 0);
    case kInt: return api.PyLong_FromLongLong(static_cast<long long>(cell->number));
    case kFloat: return api.PyFloat_FromDouble(cell->number);
    case kString:
    case kBigInt:
    case kBytes:
    case kFunction: {
      if (spill == nullptr || spill->at >= spill->count) break;
      napi_value value = spill->values[spill->at++];
      return kind == kFunction ? FunctionToPython(self, cell, spill->env, value)
                               : MakeObject(JavaScriptText(spill->env, value, kind), kind);
    }
    case kTensor: {
      LayoutRoom room;
      Descriptor tensor;
      Storage* storage = ReadTensorCell(self, *cell, &room, &tensor);
      if (storage == nullptr) break;
      return NewTensor(tensor, storage, cell->handle != 0);
    }
    case kHandle: {
      Object* object = NewReference(self, cell->handle);
      if (object == nullptr) break;
      return object;
    }
    case kList:
    case kSet:
    case kDict:
      if (depth >= kMaxDepth) break;
      return ContainerToPython(self, *cell, spill, depth);
    default: break;
  }
  return RaiseReleased(kind);
}

// A Uint8Array with a copy of the bytes; false when JavaScript cannot allocate that length.
static bool MakeBytes(napi_env env, Objects* self, const Characters& bytes, napi_value* out) {
  // Node-API ends the process when memory runs out or a typed array would be too long. JavaScript code throws instead.
  const size_t kLarge = 1 << 20, length = bytes.size;
  void* copy = nullptr;
  napi_value buffer;
  if (length < kLarge) {
    if (napi_create_arraybuffer(env, length, &copy, &buffer) != napi_ok ||
        napi_create_typedarray(env, napi_uint8_array, length, buffer, 0, out) != napi_ok)
      return false;
  } else {
    const napi_value argument = NewNumber(env, static_cast<double>(length));
    if (!CallJavaScript(self, self->make_bytes, 1, &argument, out)) return false;
    const Elements<char> made(env, *out);
    if (made.length != length) return false;
    copy = made.data;
  }
  if (length > 0) memcpy(copy, bytes.data, length);
  return true;
}

void HoldResult(Objects* self, Object* object, Outcome* outcome, int64_t bytes) {
  outcome->result_kind = kHandle;
  outcome->result_handle = HoldObject(self, object, bytes);
  if (outcome->result_handle == 0) api.Py_DecRef(object);
}

uint32_t KindOf(Object* object, double* number) {
  Object* type = TypeOf(object);
  if (object == api._Py_NoneStruct) return kNone;
  if (type == api.PyBool_Type) {
    *number = object == api._Py_TrueStruct;
    return kBool;
  }
  if (type == api.PyFloat_Type) {
    *number = api.PyFloat_AsDouble(object);
    return kFloat;
  }
  if (type == api.PyLong_Type) {
    int overflow = 0;
    const long long value = api.PyLong_AsLongLongAndOverflow(object, &overflow);
    *number = static_cast<double>(value);
    return overflow == 0 && IsSafeInteger(value) ? kInt : kBigInt;
  }
  const bool is_text = type == api.PyUnicode_Type || type == name_types[0] || type == name_types[1];
  return is_text ? kString : type == api.PyBytes_Type ? kBytes : kHandle;
}

bool MakeSpilled(napi_env env, Objects* self, uint32_t kind, const Characters& characters, napi_value* out) {
  return kind == kBytes ? MakeBytes(env, self, characters, out) : MakeString(env, characters, out);
}

static void RaiseTooLong(uint32_t kind) {
  const char* subject = kind == kBigInt ? "This int is" : kind == kString ? "This str is" : "These bytes are";
  const char* advice = kind == kBigInt   ? "work with it in Python"
                       : kind == kString ? "take parts of it in Python"
                                         : "take parts of it, or numpy.frombuffer of it as a tensor";
  char text[160];
  snprintf(text, sizeof(text), "%s too long for JavaScript, or there is no memory for it; %s", subject, advice);
  Raise(api.PyExc_OverflowError, text);
}

napi_value FromPython(napi_env env, Objects* self, Object* object, Outcome* outcome) {
  Ref ref(object);
  const uint32_t kind = outcome->result_kind = KindOf(object, &outcome->result_number);
  if (kind == kHandle) HoldResult(self, ref.take(), outcome, BytesBehind(object));
  if (!IsSpilled(kind)) return nullptr;
  napi_value spilled = nullptr;
  if (MakeSpilled(env, self, kind, Text(object, kind), &spilled)) return spilled;
  RaiseTooLong(kind);
  return TakeException(env, self, outcome);
}

static void SetString(napi_env env, napi_value object, const char* name, Object* str) {
  napi_value value;
  if (!MakeString(env, Text(str), &value)) value = NewText(env, "?");
  napi_set_named_property(env, object, name, value);
}

napi_value TakeException(napi_env env, Objects* self, Outcome* outcome) {
  Raised raised;
  napi_value result;
  napi_create_object(env, &result);
  SetString(env, result, "type", raised.type_name.get());
  SetString(env, result, "message", raised.message.get());
  if (raised.traceback) SetString(env, result, "traceback", raised.traceback.get());
  outcome->failed = 1;
  outcome->result_handle = 0;
  if (raised.exception) HoldResult(self, raised.exception.take(), outcome);
  if (outcome->result_handle == 0) outcome->result_kind = kNone;
  return result;
}

}  // namespace dlpack::python
