/*
 * A library of tensors in C, written from docs/spec.md alone. Numbers in comments are its rules. It exports its memory
 * as an external, or as a buffer to consumers in JavaScript, and takes externals. It needs only Node-API 8.
 */
#define NAPI_VERSION 8
#include <math.h>
#include <node_api.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The structs of dlpack.h 1.3. */
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DataType;

typedef struct {
  int32_t type;
  int32_t id;
} Device;

typedef struct Managed {
  struct {
    uint32_t major, minor;
  } version;
  void* manager_ctx;
  void (*deleter)(struct Managed*);
  uint64_t flags;
  struct {
    void* data;
    Device device;
    int32_t ndim;
    DataType dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
  } tensor;
} Managed;

enum { READ_ONLY = 1, IS_COPIED = 2, IS_PADDED = 4 };
enum { MAX_AXES = 64 };
#define MAX_SAFE_INTEGER ((1LL << 53) - 1)

/* Errors. A function that fails has thrown, and returns NULL or false. */

static void throw_named(napi_env env, const char* name, const char* message) {
  napi_value error, text, tag;
  if (napi_create_string_utf8(env, message, NAPI_AUTO_LENGTH, &text) != napi_ok) return;
  if (napi_create_string_utf8(env, name, NAPI_AUTO_LENGTH, &tag) != napi_ok) return;
  if (napi_create_error(env, NULL, text, &error) != napi_ok) return;
  if (napi_set_named_property(env, error, "name", tag) == napi_ok) napi_throw(env, error);
}

static void* type_error(napi_env env, const char* message) {
  napi_throw_type_error(env, NULL, message);
  return NULL;
}

static void* buffer_error(napi_env env, const char* message) {
  throw_named(env, "BufferError", message);
  return NULL;
}

/* For calls of Node-API. Keeps the exception of JavaScript code that such a call ran. */
static bool is_ok(napi_env env, napi_status status) {
  bool is_pending = false;
  if (status == napi_ok) return true;
  napi_is_exception_pending(env, &is_pending);
  if (!is_pending) throw_named(env, "Error", "A call of Node-API failed");
  return false;
}
#define TRY(call) \
  if (!is_ok(env, call)) return NULL

/* Elements */

static bool is_one_of(int value, const int* values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (values[i] == value) return true;
  return false;
}
#define IS_ONE_OF(value, ...) is_one_of(value, (const int[]){__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int))

/* The widths of each type code (3.8). We refuse all others (3.13). */
static bool is_known(DataType dtype) {
  const int bits = dtype.bits;
  if (dtype.lanes == 0) return false;
  if (dtype.code <= 1) return IS_ONE_OF(bits, 1, 2, 4, 8, 16, 32, 64, 128); /* integers */
  if (dtype.code == 2) return IS_ONE_OF(bits, 16, 32, 64, 128);             /* floats */
  if (dtype.code == 3) return bits == 64;                                   /* opaque handles */
  if (dtype.code == 4) return bits == 16;                                   /* bfloat */
  if (dtype.code == 5) return IS_ONE_OF(bits, 32, 64, 128);                 /* complex */
  if (dtype.code <= 14) return bits == 8;                                   /* bool, float8 */
  if (dtype.code <= 16) return bits == 6;                                   /* float6 */
  return dtype.code == 17 && bits == 4;                                     /* float4 */
}

/* Bits from one element to the next. */
static uint64_t width_of(DataType dtype, uint64_t flags) {
  const uint64_t width = (uint64_t)dtype.bits * dtype.lanes;
  return (flags & IS_PADDED) != 0 ? (width + 7) / 8 * 8 : width;
}

/* Bytes to which the first element is aligned (3.5). */
static uint64_t alignment_of(DataType dtype) {
  const uint64_t bytes = dtype.bits / (dtype.code == 5 ? 16 : 8);
  return bytes == 0 ? 1 : bytes > 8 ? 8 : bytes;
}

/* Copies an element. Places are in bits, and bit 0 of a byte is its lowest (3.8). */
static void copy_bits(const uint8_t* from, int64_t from_bit, uint8_t* to, int64_t to_bit, uint64_t width) {
  if (from_bit % 8 == 0 && to_bit % 8 == 0 && width % 8 == 0) {
    memcpy(to + to_bit / 8, from + from_bit / 8, width / 8);
    return;
  }
  for (const int64_t end = from_bit + (int64_t)width; from_bit < end; ++from_bit, ++to_bit) {
    /* Shifts, because a place before the first element is negative, and division rounds towards zero. */
    const int bit = (from[from_bit >> 3] >> (from_bit & 7)) & 1;
    to[to_bit >> 3] = (uint8_t)((to[to_bit >> 3] & ~(1 << (to_bit & 7))) | (bit << (to_bit & 7)));
  }
}

static void row_major(int ndim, const int64_t* shape, int64_t* strides) {
  int64_t step = 1;
  for (int i = ndim - 1; i >= 0; --i) {
    strides[i] = step;
    if (shape[i] > 0) step *= shape[i];
  }
}

