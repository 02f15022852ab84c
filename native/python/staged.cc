#include "staged.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "function_type.h"
#include "tensor_type.h"

namespace dlpack::python {

static bool StageSpilled(napi_env env, napi_value value, Staged* out) {
  if (out->kind != kBytes) {
    out->text = Copy(JavaScriptText(env, value));
  } else {
    static char nothing;
    napi_typedarray_type type;
    size_t length = 0;
    void* data = nullptr;
    if (napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr) != napi_ok) length = 0;
    out->text = Copy({length == 0 ? &nothing : static_cast<char*>(data), length, false});
  }
  return out->text.data != nullptr;
}

static bool StageTensor(Objects* self, const Cell& cell, Staged* out) {
  out->descriptor = static_cast<Descriptor*>(malloc(sizeof(Descriptor)));
  Storage* storage = out->descriptor == nullptr ? nullptr : ReadTensor(self, cell, out->descriptor);
  if (storage == nullptr) return false;
  RetainStorage(storage);
  out->storage = storage;
  return true;
}

static bool StageElements(Objects* self, const Cell& cell, Spill* spill, Staged* out, int depth) {
  const Cells cells = CellsOf(self->instance, cell);
  if (depth >= kMaxDepth) return false;
  out->elements = static_cast<Staged*>(calloc(cells.count + 1, sizeof(Staged)));
  if (out->elements == nullptr) return false;
  for (; out->count < cells.count; ++out->count) {
    if (Stage(self, &cells.at[out->count], spill, &out->elements[out->count], depth + 1)) continue;
    ++out->count;
    return false;
  }
  return true;
}

bool Stage(Objects* self, Cell* cell, Spill* spill, Staged* out, int depth) {
  memset(out, 0, sizeof(*out));
  out->kind = cell->kind;
  out->number = cell->number;
  switch (cell->kind) {
    case kNone:
    case kBool:
    case kInt:
    case kFloat: return true;
    case kHandle: out->object = GetObject(self, cell->handle); return out->object != nullptr;
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
  if (spill->at >= spill->count || !StageSpilled(spill->env, spill->values[spill->at++], out)) return false;
  if (cell->kind != kFunction) return true;
  out->function = cell->handle;
  out->storage = WrapQueued(self->instance->queue, static_cast<uint64_t>(cell->number), nullptr, 0);
  if (out->storage != nullptr) cell->handle = 0;  // the storage owns the pin now
  return out->storage != nullptr;
}

void OwnObjects(Staged* value) {
  for (uint32_t i = 0; i < value->count; ++i) OwnObjects(&value->elements[i]);
  if (value->object == nullptr) return;
  api.Py_IncRef(value->object);
  value->is_owned = true;
}

static Object* UnstageFunction(Objects* objects, Staged* value) {
  Object* known = FindFunction(objects, value->function);
  if (known != nullptr) return known;
  Object* name = MakeStr(value->text);
  if (name == nullptr) return nullptr;
  Storage* pin = value->storage;
  value->storage = nullptr;
  return NewFunction(objects, value->function, pin, name);
}

Object* Unstage(Objects* objects, Staged* value) {
  switch (value->kind) {
    case kBool: return api.PyBool_FromLong(value->number != 0);
    case kInt: return api.PyLong_FromLongLong(static_cast<long long>(value->number));
    case kFloat: return api.PyFloat_FromDouble(value->number);
    case kString: return MakeStr(value->text);
    case kBigInt: return api.PyLong_FromString(value->text.data, nullptr, 16);
    case kBytes: return api.PyBytes_FromStringAndSize(value->text.data, static_cast<ptrdiff_t>(value->text.size));
    case kTensor: return NewTensor(*value->descriptor, value->storage);
    case kFunction: return UnstageFunction(objects, value);
    case kList:
    case kSet:
    case kDict:
      return MakeContainer(value->kind, value->count,
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
  for (uint32_t i = 0; i < value->count; ++i) DropStaged(&value->elements[i]);
  free(value->elements);
  free(value->text.data);
  free(value->descriptor);
  if (value->storage != nullptr) ReleaseStorage(value->storage);
  if (value->object != nullptr && value->is_owned) DeferDecRef(value->object);
  memset(value, 0, sizeof(*value));
}

}  // namespace dlpack::python
