/**
 * Open safetensors files, whole or in shards.
 *
 * @module
 */

import type { TensorEntry } from './entry.js';
import { FileFormatError } from './error.js';
import type { OpenedFile } from './opened.js';
import type { SafetensorsHeader } from './safetensors.js';
import type { ShardIndex } from './shards.js';
import { EntryFile } from './tensor-file.js';

/** An open safetensors file, or all shards of a model. */
export class SafetensorsFile extends EntryFile {
  /** The `__metadata__` of the file; for shards, the metadata of the index. */
  readonly metadata: Readonly<Record<string, unknown>>;

  constructor(
    path: string,
    files: readonly OpenedFile[],
    entries: ReadonlyMap<string, TensorEntry>,
    holder: (name: string) => OpenedFile,
    metadata: Readonly<Record<string, unknown>>,
  ) {
    super(path, files, entries, holder);
    this.metadata = metadata;
  }
}

export function safetensorsFile(file: OpenedFile, { entries, metadata }: SafetensorsHeader): SafetensorsFile {
  return new SafetensorsFile(file.path, [file], entries, () => file, metadata);
}

export interface Shard {
  readonly file: OpenedFile;
  readonly header: SafetensorsHeader;
}

/** Combines all shards into one file. Each tensor is read from the shard that the index names. */
export function shardedFile(path: string, index: ShardIndex, shards: ReadonlyMap<string, Shard>): SafetensorsFile {
  const { metadata, weightMap } = index;
  const entries = new Map<string, TensorEntry>();
  const shardOf = (name: string): Shard => shards.get(weightMap.get(name) as string) as Shard;
  for (const [name, shard] of weightMap) {
    const entry = shardOf(name).header.entries.get(name);
    if (entry === undefined) {
      throw new FileFormatError(path, 0, `the index places '${name}' in '${shard}', which does not have it`);
    }
    entries.set(name, entry);
  }
  const isObject = typeof metadata === 'object' && metadata !== null;
  const files = [...shards.values()].map(({ file }) => file);
  const shown = isObject ? (metadata as Record<string, unknown>) : {};
  return new SafetensorsFile(path, files, entries, (name) => shardOf(name).file, shown);
}