/* The number of elements, or -1 if the product of the lengths that are not zero is no safe integer (3.6). */
static int64_t count_of(int ndim, const int64_t* shape) {
  __int128 product = 1;
  bool is_empty = false;
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] == 0) is_empty = true;
    if (shape[i] != 0) product *= shape[i];
    if (shape[i] < 0 || product > MAX_SAFE_INTEGER) return -1;
  }
  return is_empty ? 0 : (int64_t)product;
}

/* Memory that a tensor and its exports own together. The last of them frees it, on any thread. */
typedef struct {
  atomic_int owners;
  _Alignas(16) uint8_t bytes[];
} Block;

static Block* new_block(const void* bytes, size_t length) {
  Block* block = malloc(sizeof(Block) + length);
  if (block == NULL) return NULL;
  atomic_init(&block->owners, 1);
  memcpy(block->bytes, bytes, length);
  return block;
}

static Block* share(Block* block) {
  atomic_fetch_add(&block->owners, 1);
  return block;
}

static void drop(Block* block) {
  if (atomic_fetch_sub(&block->owners, 1) == 1) free(block);
}

/*
 * The tensor, which is a producer. Its elements are in row-major order, without gaps. On a device other than the host
 * the address of the block stands for the handle of the device.
 */
typedef struct {
  Block* block;    /* NULL once disposed */
  napi_ref buffer; /* a JavaScript buffer that the tensor lies in instead of the block, or NULL */
  size_t length;
  Device device;
  DataType dtype;
  uint64_t flags;
  int ndim;
  int64_t shape[MAX_AXES];
  int64_t strides[MAX_AXES];
} Tensor;

/* What an external carries: the struct, the arrays in it, and a share of the memory. */
typedef struct {
  Managed managed;
  Block* block;
  int64_t shape[MAX_AXES];
  int64_t strides[MAX_AXES];
} Export;

/* Any thread, also after the environment has ended: no Node-API (7.5). */
static void delete_export(Managed* managed) {
  Export* self = managed->manager_ctx;
  drop(self->block);
  free(self);
}

/* Takes over the block. NULL without memory. */
static Managed* new_export(const Tensor* tensor, Block* block, uint64_t flags) {
  Export* self = calloc(1, sizeof(Export));
  if (self == NULL) {
    drop(block);
    return NULL;
  }
  self->block = block;
  memcpy(self->shape, tensor->shape, sizeof(self->shape));
  memcpy(self->strides, tensor->strides, sizeof(self->strides));
  self->managed = (Managed){.version = {1, 3}, .manager_ctx = self, .deleter = delete_export, .flags = flags};
  self->managed.tensor.data = block->bytes;
  self->managed.tensor.device = tensor->device;
  self->managed.tensor.ndim = tensor->ndim;
  self->managed.tensor.dtype = tensor->dtype;
  self->managed.tensor.shape = self->shape;
  self->managed.tensor.strides = self->strides;
  return &self->managed;
}

static void release(Managed* managed) {
  if (managed != NULL && managed->deleter != NULL) managed->deleter(managed);
}

/* The external (7.1) */

static const napi_type_tag external_tag = {0x6d5d3d0f9c1e4b57, 0x8f0a646c7061636b};

static void finalize_cell(napi_env env, void* cell, void* hint) {
  (void)env, (void)hint;
  Managed* managed = *(Managed**)cell;
  free(cell);
  release(managed);
}

static napi_value wrap_external(napi_env env, Managed* managed) {
  napi_value external;
  Managed** cell = malloc(sizeof(Managed*));
  napi_status status = napi_generic_failure;
  if (cell != NULL) {
    *cell = managed;
    status = napi_create_external(env, cell, finalize_cell, NULL, &external);
    if (status != napi_ok) free(cell);
  }
  if (status != napi_ok) release(managed);
  TRY(status);
  TRY(napi_type_tag_object(env, external, &external_tag)); /* on failure the finalizer releases */
  return external;
}

/* JavaScript values */

static napi_value symbol_for(napi_env env, const char* key) {
  napi_value global, symbol, make, name, result;
  TRY(napi_get_global(env, &global));
  TRY(napi_get_named_property(env, global, "Symbol", &symbol));
  TRY(napi_get_named_property(env, symbol, "for", &make));
  TRY(napi_create_string_utf8(env, key, NAPI_AUTO_LENGTH, &name));
  TRY(napi_call_function(env, symbol, make, 1, &name, &result));
  return result;
}

static napi_valuetype type_of(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  napi_typeof(env, value, &type);
  return type;
}

static bool is_absent(napi_env env, napi_value value) {
  return IS_ONE_OF(type_of(env, value), napi_undefined, napi_null);
}

static bool set_number(napi_env env, napi_value object, const char* name, double value) {
  napi_value number;
  return is_ok(env, napi_create_double(env, value, &number)) &&
         is_ok(env, napi_set_named_property(env, object, name, number));
}

static napi_value numbers_of(napi_env env, const int64_t* values, int count) {
  napi_value array, number;
  TRY(napi_create_array_with_length(env, (size_t)count, &array));
  for (int i = 0; i < count; ++i) {
    TRY(napi_create_int64(env, values[i], &number));
    TRY(napi_set_element(env, array, (uint32_t)i, number));
  }
  return array;
}

