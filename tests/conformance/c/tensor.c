// A tensor library in C on node_api.h, written from docs/spec.md alone: it includes neither dlpack_napi.h nor anything
// else of this repository. Rule numbers are those of that page. Link it with -Wl,-z,nodelete (7.5).
//
//   make(bytes, shape: BigInt64Array, code, bits, lanes, flags)   a tensor with the methods of the protocol
//   dispose(tensor)
//   take(producer, copy)   { shape } over the memory of another library, which must be a native external
//   bytes(taken), write(taken, index, value), release(taken)
#define NAPI_VERSION 8
#include <node_api.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// dlpack.h 1.3
typedef struct {
  uint32_t major, minor;
} DLPackVersion;
typedef struct {
  int32_t device_type, device_id;
} DLDevice;
typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

enum { kReadOnly = 1, kIsCopied = 2, kIsPadded = 4, kMaxAxes = 64 };

static const napi_type_tag kExternalTag = {0x6d5d3d0f9c1e4b57ULL, 0x8f0a646c7061636bULL};
static const napi_type_tag kTensorTag = {0x5a0f5e0e1f7c4c52ULL, 1};
static const napi_type_tag kTakenTag = {0x5a0f5e0e1f7c4c52ULL, 2};

// ---------------------------------------------------------------- errors and values

static napi_value Throw(napi_env env, const char* tag, const char* why) {
  napi_value message, error, name;
  napi_create_string_utf8(env, why, NAPI_AUTO_LENGTH, &message);
  napi_create_error(env, NULL, message, &error);
  napi_create_string_utf8(env, tag, NAPI_AUTO_LENGTH, &name);
  napi_set_named_property(env, error, "tag", name);
  napi_throw(env, error);
  return NULL;
}

static napi_valuetype TypeOf(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  napi_typeof(env, value, &type);
  return type;
}

static bool IsAbsent(napi_env env, napi_value value) {
  napi_valuetype type = TypeOf(env, value);
  return type == napi_undefined || type == napi_null;
}

static napi_value Number(napi_env env, int64_t number) {
  napi_value value;
  napi_create_int64(env, number, &value);
  return value;
}

static void Set(napi_env env, napi_value object, const char* name, napi_value value) {
  napi_set_named_property(env, object, name, value);
}

// A non-negative safe integer (2.3.3).
static bool GetCount(napi_env env, napi_value value, int64_t* out) {
  double number;
  if (TypeOf(env, value) != napi_number || napi_get_value_double(env, value, &number) != napi_ok) return false;
  if (!(number >= 0 && number <= 9007199254740991.0) || number != (double)(int64_t)number) return false;
  *out = (int64_t)number;
  return true;
}

// Symbol.for(name). Node-API has it only from version 9 on.
static napi_value SymbolFor(napi_env env, const char* name) {
  napi_value global, symbol, function, argument, result = NULL;
  napi_get_global(env, &global);
  napi_get_named_property(env, global, "Symbol", &symbol);
  napi_get_named_property(env, symbol, "for", &function);
  napi_create_string_utf8(env, name, NAPI_AUTO_LENGTH, &argument);
  napi_call_function(env, symbol, function, 1, &argument, &result);
  return result;
}

// ---------------------------------------------------------------- dtypes

static bool IsKnown(DLDataType t) {
  if (t.lanes == 0) return false;
  switch (t.code) {
    case 0:
    case 1:
      return t.bits == 1 || t.bits == 2 || t.bits == 4 || t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64 ||
             t.bits == 128;
    case 2: return t.bits == 16 || t.bits == 32 || t.bits == 64 || t.bits == 128;
    case 4: return t.bits == 16;
    case 5: return t.bits == 32 || t.bits == 64 || t.bits == 128;
    case 6: return t.bits == 8;
    case 15:
    case 16: return t.bits == 6;
    case 17: return t.bits == 4;
    default: return t.code >= 7 && t.code <= 14 && t.bits == 8;
  }
}

