/** Mistakes to plant in tests/conformance/c/tensor.c, each with the case that must notice it. Several crash. */

import type { Mistake } from './mistakes.js';

const mistake = (what: string, found: string, from: string, to: string): Mistake => ({ what, found, from, to });

export const nativeMistakes: readonly Mistake[] = [
  mistake('forgets the type tag', 'np.external', 'napi_type_tag_object(env, external, &kExternalTag)', 'napi_ok'),
  mistake('sends no strides', 'np.strides', 'dl->strides = exported->axes + kMaxAxes;', ''),
  mistake('never marks a copy', 'np.copy.true', '(tensor->flags & kIsPadded) | kIsCopied', 'tensor->flags & kIsPadded'),
  mistake(
    'frees memory that an export uses',
    'np.lifetime.dispose',
    '  Leave(tensor->block);\n  tensor->block = NULL;',
    '  memset(tensor->block->bytes, 0, tensor->block->size);\n  Leave(tensor->block);\n  tensor->block = NULL;',
  ),
  mistake(
    'leaves the tensor in the cell',
    'nk.once',
    '  *cell = NULL;\n  if (managed == NULL)',
    '  if (managed == NULL)',
  ),
  mistake('takes externals without the tag', 'nk.untagged', 'if (!is_external || napi_get', 'if (napi_get'),
  mistake(
    'leaks what it refuses',
    'nk.bad.device.99',
    '    ReleaseManaged(managed);\n    return Throw',
    '    return Throw',
  ),
  mistake('takes any version', 'nk.bad.version.2', 'managed->version.major != 1 ? "DLPack 1.x" :', ''),
  mistake(
    'believes the number of axes',
    'nk.bad.ndim.65',
    'if (t->ndim < 0 || t->ndim > kMaxAxes) return "0 to 64 axes";',
    '',
  ),
  mistake('follows a missing shape', 'nk.bad.shape.null', 'if (t->ndim > 0 && t->shape == NULL) return "a shape";', ''),
  mistake(
    'lets extents overflow',
    'nk.bad.strides.max',
    '__builtin_mul_overflow((uint64_t)t->shape[i] - 1, size, &part) ||',
    '((part = ((uint64_t)t->shape[i] - 1) * size & 255), false) ||',
  ),
  mistake(
    'writes to the struct',
    'nk.struct',
    '  taken->managed = managed;',
    '  managed->flags |= 8;\n  taken->managed = managed;',
  ),
  mistake(
    'releases twice',
    'nk.minor',
    '  ReleaseManaged(taken->managed);\n  taken->managed = NULL;',
    '  ReleaseManaged(taken->managed);\n  ReleaseManaged(taken->managed);\n  taken->managed = NULL;',
  ),
  mistake(
    'writes to read-only memory',
    'nk.readonly',
    'if ((taken->managed->flags & kReadOnly) != 0) return Throw(env, "BufferError", "the tensor is read-only");',
    '',
  ),
];
