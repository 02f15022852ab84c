#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../wire.h"
#include "raised.h"
#include "tensor_type.h"
#include "text.h"

namespace dlpack {
namespace python {

uint32_t HoldObject(Objects* self, Object* object) {
  if (self->free_slot == 0) {
    const uint32_t capacity = self->capacity == 0 ? 64 : self->capacity * 2;
    Object** table = static_cast<Object**>(realloc(self->table, sizeof(Object*) * capacity));
    if (table != nullptr) self->table = table;
    uint32_t* next = static_cast<uint32_t*>(realloc(self->next_free, sizeof(uint32_t) * capacity));
    if (next != nullptr) self->next_free = next;
    if (table == nullptr || next == nullptr) return 0;
    const uint32_t first = self->capacity == 0 ? 1 : self->capacity;
    self->table[0] = nullptr;
    for (uint32_t i = first; i < capacity; ++i) {
      table[i] = nullptr;
      next[i] = i + 1 == capacity ? 0 : i + 1;
    }
    self->free_slot = first;
    self->capacity = capacity;
  }
  const uint32_t handle = self->free_slot;
  self->free_slot = self->next_free[handle];
  self->table[handle] = object;
  return handle;
}

Object* DropObject(Objects* self, uint32_t handle) {
  Object* object = GetObject(self, handle);
  if (object == nullptr) return nullptr;
  self->table[handle] = nullptr;
  uint32_t* list = self->instance->table.readers == 0 ? &self->free_slot : &self->quarantined_slot;
  self->next_free[handle] = *list;
  *list = handle;
  return object;
}

void EndQuarantine(Objects* self) {
  if (self->instance->table.readers != 0 || self->quarantined_slot == 0) return;
  uint32_t last = self->quarantined_slot;
  while (self->next_free[last] != 0) last = self->next_free[last];
  self->next_free[last] = self->free_slot;
  self->free_slot = self->quarantined_slot;
  self->quarantined_slot = 0;
}

static void DropReturned(Objects* self) {
  ObjectFrame* frame = self->frame;
  const uint32_t count = frame->returned_count < kReleased ? frame->returned_count : kReleased;
  uint32_t handles[kReleased];
  for (uint32_t i = 0; i < count; ++i) handles[i] = frame->returned[i];
  frame->returned_count = 0;
  for (uint32_t i = 0; i < count; ++i) {
    ReturnScope scope(self->instance->thread);
    Drop(self->instance, handles[i]);
  }
}

void DropReleased(Objects* self) {
  ObjectFrame* frame = self->frame;
  if (frame->returned_count != 0) DropReturned(self);
  if (frame->released_count == 0) return;
  const uint32_t count = frame->released_count < kReleased ? frame->released_count : kReleased;
  Object* objects[kReleased];
  // All out of the frame first: finalizers may call JavaScript, which releases more.
  for (uint32_t i = 0; i < count; ++i) objects[i] = DropObject(self, frame->released[i]);
  frame->released_count = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (objects[i] != nullptr) api.Py_DecRef(objects[i]);
  }
}

static Object* BytesToPython(napi_env env, napi_value value) {
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr) != napi_ok) length = 0;
  return api.PyBytes_FromStringAndSize(static_cast<char*>(data), static_cast<ptrdiff_t>(length));
}

Storage* ReadTensor(Objects* self, const Cell& cell, Descriptor* descriptor) {
  const bool is_word = cell.number >= 0 && cell.number < kWireWords;  // false for NaN, too
  const WireTensor* wire =
      is_word ? MessageAt<WireTensor>(self->instance, static_cast<uint32_t>(cell.number)) : nullptr;
  Storage* storage = wire == nullptr ? nullptr : GetHeld(self->instance, wire->handle);
  if (storage == nullptr || ReadWire(self->instance, *wire, descriptor) != kOk) {
    api.PyErr_SetString(api.PyExc_RuntimeError, "Expected a live tensor but it was disposed");
    return nullptr;
  }
  return storage;
}

Object* ToPython(Objects* self, const Cell& cell, Spill* spill) {
  switch (cell.kind) {
    case kNone: api.Py_IncRef(api._Py_NoneStruct); return api._Py_NoneStruct;
    case kBool: return api.PyBool_FromLong(cell.number != 0);
    case kInt: return api.PyLong_FromLongLong(static_cast<long long>(cell.number));
    case kFloat: return api.PyFloat_FromDouble(cell.number);
    case kString:
    case kBigInt:
    case kBytes: {
      if (spill == nullptr || spill->at >= spill->count) break;
      napi_value value = spill->values[spill->at++];
      return cell.kind == kBytes    ? BytesToPython(spill->env, value)
             : cell.kind == kString ? StringToPython(spill->env, value)
                                    : DigitsToPython(spill->env, value);
    }
    case kTensor: {
      Descriptor descriptor;
      Storage* storage = ReadTensor(self, cell, &descriptor);
      return storage == nullptr ? nullptr : NewTensor(descriptor, storage);
    }
    case kTaken: {
      Object* object = DropObject(self, cell.handle);
      if (object == nullptr) break;
      // Taken: nobody gives it back a second time.
      Cell* cells = self->frame->cells;
      if (&cell >= cells && &cell < cells + kCells) cells[&cell - cells].kind = kNone;
      return object;
    }
    case kHandle: {
      Object* object = GetObject(self, cell.handle);
      if (object == nullptr) break;
      api.Py_IncRef(object);
      return object;
    }
    default: break;
  }
  api.PyErr_SetString(api.PyExc_RuntimeError, "Expected a live Python object but it was released");
  return nullptr;
}

