#include "staged.h"

#include <new>

#include "../calls/functions.h"
#include "../tensors/tensor_type.h"

namespace dlpack::python {

static bool StageTensor(Objects* self, const Cell& cell, Staged* out) {
  void* block = malloc(sizeof(LayoutRoom));
  if (block == nullptr) return false;
  out->layout = new (block) LayoutRoom;
  LayoutRoom room;
  Descriptor tensor;
  Storage* storage = ReadTensorCell(self, cell, &room, &tensor);
  if (storage == nullptr) return false;
  CopyLayout(*tensor.layout, out->layout);
  out->byte_offset = tensor.byte_offset;
  RetainStorage(storage);
  out->storage = storage;
  out->is_copy = cell.handle != 0;
  return true;
}

static bool StageElements(Objects* self, const Cell& cell, Spill* spill, Staged* out, int depth) {
  const Cells cells = CellsOf(self->instance, cell);
  if (depth >= kMaxDepth) return false;
  out->elements = static_cast<Staged*>(calloc(cells.count + 1, sizeof(Staged)));
  if (out->elements == nullptr) return false;
  for (; out->length < cells.count; ++out->length) {
    if (Stage(self, &cells.at[out->length], spill, &out->elements[out->length], depth + 1)) continue;
    ++out->length;
    return false;
  }
  return true;
}

bool Stage(Objects* self, Cell* cell, Spill* spill, Staged* out, int depth) {
  *out = Staged{};
  out->kind = cell->kind;
  out->number = cell->number;
  switch (cell->kind) {
    case kNone:
    case kBool:
    case kInt:
    case kFloat: return true;
    case kHandle:
      out->borrowed = GetObject(self, cell->handle);
      out->object = TakeSpare(self, cell->handle);
      return out->borrowed != nullptr;
    case kTensor: return StageTensor(self, *cell, out);
    case kList:
    case kSet:
    case kDict: return StageElements(self, *cell, spill, out, depth);
    case kString:
    case kBytes:
    case kBigInt:
    case kFunction: break;
    default: return false;
  }
  if (spill->at >= spill->count) return false;
  out->text = Copy(JavaScriptText(spill->env, spill->values[spill->at++], cell->kind));
  if (out->text.data == nullptr || cell->kind != kFunction) return out->text.data != nullptr;
  out->function = cell->handle;
  out->storage = WrapQueued(self->instance->queue, static_cast<uint64_t>(cell->number), nullptr, 0);
  if (out->storage != nullptr) cell->handle = 0;  // the storage owns the pin now
  return out->storage != nullptr;
}

void OwnObjects(Staged* value) {
  for (uint32_t i = 0; i < value->length; ++i) OwnObjects(&value->elements[i]);
  if (value->object == nullptr) value->object = NewRef(value->borrowed);
}

static Object* UnstageFunction(Objects* objects, Staged* value) {
  Object* known = FindFunction(objects, value->function);
  if (known != nullptr) return known;
  Storage* pin = value->storage;
  value->storage = nullptr;
  return NewFunction(objects, value->function, pin, value->text);
}

Object* Unstage(Objects* objects, Staged* value) {
  switch (value->kind) {
    case kBool: return api.PyBool_FromLong(value->number != 0);
    case kInt: return api.PyLong_FromLongLong(static_cast<long long>(value->number));
    case kFloat: return api.PyFloat_FromDouble(value->number);
    case kString:
    case kBigInt:
    case kBytes: return MakeObject(value->text, value->kind);
    case kTensor: return NewTensor({value->layout, value->byte_offset, 0}, value->storage, value->is_copy);
    case kFunction: return UnstageFunction(objects, value);
    case kList:
    case kSet:
    case kDict:
      return MakeContainer(value->kind, value->length,
                           [&](uint32_t i) { return Unstage(objects, &value->elements[i]); });
    case kHandle: {
      Object* object = value->object;
      value->object = nullptr;
      return object;
    }
    default: return None();
  }
}

void DropStaged(Staged* value) {
  for (uint32_t i = 0; i < value->length; ++i) DropStaged(&value->elements[i]);
  free(value->elements);
  free(value->layout);
  if (value->storage != nullptr) ReleaseStorage(value->storage);
  DropCarried(value);
  *value = Staged{};
}

}  // namespace dlpack::python
