/**
 * Tensors in files: safetensors, npy, npz and GGUF, mapped into memory where there is a file system.
 *
 * @example
 * ```ts no-run: needs a file
 * import { openSafetensors } from 'dlpack/files';
 * using model = await openSafetensors('model.safetensors');
 * const weight = model.get('layers.0.weight'); // the file's own memory: nothing was read yet
 * ```
 *
 * @module
 */

export type { Quantization } from './entry.js';
export { FileError, FileFormatError } from './error.js';
export type { GgufNumbers, GgufValue } from './formats/gguf.js';
export { GgufFile } from './formats/gguf-file.js';
export { NpzFile } from './formats/npz-file.js';
export { SafetensorsFile } from './formats/safetensors-file.js';
export type { MapMode } from './host.js';
export {
  type FilePath,
  type FileSource,
  type OpenNpyOptions,
  type OpenNpzOptions,
  type OpenOptions,
  type OpenSyncOptions,
  openGguf,
  openGgufSync,
  openNpy,
  openNpySync,
  openNpz,
  openNpzSync,
  openSafetensors,
  openSafetensorsSync,
} from './open.js';
export type { Progress } from './opened.js';
export { type GetOptions, TensorFile, type TensorInfo } from './tensor-file.js';
export {
  type FileTarget,
  type NamedTensors,
  type WriteOptions,
  type WriteSafetensorsOptions,
  writeNpy,
  writeNpz,
  writeSafetensors,
} from './write.js';