/* The request (2) */

typedef struct {
  bool knows_us; /* maxVersion */
  bool has_device;
  double device_type, device_id;
  bool has_stream;
  int64_t stream;
  napi_valuetype copy;   /* napi_null, or napi_boolean with must_copy */
  napi_valuetype native; /* napi_null, napi_boolean with takes_native, or napi_string for 'only' */
  bool must_copy;
  bool takes_native;
} Request;

/* A non-negative safe integer, or -1 for any other value. */
static double count_in(napi_env env, napi_value array, uint32_t index) {
  napi_value element;
  double number;
  if (napi_get_element(env, array, index, &element) != napi_ok) return -1;
  if (napi_get_value_double(env, element, &number) != napi_ok) return -1;
  return number >= 0 && number <= (double)MAX_SAFE_INTEGER && floor(number) == number ? number : -1;
}

static bool read_version(napi_env env, napi_value value, Request* request) {
  bool is_array = false;
  uint32_t length = 0;
  napi_is_array(env, value, &is_array);
  if (is_array) napi_get_array_length(env, value, &length);
  const double major = length == 2 ? count_in(env, value, 0) : -1;
  if (major < 0 || count_in(env, value, 1) < 0)
    return type_error(env, "Expected maxVersion: an Array of two non-negative integers");
  request->knows_us = major >= 1;
  return true;
}

static bool read_device(napi_env env, napi_value value, Request* request) {
  napi_value type, id;
  if (type_of(env, value) != napi_object) return type_error(env, "Expected device: an object");
  if (!is_ok(env, napi_get_named_property(env, value, "type", &type))) return false;
  if (!is_ok(env, napi_get_named_property(env, value, "id", &id))) return false;
  if (napi_get_value_double(env, type, &request->device_type) != napi_ok ||
      napi_get_value_double(env, id, &request->device_id) != napi_ok)
    return type_error(env, "Expected device: an object with the numbers type and id");
  request->has_device = true;
  return true;
}

static bool read_native(napi_env env, napi_value value, Request* request) {
  char text[8] = "";
  request->native = type_of(env, value);
  if (request->native == napi_boolean) return is_ok(env, napi_get_value_bool(env, value, &request->takes_native));
  if (request->native == napi_string) napi_get_value_string_utf8(env, value, text, sizeof(text), NULL);
  return strcmp(text, "only") == 0 || type_error(env, "Expected native: true, false or 'only'");
}

static bool read_copy(napi_env env, napi_value value, Request* request) {
  request->copy = type_of(env, value);
  if (request->copy != napi_boolean) return type_error(env, "Expected copy: true, false or null");
  return is_ok(env, napi_get_value_bool(env, value, &request->must_copy));
}

static bool read_stream(napi_env env, napi_value value, Request* request) {
  bool is_lossless = false;
  request->has_stream = true;
  if (type_of(env, value) != napi_bigint) return type_error(env, "Expected stream: a bigint");
  return is_ok(env, napi_get_value_bigint_int64(env, value, &request->stream, &is_lossless));
}

/* Reads each field once (2.3.4). Absent fields and absent requests are the same (2.3.1). */
static bool read_request(napi_env env, napi_value value, Request* request) {
  static const struct {
    const char* name;
    bool (*read)(napi_env, napi_value, Request*);
  } fields[] = {{"maxVersion", read_version},
                {"device", read_device},
                {"copy", read_copy},
                {"stream", read_stream},
                {"native", read_native}};
  *request = (Request){.knows_us = true, .copy = napi_null, .native = napi_null};
  if (is_absent(env, value)) return true;
  if (type_of(env, value) != napi_object) return type_error(env, "Expected an object as request");
  for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); ++i) {
    napi_value field;
    if (!is_ok(env, napi_get_named_property(env, value, fields[i].name, &field))) return false;
    if (!is_absent(env, field) && !fields[i].read(env, field, request)) return false;
  }
  return true;
}

/* The methods of a producer */

static const napi_type_tag tensor_tag = {0x0d1c7a52e38b4f96, 0x9a40c2b17e5d6f38};

static void* unwrap(napi_env env, napi_value object, const napi_type_tag* tag) {
  bool is_ours = false;
  void* self = NULL;
  if (type_of(env, object) == napi_object) napi_check_object_type_tag(env, object, tag, &is_ours);
  if (!is_ours || napi_unwrap(env, object, &self) != napi_ok)
    return type_error(env, "Expected an object of this library");
  return self;
}

static napi_value device_object(napi_env env, Device device) {
  napi_value object;
  TRY(napi_create_object(env, &object));
  return set_number(env, object, "type", device.type) && set_number(env, object, "id", device.id) ? object : NULL;
}

static napi_value device_method(napi_env env, napi_callback_info info) {
  napi_value object;
  TRY(napi_get_cb_info(env, info, NULL, NULL, &object, NULL));
  const Tensor* tensor = unwrap(env, object, &tensor_tag);
  return tensor == NULL ? NULL : device_object(env, tensor->device);
}