static uint64_t WidthOf(DLDataType t, uint64_t flags) {
  uint64_t width = (uint64_t)t.bits * t.lanes;
  return (flags & kIsPadded) != 0 ? (width + 7) / 8 * 8 : width;
}

static uint64_t AlignmentOf(DLDataType t) {
  uint64_t scalar = t.code == 5 ? t.bits / 2u : t.bits;
  uint64_t bytes = scalar < 8 ? 1 : scalar / 8;
  return bytes > 8 ? 8 : bytes;
}

// ---------------------------------------------------------------- memory

// A block that a tensor and its exports share.
typedef struct {
  atomic_int users;
  size_t size;
  _Alignas(64) uint8_t bytes[];
} Block;

static Block* NewBlock(size_t size) {
  Block* block = aligned_alloc(64, (sizeof(Block) + size + 63) / 64 * 64);
  if (block == NULL) return NULL;
  atomic_init(&block->users, 1);
  block->size = size;
  return block;
}

// Any thread.
static void Leave(Block* block) {
  if (atomic_fetch_sub(&block->users, 1) == 1) free(block);
}

// ---------------------------------------------------------------- producer

typedef struct {
  Block* block;  // NULL once disposed
  uint64_t flags;
  DLDataType dtype;
  int32_t ndim;
  int64_t shape[kMaxAxes];
  int64_t strides[kMaxAxes];
} Tensor;

static void FinalizeTensor(napi_env env, void* data, void* hint) {
  Tensor* tensor = data;
  (void)env;
  (void)hint;
  if (tensor->block != NULL) Leave(tensor->block);
  free(tensor);
}

typedef struct {
  int64_t major;
  bool has_version, has_device, has_stream, is_native, is_only;
  int64_t device_type;
  int copy;  // -1 null, 0 false, 1 true
} Request;

static bool Bad(napi_env env, const char* why) {
  Throw(env, "TypeError", why);
  return false;
}

// Reads each field once (2.3).
static bool ReadRequest(napi_env env, napi_value value, Request* request) {
  static const char* const names[] = {"maxVersion", "device", "copy", "stream", "native"};
  napi_value fields[5];
  memset(request, 0, sizeof(*request));
  request->copy = -1;
  if (IsAbsent(env, value)) return true;
  if (TypeOf(env, value) != napi_object) return Bad(env, "a request is an object");
  for (int i = 0; i < 5; ++i)
    if (napi_get_named_property(env, value, names[i], &fields[i]) != napi_ok) return false;
  if (!IsAbsent(env, fields[0])) {
    bool is_array = false;
    uint32_t length = 0;
    napi_value parts[2];
    int64_t minor;
    napi_is_array(env, fields[0], &is_array);
    if (is_array) napi_get_array_length(env, fields[0], &length);
    if (length != 2) return Bad(env, "maxVersion is [major, minor]");
    for (uint32_t i = 0; i < 2; ++i)
      if (napi_get_element(env, fields[0], i, &parts[i]) != napi_ok) return false;
    if (!GetCount(env, parts[0], &request->major) || !GetCount(env, parts[1], &minor))
      return Bad(env, "maxVersion has two non-negative integers");
    request->has_version = true;
  }
  if (!IsAbsent(env, fields[1])) {
    napi_value type, id;
    int64_t number;
    if (TypeOf(env, fields[1]) != napi_object) return Bad(env, "device is { type, id }");
    if (napi_get_named_property(env, fields[1], "type", &type) != napi_ok) return false;
    if (napi_get_named_property(env, fields[1], "id", &id) != napi_ok) return false;
    if (!GetCount(env, type, &request->device_type) || !GetCount(env, id, &number))
      return Bad(env, "device is { type, id }");
    request->has_device = true;
  }
  if (!IsAbsent(env, fields[2])) {
    bool copy = false;
    if (napi_get_value_bool(env, fields[2], &copy) != napi_ok) return Bad(env, "copy is a boolean");
    request->copy = copy;
  }
  if (!IsAbsent(env, fields[3])) {
    if (TypeOf(env, fields[3]) != napi_bigint) return Bad(env, "stream is a bigint");
    request->has_stream = true;
  }
  if (!IsAbsent(env, fields[4])) {
    char text[8] = "";
    size_t length = 0;
    if (napi_get_value_bool(env, fields[4], &request->is_native) != napi_ok) {
      if (napi_get_value_string_utf8(env, fields[4], text, sizeof(text), &length) != napi_ok ||
          strcmp(text, "only") != 0)
        return Bad(env, "native is a boolean or 'only'");
      request->is_only = request->is_native = true;
    }
  }
  return true;
}

