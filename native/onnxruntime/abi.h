// The part of ONNX Runtime's C API that this package uses, declared in our own words. The library has one table of
// functions for all versions, to which versions only append, so a function is a position in the table.
// Names are those of the library. tests/onnxruntime/positions.test.ts compares positions with a real header.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../platform/platform.h"

namespace dlpack::onnxruntime {

// Objects of the library, which only its functions look into.
struct OrtStatus;
struct OrtEnv;
struct OrtSession;
struct OrtSessionOptions;
struct OrtRunOptions;
struct OrtValue;
struct OrtMemoryInfo;
struct OrtTypeInfo;
struct OrtTensorInfo;
struct OrtSequenceInfo;
struct OrtMapInfo;
struct OrtOptionalInfo;
struct OrtModelMetadata;
struct OrtCudaOptions;
struct OrtIoBinding;

using platform::PathChar;

enum ValueType : int32_t { kTensor = 1, kSequence = 2, kMap = 3, kOpaque = 4, kSparse = 5, kOptional = 6 };

// The code of strings among the element types. src/onnxruntime/dtypes.ts has the others.
static const int32_t kStringElements = 8;
static const int32_t kMaxElementType = 26;
static const int32_t kNewestTypes = 24;  // uint2 and later

enum MemoryKind : int32_t { kDeviceAllocator = 0, kArenaAllocator = 1 };
static const int32_t kDefaultMemory = 0;
static const int32_t kFatalOnly = 4;  // a level of the log

// An allocator that the library calls, on any thread. `version` tells it how many fields there are.
struct OrtAllocator {
  uint32_t version;
  void* (*Alloc)(OrtAllocator* self, size_t nbytes);
  void (*Free)(OrtAllocator* self, void* memory);
  const OrtMemoryInfo* (*Info)(const OrtAllocator* self);
  void* (*Reserve)(OrtAllocator* self, size_t nbytes);  // memory that stays, such as weights; from version 18 on
  void* unused[4];                                      // optional functions of later versions
};

// The oldest version whose table has every function below.
static const int32_t kOldestVersion = 20;

// name, position, result, arguments
#define DLPACK_ORT_FUNCTIONS(F)                                                                                      \
  F(GetErrorCode, 1, int32_t, (const OrtStatus*))                                                                    \
  F(GetErrorMessage, 2, const char*, (const OrtStatus*))                                                             \
  F(CreateEnv, 3, OrtStatus*, (int32_t level, const char* name, OrtEnv**))                                           \
  F(CreateSession, 7, OrtStatus*, (const OrtEnv*, const PathChar*, const OrtSessionOptions*, OrtSession**))          \
  F(CreateSessionFromArray, 8, OrtStatus*,                                                                           \
    (const OrtEnv*, const void* model, size_t nbytes, const OrtSessionOptions*, OrtSession**))                       \
  F(Run, 9, OrtStatus*,                                                                                              \
    (OrtSession*, const OrtRunOptions*, const char* const* input_names, const OrtValue* const* inputs, size_t,       \
     const char* const* output_names, size_t, OrtValue** outputs))                                                   \
  F(CreateSessionOptions, 10, OrtStatus*, (OrtSessionOptions**))                                                     \
  F(EnableProfiling, 14, OrtStatus*, (OrtSessionOptions*, const PathChar* prefix))                                   \
  F(SetSessionLogSeverityLevel, 22, OrtStatus*, (OrtSessionOptions*, int32_t))                                       \
  F(SetSessionGraphOptimizationLevel, 23, OrtStatus*, (OrtSessionOptions*, int32_t))                                 \
  F(SetIntraOpNumThreads, 24, OrtStatus*, (OrtSessionOptions*, int32_t))                                             \
  F(SessionGetInputCount, 30, OrtStatus*, (const OrtSession*, size_t*))                                              \
  F(SessionGetOutputCount, 31, OrtStatus*, (const OrtSession*, size_t*))                                             \
  F(SessionGetOverridableInitializerCount, 32, OrtStatus*, (const OrtSession*, size_t*))                             \
  F(SessionGetInputTypeInfo, 33, OrtStatus*, (const OrtSession*, size_t, OrtTypeInfo**))                             \
  F(SessionGetOutputTypeInfo, 34, OrtStatus*, (const OrtSession*, size_t, OrtTypeInfo**))                            \
  F(SessionGetOverridableInitializerTypeInfo, 35, OrtStatus*, (const OrtSession*, size_t, OrtTypeInfo**))            \
  F(SessionGetInputName, 36, OrtStatus*, (const OrtSession*, size_t, OrtAllocator*, char**))                         \
  F(SessionGetOutputName, 37, OrtStatus*, (const OrtSession*, size_t, OrtAllocator*, char**))                        \
  F(SessionGetOverridableInitializerName, 38, OrtStatus*, (const OrtSession*, size_t, OrtAllocator*, char**))        \
  F(CreateRunOptions, 39, OrtStatus*, (OrtRunOptions**))                                                             \
  F(RunOptionsSetRunLogSeverityLevel, 41, OrtStatus*, (OrtRunOptions*, int32_t))                                     \
  F(RunOptionsSetTerminate, 46, OrtStatus*, (OrtRunOptions*))                                                        \
  F(CreateTensorAsOrtValue, 48, OrtStatus*,                                                                          \
    (OrtAllocator*, const int64_t* shape, size_t ndim, int32_t type, OrtValue**))                                    \
  F(CreateTensorWithDataAsOrtValue, 49, OrtStatus*,                                                                  \
    (const OrtMemoryInfo*, void* data, size_t nbytes, const int64_t* shape, size_t ndim, int32_t type, OrtValue**))  \
  F(GetTensorMutableData, 51, OrtStatus*, (OrtValue*, void**))                                                       \
  F(GetStringTensorDataLength, 53, OrtStatus*, (const OrtValue*, size_t*))                                           \
  F(GetStringTensorContent, 54, OrtStatus*, (const OrtValue*, void* text, size_t, size_t* offsets, size_t))          \
  F(CastTypeInfoToTensorInfo, 55, OrtStatus*, (const OrtTypeInfo*, const OrtTensorInfo**))                           \
  F(GetOnnxTypeFromTypeInfo, 56, OrtStatus*, (const OrtTypeInfo*, int32_t*))                                         \
  F(GetTensorElementType, 60, OrtStatus*, (const OrtTensorInfo*, int32_t*))                                          \
  F(GetDimensionsCount, 61, OrtStatus*, (const OrtTensorInfo*, size_t*))                                             \
  F(GetDimensions, 62, OrtStatus*, (const OrtTensorInfo*, int64_t*, size_t))                                         \
  F(GetSymbolicDimensions, 63, OrtStatus*, (const OrtTensorInfo*, const char**, size_t))                             \
  F(GetTensorTypeAndShape, 65, OrtStatus*, (const OrtValue*, OrtTensorInfo**))                                       \
  F(GetValueType, 67, OrtStatus*, (const OrtValue*, int32_t*))                                                       \
  F(CreateMemoryInfo, 68, OrtStatus*, (const char* name, int32_t kind, int32_t id, int32_t memory, OrtMemoryInfo**)) \
  F(CreateCpuMemoryInfo, 69, OrtStatus*, (int32_t kind, int32_t memory, OrtMemoryInfo**))                            \
  F(MemoryInfoGetName, 71, OrtStatus*, (const OrtMemoryInfo*, const char**))                                         \
  F(AllocatorFree, 76, OrtStatus*, (OrtAllocator*, void*))                                                           \
  F(GetAllocatorWithDefaultOptions, 78, OrtStatus*, (OrtAllocator**))                                                \
  F(GetValue, 80, OrtStatus*, (const OrtValue*, int32_t index, OrtAllocator*, OrtValue**))                           \
  F(GetValueCount, 81, OrtStatus*, (const OrtValue*, size_t*))                                                       \
  F(CreateValue, 82, OrtStatus*, (const OrtValue* const*, size_t, int32_t type, OrtValue**))                         \
  F(ReleaseStatus, 93, void, (OrtStatus*))                                                                           \
  F(ReleaseMemoryInfo, 94, void, (OrtMemoryInfo*))                                                                   \
  F(ReleaseSession, 95, void, (OrtSession*))                                                                         \
  F(ReleaseValue, 96, void, (OrtValue*))                                                                             \
  F(ReleaseRunOptions, 97, void, (OrtRunOptions*))                                                                   \
  F(ReleaseTypeInfo, 98, void, (OrtTypeInfo*))                                                                       \
  F(ReleaseTensorTypeAndShapeInfo, 99, void, (OrtTensorInfo*))                                                       \
  F(ReleaseSessionOptions, 100, void, (OrtSessionOptions*))                                                          \
  F(CastTypeInfoToMapTypeInfo, 103, OrtStatus*, (const OrtTypeInfo*, const OrtMapInfo**))                            \
  F(CastTypeInfoToSequenceTypeInfo, 104, OrtStatus*, (const OrtTypeInfo*, const OrtSequenceInfo**))                  \
  F(GetMapKeyType, 105, OrtStatus*, (const OrtMapInfo*, int32_t*))                                                   \
  F(GetMapValueType, 106, OrtStatus*, (const OrtMapInfo*, OrtTypeInfo**))                                            \
  F(GetSequenceElementType, 107, OrtStatus*, (const OrtSequenceInfo*, OrtTypeInfo**))                                \
  F(SessionEndProfiling, 110, OrtStatus*, (OrtSession*, OrtAllocator*, char**))                                      \
  F(SessionGetModelMetadata, 111, OrtStatus*, (const OrtSession*, OrtModelMetadata**))                               \
  F(ModelMetadataGetProducerName, 112, OrtStatus*, (const OrtModelMetadata*, OrtAllocator*, char**))                 \
  F(ModelMetadataGetGraphName, 113, OrtStatus*, (const OrtModelMetadata*, OrtAllocator*, char**))                    \
  F(ModelMetadataGetDomain, 114, OrtStatus*, (const OrtModelMetadata*, OrtAllocator*, char**))                       \
  F(ModelMetadataGetDescription, 115, OrtStatus*, (const OrtModelMetadata*, OrtAllocator*, char**))                  \
  F(ModelMetadataLookupCustomMetadataMap, 116, OrtStatus*,                                                           \
    (const OrtModelMetadata*, OrtAllocator*, const char* key, char**))                                               \
  F(ModelMetadataGetVersion, 117, OrtStatus*, (const OrtModelMetadata*, int64_t*))                                   \
  F(ReleaseModelMetadata, 118, void, (OrtModelMetadata*))                                                            \
  F(ModelMetadataGetCustomMetadataMapKeys, 123, OrtStatus*,                                                          \
    (const OrtModelMetadata*, OrtAllocator*, char*** keys, int64_t* count))                                          \
  F(AddFreeDimensionOverrideByName, 124, OrtStatus*, (OrtSessionOptions*, const char*, int64_t))                     \
  F(GetAvailableProviders, 125, OrtStatus*, (char***, int32_t*))                                                     \
  F(ReleaseAvailableProviders, 126, OrtStatus*, (char**, int32_t))                                                   \
  F(AddSessionConfigEntry, 130, OrtStatus*, (OrtSessionOptions*, const char* key, const char* value))                \
  F(RunWithBinding, 133, OrtStatus*, (OrtSession*, const OrtRunOptions*, const OrtIoBinding*))                       \
  F(CreateIoBinding, 134, OrtStatus*, (OrtSession*, OrtIoBinding**))                                                 \
  F(ReleaseIoBinding, 135, void, (OrtIoBinding*))                                                                    \
  F(BindInput, 136, OrtStatus*, (OrtIoBinding*, const char* name, const OrtValue*))                                  \
  F(BindOutput, 137, OrtStatus*, (OrtIoBinding*, const char* name, const OrtValue*))                                 \
  F(BindOutputToDevice, 138, OrtStatus*, (OrtIoBinding*, const char* name, const OrtMemoryInfo*))                    \
  F(GetBoundOutputValues, 140, OrtStatus*, (const OrtIoBinding*, OrtAllocator*, OrtValue***, size_t*))               \
  F(AddRunConfigEntry, 165, OrtStatus*, (OrtRunOptions*, const char* key, const char* value))                        \
  F(RegisterAllocator, 176, OrtStatus*, (OrtEnv*, OrtAllocator*))                                                    \
  F(HasValue, 192, OrtStatus*, (const OrtValue*, int32_t*))                                                          \
  F(GetTensorMemoryInfo, 194, OrtStatus*, (const OrtValue*, const OrtMemoryInfo**))                                  \
  F(SessionOptionsAppendExecutionProvider_CUDA_V2, 204, OrtStatus*, (OrtSessionOptions*, const OrtCudaOptions*))     \
  F(CreateCUDAProviderOptions, 205, OrtStatus*, (OrtCudaOptions**))                                                  \
  F(UpdateCUDAProviderOptions, 206, OrtStatus*,                                                                      \
    (OrtCudaOptions*, const char* const* keys, const char* const*, size_t))                                          \
  F(ReleaseCUDAProviderOptions, 208, void, (OrtCudaOptions*))                                                        \
  F(SessionOptionsAppendExecutionProvider, 216, OrtStatus*,                                                          \
    (OrtSessionOptions*, const char* name, const char* const* keys, const char* const* values, size_t))              \
  F(RegisterCustomOpsLibrary_V2, 228, OrtStatus*, (OrtSessionOptions*, const PathChar*))                             \
  F(CastTypeInfoToOptionalTypeInfo, 250, OrtStatus*, (const OrtTypeInfo*, const OrtOptionalInfo**))                  \
  F(GetOptionalContainedTypeInfo, 251, OrtStatus*, (const OrtOptionalInfo*, OrtTypeInfo**))                          \
  F(GetResizedStringTensorElementBuffer, 252, OrtStatus*, (OrtValue*, size_t index, size_t nbytes, char** buffer))   \
  F(UpdateCUDAProviderOptionsWithValue, 263, OrtStatus*, (OrtCudaOptions*, const char* key, void* value))

// Functions that only newer versions have; NULL elsewhere. The last number is the version.
#define DLPACK_ORT_OPTIONAL_FUNCTIONS(F)                                                           \
  F(SessionOptionsSetLoadCancellationFlag, 293, OrtStatus*, (OrtSessionOptions*, bool is_set), 22) \
  F(TensorTypeAndShape_HasShape, 390, bool, (const OrtTensorInfo*), 24)                            \
  F(GetTensorElementTypeAndShapeDataReference, 414, OrtStatus*,                                    \
    (const OrtValue*, int32_t* type, const int64_t** shape, size_t*), 24)

}  // namespace dlpack::onnxruntime