/* Memory that the host reaches. Nobody compares its ids (2.4.1). */
static bool is_host(Device device) { return IS_ONE_OF(device.type, 1, 3, 11, 13, 20); }

/* Is the tensor where the consumer wants it? All memory that the host reaches is there for type 1 (2.4.2). */
static bool is_there(const Tensor* tensor, const Request* request) {
  if (!request->has_device) return true;
  if (is_host(tensor->device)) return request->device_type == tensor->device.type || request->device_type == 1;
  return request->device_type == tensor->device.type && request->device_id == tensor->device.id;
}

/* Of our devices only ROCm has streams (2.2). No work is queued on them here, so there is none to order. */
static bool has_stream(Device device, int64_t stream) {
  return device.type == 10 && (stream == -1 || stream == 0 || stream > 2);
}

static void finalize_buffer(napi_env env, void* data, void* block) {
  (void)env, (void)data;
  drop(block);
}

/* A buffer over the block (7.8), which it takes over. NULL without an exception where the runtime forbids such buffers.
 */
static napi_value buffer_over(napi_env env, Block* block, size_t length) {
  napi_value buffer;
  const napi_status status =
      napi_create_external_arraybuffer(env, block->bytes, length, finalize_buffer, block, &buffer);
  if (status == napi_ok) return buffer;
  drop(block);
  if (status != napi_no_external_buffers_allowed) is_ok(env, status);
  return NULL;
}

/* A managed tensor. It has no deleter: whoever holds its buffer keeps the memory (5.4). */
static napi_value managed_over(napi_env env, const Tensor* tensor, napi_value buffer, uint64_t flags) {
  napi_value managed, dtype, none;
  const int64_t version[] = {1, 3};
  const napi_value device = device_object(env, tensor->device);
  const napi_value versions = numbers_of(env, version, 2);
  const napi_value shape = numbers_of(env, tensor->shape, tensor->ndim);
  const napi_value strides = numbers_of(env, tensor->strides, tensor->ndim);
  if (device == NULL || versions == NULL || shape == NULL || strides == NULL) return NULL;
  TRY(napi_create_object(env, &dtype));
  if (!set_number(env, dtype, "code", tensor->dtype.code) || !set_number(env, dtype, "bits", tensor->dtype.bits) ||
      !set_number(env, dtype, "lanes", tensor->dtype.lanes))
    return NULL;
  TRY(napi_get_null(env, &none));
  TRY(napi_create_object(env, &managed));
  if (!set_number(env, managed, "flags", (double)flags) || !set_number(env, managed, "byteOffset", 0)) return NULL;
  TRY(napi_set_named_property(env, managed, "version", versions));
  TRY(napi_set_named_property(env, managed, "data", buffer));
  TRY(napi_set_named_property(env, managed, "shape", shape));
  TRY(napi_set_named_property(env, managed, "strides", strides));
  TRY(napi_set_named_property(env, managed, "dtype", dtype));
  TRY(napi_set_named_property(env, managed, "device", device));
  TRY(napi_set_named_property(env, managed, "deleter", none));
  return managed;
}

/* The elements of a tensor. NULL with an exception if the buffer of somebody else was transferred. */
static const uint8_t* elements_of(napi_env env, const Tensor* tensor) {
  napi_value buffer;
  void* bytes;
  size_t length;
  if (tensor->buffer == NULL) return tensor->block->bytes;
  TRY(napi_get_reference_value(env, tensor->buffer, &buffer));
  TRY(napi_get_arraybuffer_info(env, buffer, &bytes, &length));
  return length < tensor->length ? type_error(env, "Expected a buffer that was not transferred") : bytes;
}

static napi_value export_buffer(napi_env env, const Tensor* tensor, const Request* request) {
  const uint64_t copied = (tensor->flags & ~(uint64_t)READ_ONLY) | IS_COPIED;
  const uint8_t* elements = elements_of(env, tensor);
  napi_value buffer;
  void* bytes;
  bool is_pending = false;
  if (elements == NULL) return NULL;
  if (!request->must_copy && tensor->buffer != NULL) {
    TRY(napi_get_reference_value(env, tensor->buffer, &buffer));
    return managed_over(env, tensor, buffer, tensor->flags);
  }
  if (!request->must_copy) {
    buffer = buffer_over(env, share(tensor->block), tensor->length);
    napi_is_exception_pending(env, &is_pending);
    if (buffer != NULL) return managed_over(env, tensor, buffer, tensor->flags);
    if (is_pending) return NULL;
    if (request->copy == napi_boolean) return buffer_error(env, "This runtime shares native memory with addons only");
  }
  TRY(napi_create_arraybuffer(env, tensor->length, &bytes, &buffer));
  memcpy(bytes, elements, tensor->length);
  return managed_over(env, tensor, buffer, copied);
}