typedef struct {
  DLManagedTensorVersioned managed;
  Block* block;
  int64_t axes[2 * kMaxAxes];
} Export;

// Any thread (7.5).
static void DeleteExport(DLManagedTensorVersioned* self) {
  Export* exported = self->manager_ctx;
  Leave(exported->block);
  free(exported);
}

// 7.1
static void FinalizeCell(napi_env env, void* data, void* hint) {
  DLManagedTensorVersioned** cell = data;
  (void)env;
  (void)hint;
  if (*cell != NULL && (*cell)->deleter != NULL) (*cell)->deleter(*cell);
  free(cell);
}

// Takes over one use of the block.
static napi_value ExportNative(napi_env env, const Tensor* tensor, Block* block, uint64_t flags) {
  Export* exported = calloc(1, sizeof(Export));
  DLManagedTensorVersioned** cell = calloc(1, sizeof(*cell));
  napi_value external;
  if (exported == NULL || cell == NULL) {
    free(exported);
    free(cell);
    Leave(block);
    return Throw(env, "BufferError", "out of memory");
  }
  exported->block = block;
  memcpy(exported->axes, tensor->shape, sizeof(tensor->shape));
  memcpy(exported->axes + kMaxAxes, tensor->strides, sizeof(tensor->strides));
  exported->managed.version.major = 1;
  exported->managed.version.minor = 3;
  exported->managed.manager_ctx = exported;
  exported->managed.deleter = DeleteExport;
  exported->managed.flags = flags;
  DLTensor* dl = &exported->managed.dl_tensor;
  dl->data = block->bytes;
  dl->device.device_type = 1;
  dl->ndim = tensor->ndim;
  dl->dtype = tensor->dtype;
  dl->shape = exported->axes;
  dl->strides = exported->axes + kMaxAxes;
  *cell = &exported->managed;
  if (napi_create_external(env, cell, FinalizeCell, NULL, &external) != napi_ok) {
    DeleteExport(&exported->managed);
    free(cell);
    return NULL;
  }
  if (napi_type_tag_object(env, external, &kExternalTag) != napi_ok) return NULL;
  return external;
}

static void FinalizeBuffer(napi_env env, void* data, void* hint) {
  (void)env;
  (void)data;
  Leave(hint);
}

static napi_value Axes(napi_env env, const int64_t* values, int32_t count) {
  napi_value array;
  napi_create_array_with_length(env, (size_t)count, &array);
  for (int32_t i = 0; i < count; ++i) napi_set_element(env, array, (uint32_t)i, Number(env, values[i]));
  return array;
}

