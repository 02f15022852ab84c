/** Open safetensors files, whole or in shards. */

import { FileFormatError } from '../error.js';
import type { OpenedFile } from '../opened.js';
import type { ShardIndex } from '../shards.js';
import { type Located, locatedIn, TensorFile } from '../tensor-file.js';
import type { SafetensorsHeader } from './safetensors.js';

/**
 * An open safetensors file, or all shards of a model.
 *
 * @hideconstructor
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { openSafetensors, type SafetensorsFile, writeSafetensors } from 'dlpack/files';
 * await writeSafetensors('class.safetensors', { weight: Tensor.from([1, 2]) }, { metadata: { format: 'pt' } });
 * using file: SafetensorsFile = await openSafetensors('class.safetensors');
 * console.log(file.metadata.format, file.info('weight').shape); // pt [2]
 * ```
 */
export class SafetensorsFile extends TensorFile {
  constructor(
    path: string,
    files: readonly OpenedFile[],
    located: ReadonlyMap<string, Located>,
    /** The `__metadata__` of the file; for shards, the metadata of the index. */
    readonly metadata: Readonly<Record<string, unknown>>,
  ) {
    super(path, files, located);
  }
}

export function safetensorsFile(file: OpenedFile, { entries, metadata }: SafetensorsHeader): SafetensorsFile {
  return new SafetensorsFile(file.path, [file], locatedIn(file, entries), metadata);
}

export interface Shard {
  readonly file: OpenedFile;
  readonly header: SafetensorsHeader;
}

/** Combines all shards into one file. Each tensor is read from the shard that the index names. */
export function shardedFile(path: string, index: ShardIndex, shards: ReadonlyMap<string, Shard>): SafetensorsFile {
  const { metadata, weightMap } = index;
  const located = new Map<string, Located>();
  for (const [name, shard] of weightMap) {
    const { file, header } = shards.get(shard) as Shard;
    const entry = header.entries.get(name);
    if (entry === undefined) {
      throw new FileFormatError(path, 0, `the index places '${name}' in '${shard}', which does not have it`);
    }
    located.set(name, { file, entry });
  }
  const isObject = typeof metadata === 'object' && metadata !== null;
  const files = [...shards.values()].map(({ file }) => file);
  return new SafetensorsFile(path, files, located, isObject ? (metadata as Record<string, unknown>) : {});
}