static napi_value export_external(napi_env env, const Tensor* tensor, const Request* request) {
  const uint64_t copied = (tensor->flags & ~(uint64_t)READ_ONLY) | IS_COPIED;
  const bool must_copy = request->must_copy || tensor->buffer != NULL; /* user code may detach a buffer (7.6) */
  const uint8_t* elements = elements_of(env, tensor);
  if (elements == NULL) return NULL;
  if (must_copy && !request->must_copy && request->copy == napi_boolean)
    return buffer_error(env, "A JavaScript buffer cannot be shared with native code");
  Block* block = must_copy ? new_block(elements, tensor->length) : share(tensor->block);
  Managed* managed = block == NULL ? NULL : new_export(tensor, block, must_copy ? copied : tensor->flags);
  if (managed == NULL) return is_ok(env, napi_generic_failure), NULL;
  return wrap_external(env, managed);
}

static napi_value dlpack_method(napi_env env, napi_callback_info info) {
  napi_value object, argument;
  size_t count = 1;
  Request request;
  TRY(napi_get_cb_info(env, info, &count, &argument, &object, NULL)); /* a missing argument is undefined */
  const Tensor* tensor = unwrap(env, object, &tensor_tag);
  if (tensor == NULL || !read_request(env, argument, &request)) return NULL;
  if (tensor->block == NULL && tensor->buffer == NULL)
    return throw_named(env, "Error", "Expected a tensor that was not disposed"), NULL;
  if (!request.knows_us) return buffer_error(env, "Expected a consumer of DLPack 1.x");
  if (!is_there(tensor, &request)) return buffer_error(env, "Expected the device of the tensor");
  if (request.has_stream && !has_stream(tensor->device, request.stream))
    return buffer_error(env, "Expected a stream of the device, or none where it has no streams");
  const bool is_native = request.native == napi_string || request.takes_native;
  if (!is_native && !is_host(tensor->device)) return buffer_error(env, "Expected a consumer in native code");
  Tensor there = *tensor;
  if (request.has_device) there.device.type = (int32_t)request.device_type; /* the result is where it was asked for */
  return is_native ? export_external(env, &there, &request) : export_buffer(env, &there, &request);
}

static void let_go(napi_env env, Tensor* tensor) {
  if (tensor->block != NULL) drop(tensor->block);
  if (tensor->buffer != NULL) napi_delete_reference(env, tensor->buffer);
  tensor->block = NULL;
  tensor->buffer = NULL;
}

static void finalize_tensor(napi_env env, void* data, void* hint) {
  (void)hint;
  let_go(env, data);
  free(data);
}

/* Gives the object a native part, which the object owns from then on, also if this fails. */
static bool own(napi_env env, napi_value object, void* part, napi_finalize finalize, const napi_type_tag* tag) {
  const napi_status status = napi_wrap(env, object, part, finalize, NULL, NULL);
  if (status != napi_ok) finalize(env, part, NULL);
  return is_ok(env, status) && is_ok(env, napi_type_tag_object(env, object, tag));
}

/* Fills in the shape, with -1 for what is no length. */
static bool read_shape(napi_env env, napi_value array, Tensor* tensor) {
  uint32_t ndim = 0;
  if (napi_get_array_length(env, array, &ndim) != napi_ok || ndim > MAX_AXES)
    return type_error(env, "Expected a shape of at most 64 axes");
  tensor->ndim = (int)ndim;
  for (uint32_t i = 0; i < ndim; ++i) tensor->shape[i] = (int64_t)count_in(env, array, i);
  return true;
}

/*
 * make(bytes, shape, code, bits, lanes, flags, deviceType, deviceId, isView): a tensor with a copy of the bytes, or, if
 * isView is true, over the buffer that they begin.
 */