// A managed tensor over a buffer. Holding the buffer keeps the memory alive, so there is no deleter (5.4).
static napi_value ExportBuffer(napi_env env, napi_value self, const Tensor* tensor, bool is_copy, uint64_t flags) {
  napi_value buffer, result, version, dtype, device;
  bool has = false;
  if (is_copy) {
    void* data = NULL;
    if (napi_create_arraybuffer(env, tensor->block->size, &data, &buffer) != napi_ok) return NULL;
    memcpy(data, tensor->block->bytes, tensor->block->size);
  } else {
    // One buffer for a block, because engines forbid two over the same memory.
    napi_has_named_property(env, self, "buffer", &has);
    if (has) {
      napi_get_named_property(env, self, "buffer", &buffer);
    } else {
      Block* block = tensor->block;
      atomic_fetch_add(&block->users, 1);
      if (napi_create_external_arraybuffer(env, block->bytes, block->size, FinalizeBuffer, block, &buffer) != napi_ok) {
        Leave(block);
        return Throw(env, "BufferError", "this runtime forbids buffers over native memory");
      }
      Set(env, self, "buffer", buffer);
    }
  }
  napi_create_object(env, &result);
  napi_create_array_with_length(env, 2, &version);
  napi_set_element(env, version, 0, Number(env, 1));
  napi_set_element(env, version, 1, Number(env, 3));
  napi_create_object(env, &dtype);
  Set(env, dtype, "code", Number(env, tensor->dtype.code));
  Set(env, dtype, "bits", Number(env, tensor->dtype.bits));
  Set(env, dtype, "lanes", Number(env, tensor->dtype.lanes));
  napi_create_object(env, &device);
  Set(env, device, "type", Number(env, 1));
  Set(env, device, "id", Number(env, 0));
  Set(env, result, "version", version);
  Set(env, result, "flags", Number(env, (int64_t)flags));
  Set(env, result, "data", buffer);
  Set(env, result, "byteOffset", Number(env, 0));
  Set(env, result, "shape", Axes(env, tensor->shape, tensor->ndim));
  Set(env, result, "strides", Axes(env, tensor->strides, tensor->ndim));
  Set(env, result, "dtype", dtype);
  Set(env, result, "device", device);
  return result;
}

static Tensor* TensorOf(napi_env env, napi_value value) {
  bool is_tensor = false;
  void* data = NULL;
  if (TypeOf(env, value) == napi_object) napi_check_object_type_tag(env, value, &kTensorTag, &is_tensor);
  if (!is_tensor || napi_unwrap(env, value, &data) != napi_ok) {
    Throw(env, "TypeError", "a tensor of this library");
    return NULL;
  }
  return data;
}

// [Symbol.for('dlpack')](request)
static napi_value Produce(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument, self;
  Request request;
  napi_get_cb_info(env, info, &count, &argument, &self, NULL);
  Tensor* tensor = TensorOf(env, self);
  if (tensor == NULL || !ReadRequest(env, argument, &request)) return NULL;
  if (tensor->block == NULL) return Throw(env, "BufferError", "the tensor was disposed");
  if (request.has_version && request.major < 1) return Throw(env, "BufferError", "DLPack 1.x only");
  if (request.has_device && request.device_type != 1) return Throw(env, "BufferError", "host memory only");
  if (request.has_stream) return Throw(env, "BufferError", "host memory has no streams");
  const bool is_copy = request.copy == 1;
  const uint64_t flags = is_copy ? (tensor->flags & kIsPadded) | kIsCopied : tensor->flags;
  if (!request.is_native) return ExportBuffer(env, self, tensor, is_copy, flags);
  Block* block = tensor->block;
  if (is_copy) {
    block = NewBlock(tensor->block->size);
    if (block == NULL) return Throw(env, "BufferError", "out of memory");
    memcpy(block->bytes, tensor->block->bytes, block->size);
  } else {
    atomic_fetch_add(&block->users, 1);
  }
  return ExportNative(env, tensor, block, flags);
}

// [Symbol.for('dlpack.device')]()
static napi_value Device(napi_env env, napi_callback_info info) {
  napi_value device;
  (void)info;
  napi_create_object(env, &device);
  Set(env, device, "type", Number(env, 1));
  Set(env, device, "id", Number(env, 0));
  return device;
}

static bool GetBytes(napi_env env, napi_value value, void** data, size_t* length) {
  napi_typedarray_type type;
  return napi_get_typedarray_info(env, value, &type, length, data, NULL, NULL) == napi_ok;
}

