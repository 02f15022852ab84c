#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

namespace dlpack::onnxruntime {

namespace {

const uint32_t kMaxProviderOptions = 64;

// A provider of kernels, whose own options follow it in the settings.
struct Provider {
  char* name;
  uint32_t count;
  char* keys[kMaxProviderOptions];
  char* values[kMaxProviderOptions];
};

OrtStatus* AppendCuda(OrtSessionOptions* options, const Provider& provider, const SessionDevice& device) {
  OrtCudaOptions* cuda = nullptr;
  OrtStatus* status = library.CreateCUDAProviderOptions(&cuda);
  if (status == nullptr)
    status = library.UpdateCUDAProviderOptions(cuda, provider.keys, provider.values, provider.count);
  if (status == nullptr && device.id >= 0)
    status = library.UpdateCUDAProviderOptionsWithValue(cuda, "user_compute_stream", device.stream);
  if (status == nullptr) status = library.SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda);
  if (cuda != nullptr) library.ReleaseCUDAProviderOptions(cuda);
  return status;
}

// Gives the collected provider to the options and forgets it.
void Append(OrtSessionOptions* options, const SessionDevice& device, Provider* provider, Failure* failure) {
  if (provider->name == nullptr) return;
  if (failure->code == 0) {
    failure->Take(strcmp(provider->name, "CUDA") == 0
                      ? AppendCuda(options, *provider, device)
                      : library.SessionOptionsAppendExecutionProvider(options, provider->name, provider->keys,
                                                                      provider->values, provider->count));
  }
  free(provider->name);
  for (uint32_t i = 0; i < provider->count; ++i) {
    free(provider->keys[i]);
    free(provider->values[i]);
  }
  provider->name = nullptr;
  provider->count = 0;
}

OrtStatus* Apply(napi_env env, OrtSessionOptions* options, const char* what, const char* name, const char* value,
                 napi_value raw) {
  if (strcmp(what, "threads") == 0)
    return library.SetIntraOpNumThreads(options, static_cast<int>(strtol(value, nullptr, 10)));
  if (strcmp(what, "optimization") == 0)
    return library.SetSessionGraphOptimizationLevel(options, static_cast<int>(strtol(value, nullptr, 10)));
  if (strcmp(what, "dimension") == 0)
    return library.AddFreeDimensionOverrideByName(options, name, strtoll(value, nullptr, 10));
  if (strcmp(what, "config") == 0) return library.AddSessionConfigEntry(options, name, value);
  PathChar* path = CopyPath(env, raw);
  OrtStatus* status = nullptr;
  if (path != nullptr && strcmp(what, "profile") == 0) status = library.EnableProfiling(options, path);
  if (path != nullptr && strcmp(what, "operators") == 0) status = library.RegisterCustomOpsLibrary_V2(options, path);
  free(path);
  return status;
}

}  // namespace

void MakeOptions(napi_env env, napi_value settings, const SessionDevice& device, OrtSessionOptions** options,
                 Failure* failure) {
  if (failure->Take(library.CreateSessionOptions(options))) return;
  if (failure->Take(library.SetSessionLogSeverityLevel(*options, kFatalOnly))) return;
  uint32_t length = 0;
  napi_get_array_length(env, settings, &length);
  Provider provider = {};
  for (uint32_t i = 0; i + 2 < length && failure->code == 0; i += 3) {
    char* what = CopyText(env, ElementOf(env, settings, i));
    char* name = CopyText(env, ElementOf(env, settings, i + 1));
    napi_value raw = ElementOf(env, settings, i + 2);
    char* value = CopyText(env, raw);
    if (what == nullptr || name == nullptr || value == nullptr) {
      failure->Set(kInvalidArgument, "out of memory, or a setting contains a NUL character");
    } else if (strcmp(what, "provider") == 0) {
      Append(*options, device, &provider, failure);
      provider.name = name;
      name = nullptr;
    } else if (strcmp(what, "option") == 0) {
      if (provider.count == kMaxProviderOptions) {
        failure->Set(kInvalidArgument, "a provider has too many options");
      } else {
        provider.keys[provider.count] = name;
        provider.values[provider.count++] = value;
        name = value = nullptr;
      }
    } else {
      failure->Take(Apply(env, *options, what, name, value, raw));
    }
    free(what);
    free(name);
    free(value);
  }
  Append(*options, device, &provider, failure);
}

bool NewRunOptions(OrtRunOptions** options, Failure* failure) {
  return !failure->Take(library.CreateRunOptions(options)) &&
         !failure->Take(library.RunOptionsSetRunLogSeverityLevel(*options, kFatalOnly));
}

}  // namespace dlpack::onnxruntime