static napi_value make(napi_env env, napi_callback_info info) {
  napi_value arguments[9], object, buffer;
  size_t count = 9, length, offset;
  bool is_view;
  napi_typedarray_type type;
  void* bytes;
  uint32_t code, bits, lanes, flags;
  Tensor made = {0};
  TRY(napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
  TRY(napi_get_typedarray_info(env, arguments[0], &type, &length, &bytes, &buffer, &offset));
  TRY(napi_get_value_uint32(env, arguments[2], &code));
  TRY(napi_get_value_uint32(env, arguments[3], &bits));
  TRY(napi_get_value_uint32(env, arguments[4], &lanes));
  TRY(napi_get_value_uint32(env, arguments[5], &flags));
  TRY(napi_get_value_int32(env, arguments[6], &made.device.type));
  TRY(napi_get_value_int32(env, arguments[7], &made.device.id));
  TRY(napi_get_value_bool(env, arguments[8], &is_view));
  if (!read_shape(env, arguments[1], &made)) return NULL;
  made.dtype = (DataType){(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
  made.flags = flags;
  made.length = length;
  if (code > UINT8_MAX || bits > UINT8_MAX || lanes > UINT16_MAX || !is_known(made.dtype))
    return type_error(env, "Expected a dtype of DLPack 1.3");
  const int64_t elements = count_of(made.ndim, made.shape);
  const unsigned __int128 needed = ((unsigned __int128)elements * width_of(made.dtype, flags) + 7) / 8;
  if (type != napi_uint8_array || elements < 0 || needed != length || (is_view && offset != 0))
    return type_error(env, "Expected as many bytes in a Uint8Array as the shape and the dtype have");
  row_major(made.ndim, made.shape, made.strides);

  const napi_value dlpack = symbol_for(env, "dlpack");
  const napi_value device = symbol_for(env, "dlpack.device");
  if (dlpack == NULL || device == NULL) return NULL;
  const napi_property_descriptor methods[] = {{.name = dlpack, .method = dlpack_method},
                                              {.name = device, .method = device_method}};
  TRY(napi_create_object(env, &object));
  TRY(napi_define_properties(env, object, 2, methods));
  Tensor* tensor = malloc(sizeof(Tensor));
  if (is_view)
    napi_create_reference(env, buffer, 1, &made.buffer);
  else
    made.block = new_block(bytes, length);
  if (tensor == NULL || (made.block == NULL && made.buffer == NULL)) {
    let_go(env, &made);
    free(tensor);
    return is_ok(env, napi_generic_failure), NULL;
  }
  *tensor = made;
  return own(env, object, tensor, finalize_tensor, &tensor_tag) ? object : NULL;
}

/* The only argument of a function, as an object of this library. */
static void* self_of(napi_env env, napi_callback_info info, const napi_type_tag* tag) {
  napi_value object;
  size_t count = 1;
  TRY(napi_get_cb_info(env, info, &count, &object, NULL, NULL));
  return unwrap(env, object, tag);
}

static napi_value dispose(napi_env env, napi_callback_info info) {
  Tensor* tensor = self_of(env, info, &tensor_tag);
  if (tensor != NULL) let_go(env, tensor);
  return NULL;
}

/* The consumer */

typedef struct {
  Managed* managed;  /* NULL once released, and for a copy */
  uint8_t* copy;     /* elements of our own, or NULL */
  const char* first; /* the first element, NULL once released */
  DataType dtype;
  uint64_t width;
  bool is_read_only;
  int ndim;
  int64_t shape[MAX_AXES];
  int64_t strides[MAX_AXES];
} Taken;

static const napi_type_tag taken_tag = {0x5b62d90e1fa74c83, 0xb13f8e6409d2a75c};

static void release_taken(Taken* taken) {
  Managed* managed = taken->managed;
  free(taken->copy);
  taken->managed = NULL;
  taken->copy = NULL;
  taken->first = NULL;
  release(managed);
}

static void finalize_taken(napi_env env, void* data, void* hint) {
  (void)env, (void)hint;
  release_taken(data);
  free(data);
}

/* What a managed tensor breaks (7.2, 7.3), or NULL. Fills in the layout. */
static const char* fault_of(const Managed* managed, Taken* taken) {
  if (managed->version.major != 1) return "DLPack 1.x"; /* before anything else is read */
  const int ndim = managed->tensor.ndim;
  if (ndim < 0 || ndim > MAX_AXES) return "0 to 64 axes";
  if (ndim > 0 && managed->tensor.shape == NULL) return "a shape";
  if (!is_known(managed->tensor.dtype)) return "a dtype of DLPack 1.3";
  if (!is_host(managed->tensor.device) || managed->tensor.device.id < 0) return "host memory";
  const int64_t count = count_of(ndim, managed->tensor.shape);
  if (count < 0) return "lengths of zero or more, and at most 2^53 - 1 elements";

  taken->ndim = ndim;
  taken->dtype = managed->tensor.dtype;
  taken->width = width_of(taken->dtype, managed->flags);
  taken->is_read_only = (managed->flags & READ_ONLY) != 0;
  if (ndim > 0) memcpy(taken->shape, managed->tensor.shape, (size_t)ndim * sizeof(int64_t));
  if (managed->tensor.strides == NULL)
    row_major(ndim, taken->shape, taken->strides); /* 7.4 */
  else if (ndim > 0)
    memcpy(taken->strides, managed->tensor.strides, (size_t)ndim * sizeof(int64_t));
  if (count == 0) return NULL;

  if (managed->tensor.data == NULL) return "data";
  /* Each step is below 2^116 and there are 64, so 128 bits hold their sum, and below 2^63 also its product with a
   * width. */
  unsigned __int128 steps = 0;
  for (int i = 0; i < ndim; ++i) {
    if (taken->shape[i] == 1) taken->strides[i] = 0; /* not used (3.7) */
    const __int128 reach = (__int128)(taken->shape[i] - 1) * taken->strides[i];
    steps += (unsigned __int128)(reach < 0 ? -reach : reach);
  }
  if (steps > INT64_MAX || steps * taken->width / 8 + managed->tensor.byte_offset > INT64_MAX)
    return "elements within 2^63 bytes";
  taken->first = (const char*)managed->tensor.data + managed->tensor.byte_offset;
  return NULL;
}

/* The elements in row-major order, without gaps. `to` has room for them, and is zero. */
static void gather(const Taken* taken, uint8_t* to) {
  int64_t index[MAX_AXES] = {0};
  const int64_t count = count_of(taken->ndim, taken->shape);
  for (int64_t i = 0, place = 0; i < count; ++i) {
    copy_bits((const uint8_t*)taken->first, place * (int64_t)taken->width, to, i * (int64_t)taken->width, taken->width);
    for (int axis = taken->ndim - 1; axis >= 0; --axis) {
      place += taken->strides[axis];
      if (++index[axis] < taken->shape[axis]) break;
      place -= taken->strides[axis] * taken->shape[axis];
      index[axis] = 0;
    }
  }
}

static size_t length_of(const Taken* taken) {
  return ((size_t)count_of(taken->ndim, taken->shape) * taken->width + 7) / 8;
}

/* Takes elements of our own instead, and releases the producer's. */
static bool copy_taken(Taken* taken) {
  uint8_t* copy = calloc(1, length_of(taken) + 1);
  if (copy == NULL) return false;
  gather(taken, copy);
  release_taken(taken);
  taken->copy = copy;
  taken->first = (const char*)copy;
  taken->is_read_only = false;
  row_major(taken->ndim, taken->shape, taken->strides);
  return true;
}

/* Owns the managed tensor from the call on. `copy` is napi_null, or napi_boolean with must_copy. */
static Taken* new_taken(napi_env env, Managed* managed, napi_valuetype copy, bool must_copy) {
  Taken* taken = calloc(1, sizeof(Taken));
  const char* expected = taken == NULL ? "memory" : fault_of(managed, taken);
  if (expected == NULL) {
    taken->managed = managed;
    const bool may_copy = copy != napi_boolean || must_copy;
    const bool is_copied = (managed->flags & IS_COPIED) != 0;
    const bool is_aligned = (uintptr_t)taken->first % alignment_of(taken->dtype) == 0;
    if (is_copied && !may_copy)
      expected = "the memory itself, because of copy: false";
    else if (!is_aligned && !may_copy)
      expected = "aligned elements, because of copy: false";
    else if ((!is_aligned || (must_copy && !is_copied)) && !copy_taken(taken))
      expected = "memory for a copy";
  }
  if (expected == NULL) return taken;
  release(managed);
  free(taken);
  return type_error(env, expected);
}

/* The set of this realm (5.8), or one of our own where that is not possible. */
static napi_value consumed_set(napi_env env, napi_value own_set) {
  napi_value global, class, set;
  bool is_set = false;
  const napi_value key = symbol_for(env, "dlpack.consumed");
  if (key == NULL) return NULL;
  TRY(napi_get_global(env, &global));
  TRY(napi_get_named_property(env, global, "WeakSet", &class));
  TRY(napi_get_property(env, global, key, &set));
  if (type_of(env, set) == napi_undefined) {
    const napi_property_descriptor property = {
        .name = key, .value = own_set, .attributes = napi_writable | napi_configurable};
    if (napi_define_properties(env, global, 1, &property) != napi_ok) napi_get_and_clear_last_exception(env, &set);
    return own_set;
  }
  TRY(napi_instanceof(env, set, class, &is_set));
  return is_set ? set : own_set;
}

/* Calls a method of an object with one argument. */
static napi_value call(napi_env env, napi_value object, const char* name, napi_value argument) {
  napi_value method, result;
  TRY(napi_get_named_property(env, object, name, &method));
  TRY(napi_call_function(env, object, method, 1, &argument, &result));
  return result;
}

/* Refuses a managed tensor (7.7), which somebody sent in place of an external: releases it, unless it was consumed. */
static napi_value refuse_managed(napi_env env, napi_value managed) {
  napi_value deleter, own_set, found, ignored;
  bool was_consumed = true;
  napi_ref kept;
  if (!IS_ONE_OF(type_of(env, managed), napi_object, napi_function)) return type_error(env, "Expected an external");
  TRY(napi_get_named_property(env, managed, "deleter", &deleter));
  if (type_of(env, deleter) == napi_function) {
    TRY(napi_get_instance_data(env, (void**)&kept));
    TRY(napi_get_reference_value(env, kept, &own_set));
    const napi_value set = consumed_set(env, own_set);
    if (set == NULL || (found = call(env, set, "has", managed)) == NULL) return NULL;
    TRY(napi_get_value_bool(env, found, &was_consumed));
    if (!was_consumed && call(env, set, "add", managed) == NULL) return NULL;
    if (!was_consumed && napi_call_function(env, managed, deleter, 0, NULL, &ignored) != napi_ok)
      napi_get_and_clear_last_exception(env, &ignored); /* our own error counts (5.2) */
  }
  return type_error(env, "Expected an external, because of native: 'only'");
}

/* Takes the managed tensor out of the result of a producer (7.2). */
static Managed* take_external(napi_env env, napi_value external) {
  bool is_ours = false;
  Managed** cell;
  if (type_of(env, external) != napi_external) return refuse_managed(env, external), NULL;
  TRY(napi_check_object_type_tag(env, external, &external_tag, &is_ours));
  if (!is_ours) return type_error(env, "Expected an external of the protocol");
  TRY(napi_get_value_external(env, external, (void**)&cell));
  Managed* managed = *cell;
  *cell = NULL;
  return managed != NULL ? managed : type_error(env, "Expected a tensor that was not consumed before");
}

/* take(producer, copy): an object over the memory of the producer, or over a copy. */
static napi_value take(napi_env env, napi_callback_info info) {
  napi_value arguments[2], method, request, only, result, object;
  size_t count = 2;
  bool must_copy = false;
  const int64_t version[] = {1, 3};
  const napi_value versions = numbers_of(env, version, 2);
  const napi_value dlpack = symbol_for(env, "dlpack");
  if (versions == NULL || dlpack == NULL) return NULL;
  TRY(napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
  const napi_valuetype copy = is_absent(env, arguments[1]) ? napi_null : type_of(env, arguments[1]);
  if (copy != napi_null) TRY(napi_get_value_bool(env, arguments[1], &must_copy));
  if (!IS_ONE_OF(type_of(env, arguments[0]), napi_object, napi_function)) return type_error(env, "Expected a producer");
  TRY(napi_get_property(env, arguments[0], dlpack, &method));
  if (type_of(env, method) != napi_function) return type_error(env, "Expected a method Symbol.for('dlpack')");
  TRY(napi_create_object(env, &request));
  TRY(napi_create_string_utf8(env, "only", NAPI_AUTO_LENGTH, &only));
  TRY(napi_set_named_property(env, request, "native", only));
  TRY(napi_set_named_property(env, request, "maxVersion", versions));
  TRY(napi_set_named_property(env, request, "copy", arguments[1]));
  TRY(napi_create_object(env, &object)); /* before there is something to release */
  TRY(napi_call_function(env, arguments[0], method, 1, &request, &result));
  Managed* managed = take_external(env, result);
  Taken* taken = managed == NULL ? NULL : new_taken(env, managed, copy, must_copy);
  if (taken == NULL || !own(env, object, taken, finalize_taken, &taken_tag)) return NULL;
  const napi_value shape = numbers_of(env, taken->shape, taken->ndim);
  if (shape == NULL) return NULL;
  TRY(napi_set_named_property(env, object, "shape", shape));
  return object;
}

static Taken* held_of(napi_env env, napi_value object) {
  Taken* taken = unwrap(env, object, &taken_tag);
  if (taken == NULL || taken->managed != NULL || taken->copy != NULL) return taken;
  return type_error(env, "Expected a tensor that was not released");
}

static napi_value bytes_of(napi_env env, napi_callback_info info) {
  napi_value object, buffer, array;
  size_t count = 1;
  void* to;
  TRY(napi_get_cb_info(env, info, &count, &object, NULL, NULL));
  const Taken* taken = held_of(env, object);
  if (taken == NULL) return NULL;
  TRY(napi_create_arraybuffer(env, length_of(taken), &to, &buffer));
  gather(taken, to);
  TRY(napi_create_typedarray(env, napi_uint8_array, length_of(taken), buffer, 0, &array));
  return array;
}

/* write(taken, index, value): writes a float32 to the element at a row-major index. */
static napi_value write_float(napi_env env, napi_callback_info info) {
  napi_value arguments[3];
  size_t count = 3;
  int64_t index, place = 0;
  double value;
  TRY(napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
  Taken* taken = held_of(env, arguments[0]);
  if (taken == NULL) return NULL;
  TRY(napi_get_value_int64(env, arguments[1], &index));
  TRY(napi_get_value_double(env, arguments[2], &value));
  if (taken->is_read_only) return type_error(env, "Expected memory that may be written");
  if (taken->dtype.code != 2 || taken->width != 32) return type_error(env, "Expected float32");
  if (index < 0 || index >= count_of(taken->ndim, taken->shape)) return type_error(env, "Expected an index inside");
  for (int axis = taken->ndim - 1; axis >= 0; --axis) {
    place += index % taken->shape[axis] * taken->strides[axis];
    index /= taken->shape[axis];
  }
  const float element = (float)value;
  memcpy((char*)taken->first + place * 4, &element, sizeof(element));
  return NULL;
}

static napi_value release_method(napi_env env, napi_callback_info info) {
  Taken* taken = self_of(env, info, &taken_tag);
  if (taken != NULL) release_taken(taken);
  return NULL;
}

static void finalize_set(napi_env env, void* reference, void* hint) {
  (void)hint;
  napi_delete_reference(env, reference);
}

NAPI_MODULE_INIT() {
  napi_value global, class, own_set;
  napi_ref kept;
  TRY(napi_get_global(env, &global));
  TRY(napi_get_named_property(env, global, "WeakSet", &class));
  TRY(napi_new_instance(env, class, 0, NULL, &own_set));
  TRY(napi_create_reference(env, own_set, 1, &kept));
  TRY(napi_set_instance_data(env, kept, finalize_set, NULL));
  const napi_property_descriptor functions[] = {
      {.utf8name = "make", .method = make, .attributes = napi_enumerable},
      {.utf8name = "dispose", .method = dispose, .attributes = napi_enumerable},
      {.utf8name = "take", .method = take, .attributes = napi_enumerable},
      {.utf8name = "bytes", .method = bytes_of, .attributes = napi_enumerable},
      {.utf8name = "write", .method = write_float, .attributes = napi_enumerable},
      {.utf8name = "release", .method = release_method, .attributes = napi_enumerable},
  };
  TRY(napi_define_properties(env, exports, sizeof(functions) / sizeof(functions[0]), functions));
  return exports;
}