static napi_value Make(napi_env env, napi_callback_info info) {
  size_t count = 6, nbytes = 0, axes = 0;
  napi_value arguments[6], object, symbol;
  void *bytes = NULL, *shape = NULL;
  int64_t numbers[4];
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  if (!GetBytes(env, arguments[0], &bytes, &nbytes) || !GetBytes(env, arguments[1], &shape, &axes) || axes > kMaxAxes)
    return Throw(env, "TypeError", "bytes and a shape");
  for (int i = 0; i < 4; ++i)
    if (!GetCount(env, arguments[i + 2], &numbers[i])) return Throw(env, "TypeError", "code, bits, lanes and flags");
  Tensor* tensor = calloc(1, sizeof(Tensor));
  if (tensor == NULL || (tensor->block = NewBlock(nbytes)) == NULL) {
    free(tensor);
    return Throw(env, "BufferError", "out of memory");
  }
  if (nbytes > 0) memcpy(tensor->block->bytes, bytes, nbytes);
  tensor->dtype = (DLDataType){(uint8_t)numbers[0], (uint8_t)numbers[1], (uint16_t)numbers[2]};
  tensor->flags = (uint64_t)numbers[3];
  tensor->ndim = (int32_t)axes;
  int64_t step = 1;
  for (size_t i = axes; i-- > 0;) {
    tensor->shape[i] = ((const int64_t*)shape)[i];
    tensor->strides[i] = step;
    step *= tensor->shape[i] > 0 ? tensor->shape[i] : 1;
  }
  napi_create_object(env, &object);
  if (napi_wrap(env, object, tensor, FinalizeTensor, NULL, NULL) != napi_ok) {
    FinalizeTensor(env, tensor, NULL);
    return NULL;
  }
  napi_type_tag_object(env, object, &kTensorTag);
  const struct {
    const char* name;
    napi_callback function;
  } methods[] = {{"dlpack", Produce}, {"dlpack.device", Device}};
  for (int i = 0; i < 2; ++i) {
    napi_value function;
    napi_create_function(env, methods[i].name, NAPI_AUTO_LENGTH, methods[i].function, NULL, &function);
    symbol = SymbolFor(env, methods[i].name);
    if (symbol == NULL) return NULL;
    napi_set_property(env, object, symbol, function);
  }
  return object;
}

static napi_value Dispose(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  Tensor* tensor = TensorOf(env, argument);
  if (tensor == NULL || tensor->block == NULL) return NULL;
  Leave(tensor->block);
  tensor->block = NULL;
  return NULL;
}

// ---------------------------------------------------------------- consumer

typedef struct {
  DLManagedTensorVersioned* managed;  // NULL once released
  uint8_t* first;                     // the first element
} Taken;

static void ReleaseManaged(DLManagedTensorVersioned* managed) {
  if (managed->deleter != NULL) managed->deleter(managed);
}

static void FinalizeTaken(napi_env env, void* data, void* hint) {
  Taken* taken = data;
  (void)env;
  (void)hint;
  if (taken->managed != NULL) ReleaseManaged(taken->managed);
  free(taken);
}

// 7.3, without overflow. Returns what is wrong, or NULL.
static const char* Check(const DLManagedTensorVersioned* managed, bool* is_empty) {
  const DLTensor* t = &managed->dl_tensor;
  static const int32_t types[] = {1, 3, 11, 13};
  bool is_host = false;
  uint64_t product = 1, reach = 0;
  *is_empty = false;
  if (t->ndim < 0 || t->ndim > kMaxAxes) return "0 to 64 axes";
  if (t->ndim > 0 && t->shape == NULL) return "a shape";
  if (!IsKnown(t->dtype)) return "a known dtype";
  for (int i = 0; i < 4; ++i) is_host |= t->device.device_type == types[i];
  if (!is_host || t->device.device_id < 0) return "host memory";
  for (int32_t i = 0; i < t->ndim; ++i) {
    if (t->shape[i] < 0) return "lengths of zero or more";
    if (t->shape[i] == 0)
      *is_empty = true;
    else if (__builtin_mul_overflow(product, (uint64_t)t->shape[i], &product) || product > 9007199254740991ULL)
      return "fewer elements";
  }
  if (*is_empty) return NULL;
  uint64_t step = 1;
  for (int32_t i = t->ndim; i-- > 0;) {
    const int64_t stride = t->strides == NULL ? (int64_t)step : t->strides[i];
    const uint64_t size = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
    uint64_t part;
    if (__builtin_mul_overflow((uint64_t)t->shape[i] - 1, size, &part) || __builtin_add_overflow(reach, part, &reach))
      return "elements closer together";
    step *= (uint64_t)t->shape[i];
  }
  const uint64_t width = WidthOf(t->dtype, managed->flags);
  if (__builtin_add_overflow(reach, 1, &reach) || __builtin_mul_overflow(reach, width, &reach))
    return "a smaller extent";
  if (t->byte_offset >= 1ULL << 63 || reach / 8 + 1 >= (1ULL << 63) - t->byte_offset) return "a smaller extent";
  if (t->data == NULL) return "data";
  return NULL;
}

