#include "value_info.h"

#include <stdlib.h>

#include "failure.h"

namespace dlpack::onnxruntime {

namespace {

void Put(napi_env env, napi_value object, const char* name, napi_value value) {
  if (value != nullptr) napi_set_named_property(env, object, name, value);
}

void Put(napi_env env, napi_value object, const char* name, double number) {
  Put(env, object, name, NewNumber(env, number));
}

// Adds `shape` to a description, unless the model leaves the number of axes open. A length is a number, a name, or
// null. Versions before 1.24 show no axes both then and for a scalar, so their scalars have no shape.
void DescribeShape(napi_env env, napi_value object, const OrtTensorInfo* info) {
  size_t ndim = 0;
  Failure ignored = {};
  if (library.TensorTypeAndShape_HasShape != nullptr && !library.TensorTypeAndShape_HasShape(info)) return;
  if (ignored.Take(library.GetDimensionsCount(info, &ndim))) return;
  if (library.TensorTypeAndShape_HasShape == nullptr && ndim == 0) return;
  int64_t* lengths = static_cast<int64_t*>(calloc(ndim + 1, sizeof(int64_t)));
  const char** names = static_cast<const char**>(calloc(ndim + 1, sizeof(char*)));
  napi_value shape = nullptr;
  if (lengths != nullptr && names != nullptr && !ignored.Take(library.GetDimensions(info, lengths, ndim)) &&
      !ignored.Take(library.GetSymbolicDimensions(info, names, ndim)) &&
      napi_create_array_with_length(env, ndim, &shape) == napi_ok) {
    for (size_t i = 0; i < ndim; ++i) {
      napi_value length = nullptr;
      if (lengths[i] >= 0) {
        length = NewNumber(env, static_cast<double>(lengths[i]));
      } else if (names[i] != nullptr && *names[i] != '\0') {
        length = NewText(env, names[i]);
      } else {
        napi_get_null(env, &length);
      }
      napi_set_element(env, shape, static_cast<uint32_t>(i), length);
    }
    Put(env, object, "shape", shape);
  }
  free(lengths);
  free(names);
}

napi_value DescribeType(napi_env env, const OrtTypeInfo* info);

// Describes a type that the library made for us, and releases it.
napi_value DescribeTaken(napi_env env, OrtTypeInfo* info) {
  napi_value description = DescribeType(env, info);
  library.ReleaseTypeInfo(info);
  return description;
}

// { type, code, shape } for tensors; { type, element } for sequences and optionals; { type, key, element } for maps.
// Types of models are nested a few levels at most, because the library itself reads them.
napi_value DescribeType(napi_env env, const OrtTypeInfo* info) {
  napi_value object;
  Failure failure = {};
  int32_t type = 0, code = 0;
  OrtTypeInfo* element = nullptr;
  if (napi_create_object(env, &object) != napi_ok || failure.Take(library.GetOnnxTypeFromTypeInfo(info, &type)))
    return nullptr;
  Put(env, object, "type", type);
  if (type == kTensor || type == kSparse) {
    const OrtTensorInfo* tensor = nullptr;
    if (failure.Take(library.CastTypeInfoToTensorInfo(info, &tensor)) || tensor == nullptr ||
        failure.Take(library.GetTensorElementType(tensor, &code))) {
      return object;
    }
    Put(env, object, "code", code);
    DescribeShape(env, object, tensor);
  } else if (type == kSequence) {
    const OrtSequenceInfo* sequence = nullptr;
    if (!failure.Take(library.CastTypeInfoToSequenceTypeInfo(info, &sequence)) && sequence != nullptr &&
        !failure.Take(library.GetSequenceElementType(sequence, &element))) {
      Put(env, object, "element", DescribeTaken(env, element));
    }
  } else if (type == kMap) {
    const OrtMapInfo* map = nullptr;
    if (!failure.Take(library.CastTypeInfoToMapTypeInfo(info, &map)) && map != nullptr &&
        !failure.Take(library.GetMapKeyType(map, &code)) && !failure.Take(library.GetMapValueType(map, &element))) {
      Put(env, object, "code", code);
      Put(env, object, "element", DescribeTaken(env, element));
    }
  } else if (type == kOptional) {
    const OrtOptionalInfo* optional = nullptr;
    if (!failure.Take(library.CastTypeInfoToOptionalTypeInfo(info, &optional)) && optional != nullptr &&
        !failure.Take(library.GetOptionalContainedTypeInfo(optional, &element))) {
      Put(env, object, "element", DescribeTaken(env, element));
    }
  }
  return object;
}

typedef OrtStatus* (*GetInfo)(const OrtSession*, size_t, OrtTypeInfo**);

void Describe(napi_env env, napi_value list, uint32_t at, const char* name, const OrtSession* handle, GetInfo get,
              size_t index) {
  OrtTypeInfo* info = nullptr;
  Failure failure = {};
  napi_value description = failure.Take(get(handle, index, &info)) ? nullptr : DescribeTaken(env, info);
  if (description == nullptr) {  // a type that the library cannot describe
    if (napi_create_object(env, &description) != napi_ok) return;
    Put(env, description, "type", 0.0);
  }
  Put(env, description, "name", NewText(env, name));
  napi_set_element(env, list, at, description);
}

// A text that the library allocated.
napi_value TakeText(napi_env env, char* text) {
  napi_value value = NewText(env, text);
  Failure ignored = {};
  ignored.Take(library.AllocatorFree(library.strings, text));
  return value;
}

napi_value DescribeCustom(napi_env env, const OrtModelMetadata* metadata) {
  char** keys = nullptr;
  int64_t count = 0;
  napi_value list = nullptr;
  Failure failure = {};
  napi_create_array(env, &list);
  if (failure.Take(library.ModelMetadataGetCustomMetadataMapKeys(metadata, library.strings, &keys, &count)))
    return list;
  for (int64_t i = 0; i < count; ++i) {
    char* value = nullptr;
    const bool has_value =
        !failure.Take(library.ModelMetadataLookupCustomMetadataMap(metadata, library.strings, keys[i], &value)) &&
        value != nullptr;
    const uint32_t at = static_cast<uint32_t>(i) * 2;
    napi_set_element(env, list, at, TakeText(env, keys[i]));
    napi_set_element(env, list, at + 1, has_value ? TakeText(env, value) : NewText(env, ""));
  }
  if (keys != nullptr) failure.Take(library.AllocatorFree(library.strings, keys));
  return list;
}

napi_value DescribeMetadata(napi_env env, const OrtSession* handle) {
  static const struct {
    const char* name;
    OrtStatus* (*const* get)(const OrtModelMetadata*, OrtAllocator*, char**);
  } kTexts[] = {{"producer", &library.ModelMetadataGetProducerName},
                {"graph", &library.ModelMetadataGetGraphName},
                {"domain", &library.ModelMetadataGetDomain},
                {"description", &library.ModelMetadataGetDescription}};
  OrtModelMetadata* metadata = nullptr;
  napi_value object;
  Failure failure = {};
  if (napi_create_object(env, &object) != napi_ok || failure.Take(library.SessionGetModelMetadata(handle, &metadata)))
    return nullptr;
  for (const auto& entry : kTexts) {
    char* text = nullptr;
    if (!failure.Take((*entry.get)(metadata, library.strings, &text)) && text != nullptr)
      Put(env, object, entry.name, TakeText(env, text));
  }
  int64_t version = 0;
  failure.Take(library.ModelMetadataGetVersion(metadata, &version));
  napi_value number = nullptr;
  napi_create_bigint_int64(env, version, &number);
  Put(env, object, "version", number);
  Put(env, object, "custom", DescribeCustom(env, metadata));
  library.ReleaseModelMetadata(metadata);
  return object;
}

}  // namespace

napi_value DescribeSession(napi_env env, Session* session) {
  napi_value object, inputs, outputs;
  size_t required = 0;
  Failure failure = {};
  const OrtSession* handle = session->handle;
  if (napi_create_object(env, &object) != napi_ok || napi_create_array(env, &inputs) != napi_ok ||
      napi_create_array(env, &outputs) != napi_ok || failure.Take(library.SessionGetInputCount(handle, &required))) {
    return nullptr;
  }
  for (uint32_t i = 0; i < session->input_count; ++i) {
    const bool is_required = i < required;
    Describe(env, inputs, i, session->input_names[i], handle,
             is_required ? library.SessionGetInputTypeInfo : library.SessionGetOverridableInitializerTypeInfo,
             is_required ? i : i - required);
  }
  for (uint32_t i = 0; i < session->output_count; ++i) {
    Describe(env, outputs, i, session->output_names[i], handle, library.SessionGetOutputTypeInfo, i);
  }
  Put(env, object, "inputs", inputs);
  Put(env, object, "outputs", outputs);
  Put(env, object, "required", static_cast<double>(required));
  Put(env, object, "metadata", DescribeMetadata(env, handle));
  return object;
}

}  // namespace dlpack::onnxruntime