bool MakeBytes(napi_env env, Objects* self, const char* data, size_t length, napi_value* out) {
  // Node-API ends the process where memory or the lengths of typed arrays do not suffice; JavaScript throws.
  const size_t kLarge = 1 << 20;
  void* copy = nullptr;
  napi_value buffer, function, receiver, argument;
  napi_typedarray_type type;
  size_t made = 0;
  if (length < kLarge) {
    if (napi_create_arraybuffer(env, length, &copy, &buffer) != napi_ok ||
        napi_create_typedarray(env, napi_uint8_array, length, buffer, 0, out) != napi_ok)
      return false;
  } else if (napi_get_reference_value(env, self->make_bytes, &function) != napi_ok ||
             napi_get_undefined(env, &receiver) != napi_ok ||
             napi_create_double(env, static_cast<double>(length), &argument) != napi_ok ||
             napi_call_function(env, receiver, function, 1, &argument, out) != napi_ok ||
             napi_get_typedarray_info(env, *out, &type, &made, &copy, nullptr, nullptr) != napi_ok || made != length) {
    return false;
  }
  if (length > 0) memcpy(copy, data, length);
  return true;
}

void HoldResult(Objects* self, Object* object) {
  Cell* result = &self->frame->result;
  result->kind = kHandle;
  result->handle = HoldObject(self, object);
  if (result->handle == 0) api.Py_DecRef(object);
}

Object* RaiseTooLong(const char* subject, const char* advice) {
  char text[160];
  snprintf(text, sizeof(text), "%s too long for JavaScript, or there is no memory for it; %s", subject, advice);
  api.PyErr_SetString(api.PyExc_OverflowError, text);
  return nullptr;
}

napi_value FromPython(napi_env env, Objects* self, Object* object) {
  Cell* result = &self->frame->result;
  Object* type = TypeOf(object);
  napi_value spilled = nullptr;
  Ref ref(object);
  if (object == api._Py_NoneStruct) {
    result->kind = kNone;
  } else if (type == api.PyBool_Type) {
    result->kind = kBool;
    result->number = object == api._Py_TrueStruct;
  } else if (type == api.PyFloat_Type) {
    result->kind = kFloat;
    result->number = api.PyFloat_AsDouble(object);
  } else if (type == api.PyLong_Type) {
    int overflow = 0;
    const long long value = api.PyLong_AsLongLongAndOverflow(object, &overflow);
    result->number = static_cast<double>(value);
    result->kind = overflow == 0 && IsSafeInteger(value) ? kInt : kBigInt;
    if (result->kind == kInt) return nullptr;
    Ref digits(api.PyNumber_ToBase(object, 16));
    const Text text(digits.get());
    if (MakeString(env, text.data, text.size, text.is_utf16, &spilled)) return spilled;
    RaiseTooLong("This int is", kLongInt);
    return TakeException(env, self);
  } else if (type == api.PyUnicode_Type) {
    result->kind = kString;
    const Text text(object);
    if (MakeString(env, text.data, text.size, text.is_utf16, &spilled)) return spilled;
    RaiseTooLong("This str is", kLongStr);
    return TakeException(env, self);
  } else if (type == api.PyBytes_Type) {
    result->kind = kBytes;
    char* data = nullptr;
    ptrdiff_t length = 0;
    if (api.PyBytes_AsStringAndSize(object, &data, &length) == 0 &&
        MakeBytes(env, self, data, static_cast<size_t>(length), &spilled))
      return spilled;
    RaiseTooLong("These bytes are", kLongBytes);
    return TakeException(env, self);
  } else {
    HoldResult(self, ref.take());
  }
  return nullptr;
}

static void SetString(napi_env env, napi_value object, const char* name, Object* str) {
  const Text text(str);
  napi_value value;
  if (!MakeString(env, text.data, text.size, text.is_utf16, &value)) MakeString(env, "?", 1, false, &value);
  napi_set_named_property(env, object, name, value);
}

napi_value TakeException(napi_env env, Objects* self) {
  Raised raised;
  napi_value result;
  napi_create_object(env, &result);
  SetString(env, result, "type", raised.type_name.get());
  SetString(env, result, "message", raised.message.get());
  if (raised.traceback) SetString(env, result, "traceback", raised.traceback.get());
  self->frame->failed = 1;
  self->frame->result.kind = kNone;
  if (raised.exception) {
    self->frame->result.handle = HoldObject(self, raised.exception.get());
    if (self->frame->result.handle != 0) {
      raised.exception.take();
      self->frame->result.kind = kHandle;
    }
  }
  return result;
}

}  // namespace python
}  // namespace dlpack