// The elements in row-major order without gaps. `out` is zero.
static void Gather(const DLManagedTensorVersioned* managed, const uint8_t* first, uint8_t* out, int64_t count) {
  const DLTensor* t = &managed->dl_tensor;
  const int64_t width = (int64_t)WidthOf(t->dtype, managed->flags);
  int64_t index[kMaxAxes] = {0};
  for (int64_t n = 0; n < count; ++n) {
    int64_t place = 0, step = 1;
    for (int32_t i = t->ndim; i-- > 0;) {
      place += index[i] * (t->strides == NULL ? step : t->strides[i]);
      step *= t->shape[i];
    }
    for (int64_t bit = 0; bit < width; ++bit) {
      const int64_t from = place * width + bit, to = n * width + bit;
      const int64_t byte = from >= 0 ? from / 8 : -((7 - from) / 8);
      const int value = first[byte] >> (from - byte * 8) & 1;
      out[to / 8] |= (uint8_t)(value << (to % 8));
    }
    for (int32_t i = t->ndim; i-- > 0;) {
      if (++index[i] < t->shape[i]) break;
      index[i] = 0;
    }
  }
}

static int64_t CountOf(const DLTensor* t) {
  int64_t count = 1;
  for (int32_t i = 0; i < t->ndim; ++i) count = t->shape[i] == 0 ? 0 : count * t->shape[i];
  for (int32_t i = 0; i < t->ndim; ++i)
    if (t->shape[i] == 0) return 0;
  return count;
}

static size_t SizeOf(const DLManagedTensorVersioned* managed) {
  return (size_t)(((uint64_t)CountOf(&managed->dl_tensor) * WidthOf(managed->dl_tensor.dtype, managed->flags) + 7) / 8);
}

// Refuses a managed tensor that came in place of an external (7.7).
static napi_value RefuseObject(napi_env env, napi_value answer) {
  napi_value deleter, key, set, global, ignored, add;
  if (TypeOf(env, answer) == napi_object && napi_get_named_property(env, answer, "deleter", &deleter) == napi_ok &&
      TypeOf(env, deleter) == napi_function) {
    napi_get_global(env, &global);
    key = SymbolFor(env, "dlpack.consumed");
    if (key != NULL && napi_get_property(env, global, key, &set) == napi_ok && TypeOf(env, set) == napi_object) {
      napi_get_named_property(env, set, "add", &add);
      napi_call_function(env, set, add, 1, &answer, &ignored);
    }
    napi_call_function(env, answer, deleter, 0, NULL, &ignored);
  }
  return Throw(env, "TypeError", "a native external");
}

