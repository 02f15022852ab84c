/** Mistakes to plant in tests/conformance/c/tensor.c, each with the case that must notice it. Several crash. */

import type { Mistake } from './mistakes.js';

const mistake = (what: string, found: string, from: string, to: string): Mistake => ({ what, found, from, to });

export const nativeMistakes: readonly Mistake[] = [
  mistake(
    'forgets the type tag',
    'np.external',
    '  TRY(napi_type_tag_object(env, external, &external_tag)); /* on failure the finalizer releases */\n',
    '',
  ),
  mistake('sends no strides', 'np.strides', '  self->managed.tensor.strides = self->strides;\n', ''),
  mistake('never marks a copy', 'np.copy.true', 'block, must_copy ? copied : tensor->flags', 'block, tensor->flags'),
  mistake(
    'does not mark the copy of a JavaScript buffer',
    'np.jsMemory',
    'block, must_copy ? copied : tensor->flags',
    'block, request->must_copy ? copied : tensor->flags',
  ),
  mistake(
    'shares a JavaScript buffer with native code',
    'np.jsMemory.detached',
    '  return wrap_external(env, managed);\n',
    '  if (!request->must_copy) managed->tensor.data = (void*)elements;\n  return wrap_external(env, managed);\n',
  ),
  mistake(
    'copies a JavaScript buffer although copies are forbidden',
    'np.jsMemory.share',
    'if (must_copy && !request->must_copy && request->copy == napi_boolean)',
    'if (false)',
  ),
  mistake(
    'frees memory that an export uses',
    'np.lifetime.dispose',
    '  if (tensor->block != NULL) drop(tensor->block);\n',
    '  if (tensor->block != NULL) {\n    memset(tensor->block->bytes, 0, tensor->length);\n    drop(tensor->block);\n  }\n',
  ),
  mistake('leaves the tensor in the cell', 'nk.once', '  *cell = NULL;\n', ''),
  mistake(
    'takes externals without the tag',
    'nk.untagged',
    'if (!is_ours) return type_error(env, "Expected an external of',
    'if (false) return type_error(env, "Expected an external of',
  ),
  mistake('leaks what it refuses', 'nk.bad.device.99', '  release(managed);\n  free(taken);\n', '  free(taken);\n'),
  mistake('takes any version', 'nk.bad.version.2', 'managed->version.major != 1', 'managed->version.major == 0'),
  mistake(
    'believes the number of axes',
    'nk.bad.ndim.65',
    'if (ndim < 0 || ndim > MAX_AXES) return "0 to 64 axes";',
    '',
  ),
  mistake(
    'follows a missing shape',
    'nk.bad.shape.null',
    '  if (ndim > 0 && managed->tensor.shape == NULL) return "a shape";\n',
    '',
  ),
  mistake(
    'lets extents overflow',
    'nk.bad.strides.max',
    'const __int128 reach = (__int128)(taken->shape[i] - 1) * taken->strides[i];',
    'const int8_t reach = (int8_t)((uint64_t)(taken->shape[i] - 1) * (uint64_t)taken->strides[i] * 4);',
  ),
  mistake('forgets the offset', 'nk.bad.byteOffset.wrap', ' + managed->tensor.byte_offset > INT64_MAX', ' > INT64_MAX'),
  mistake(
    'writes to the struct',
    'nk.struct',
    '    taken->managed = managed;\n',
    '    managed->flags |= 8;\n    taken->managed = managed;\n',
  ),
  mistake(
    'releases twice',
    'nk.minor',
    '  taken->first = NULL;\n  release(managed);\n',
    '  taken->first = NULL;\n  release(managed);\n  release(managed);\n',
  ),
  mistake(
    'writes to read-only memory',
    'nk.readonly',
    '  if (taken->is_read_only) return type_error(env, "Expected memory that may be written");\n',
    '',
  ),
  mistake(
    'keeps a managed tensor that it refuses',
    'nk.managed',
    '!was_consumed && napi_call_function(env, managed, deleter, 0, NULL, &ignored) != napi_ok',
    'false',
  ),
  mistake(
    'ignores a stream where the device has none',
    'dp.metal.stream.none',
    'if (request.has_stream && !has_stream(',
    'if (request.has_stream && tensor->device.type == 1 && !has_stream(',
  ),
  mistake(
    'takes -1n on a device without streams',
    'dp.oneAPI.stream.none',
    'return device.type == 10 && (stream == -1 ||',
    'return stream == -1 || device.type == 10 && (stream == -1 ||',
  ),
  mistake('takes the numbers of CUDA on ROCm', 'dp.rocm.stream.not1', 'stream == 0 || stream > 2)', 'stream >= 0)'),
  mistake(
    'compares the id of memory that the host reaches',
    'dp.rocmHost.id',
    'return request->device_type == tensor->device.type || request->device_type == 1;',
    'return request->device_id == tensor->device.id;',
  ),
  mistake(
    'answers with another device than the requested one',
    'dp.cudaHost.host',
    '  if (request.has_device) there.device.type = (int32_t)request.device_type;',
    '',
  ),
];