static napi_value Take(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2], method, request, only, answer, result;
  void* data = NULL;
  bool is_external = false, is_empty = false, copy_false = false;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  if (napi_get_property(env, arguments[0], SymbolFor(env, "dlpack"), &method) != napi_ok ||
      TypeOf(env, method) != napi_function)
    return Throw(env, "TypeError", "a producer");
  napi_create_object(env, &request);
  napi_create_string_utf8(env, "only", NAPI_AUTO_LENGTH, &only);
  Set(env, request, "native", only);
  if (!IsAbsent(env, arguments[1])) {
    bool copy = false;
    napi_get_value_bool(env, arguments[1], &copy);
    copy_false = !copy;
    Set(env, request, "copy", arguments[1]);
  }
  if (napi_call_function(env, arguments[0], method, 1, &request, &answer) != napi_ok) return NULL;  // 6.1
  if (TypeOf(env, answer) != napi_external) return RefuseObject(env, answer);
  napi_check_object_type_tag(env, answer, &kExternalTag, &is_external);
  if (!is_external || napi_get_value_external(env, answer, &data) != napi_ok)
    return Throw(env, "TypeError", "an external with the tag of DLPack");
  DLManagedTensorVersioned** cell = data;
  DLManagedTensorVersioned* managed = *cell;
  *cell = NULL;
  if (managed == NULL) return Throw(env, "BufferError", "the tensor was consumed before");
  const char* wrong = managed->version.major != 1 ? "DLPack 1.x" : Check(managed, &is_empty);
  const DLTensor* t = &managed->dl_tensor;
  if (wrong == NULL && copy_false && (managed->flags & kIsCopied) != 0) wrong = "shared memory";
  if (wrong == NULL && copy_false && !is_empty && ((uintptr_t)t->data + t->byte_offset) % AlignmentOf(t->dtype) != 0)
    wrong = "aligned elements";
  Taken* taken = wrong == NULL ? calloc(1, sizeof(Taken)) : NULL;
  if (taken == NULL) {
    ReleaseManaged(managed);
    return Throw(env, "BufferError", wrong == NULL ? "out of memory" : wrong);
  }
  taken->managed = managed;
  taken->first = (uint8_t*)t->data + (is_empty ? 0 : t->byte_offset);
  napi_create_object(env, &result);
  if (napi_wrap(env, result, taken, FinalizeTaken, NULL, NULL) != napi_ok) {
    FinalizeTaken(env, taken, NULL);
    return NULL;
  }
  napi_type_tag_object(env, result, &kTakenTag);
  Set(env, result, "shape", Axes(env, t->shape, t->ndim));
  return result;
}

static Taken* TakenOf(napi_env env, napi_value value) {
  bool is_taken = false;
  void* data = NULL;
  napi_check_object_type_tag(env, value, &kTakenTag, &is_taken);
  if (!is_taken || napi_unwrap(env, value, &data) != napi_ok || ((Taken*)data)->managed == NULL) {
    Throw(env, "BufferError", "a tensor that was not released");
    return NULL;
  }
  return data;
}

static napi_value Bytes(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument, buffer, result;
  void* out = NULL;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  Taken* taken = TakenOf(env, argument);
  if (taken == NULL) return NULL;
  const size_t size = SizeOf(taken->managed);
  if (napi_create_arraybuffer(env, size, &out, &buffer) != napi_ok) return NULL;
  Gather(taken->managed, taken->first, out, CountOf(&taken->managed->dl_tensor));
  napi_create_typedarray(env, napi_uint8_array, size, buffer, 0, &result);
  return result;
}

// Only for float32 tensors that are row-major.
static napi_value Write(napi_env env, napi_callback_info info) {
  size_t count = 3;
  napi_value arguments[3];
  int64_t index = 0;
  double value = 0;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  Taken* taken = TakenOf(env, arguments[0]);
  if (taken == NULL) return NULL;
  if ((taken->managed->flags & kReadOnly) != 0) return Throw(env, "BufferError", "the tensor is read-only");
  if (!GetCount(env, arguments[1], &index) || index >= CountOf(&taken->managed->dl_tensor))
    return Throw(env, "TypeError", "an index");
  napi_get_value_double(env, arguments[2], &value);
  const float number = (float)value;
  memcpy(taken->first + index * 4, &number, 4);
  return NULL;
}

static napi_value Release(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  Taken* taken = TakenOf(env, argument);
  if (taken == NULL) return NULL;
  ReleaseManaged(taken->managed);
  taken->managed = NULL;
  return NULL;
}

NAPI_MODULE_INIT() {
  const struct {
    const char* name;
    napi_callback function;
  } functions[] = {
      {"make", Make}, {"dispose", Dispose}, {"take", Take}, {"bytes", Bytes}, {"write", Write}, {"release", Release},
  };
  for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); ++i) {
    napi_value function;
    napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, NULL, &function);
    napi_set_named_property(env, exports, functions[i].name, function);
  }
  return exports;
}
