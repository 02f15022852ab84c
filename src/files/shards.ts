/** `model.safetensors.index.json`: which file of a sharded model holds which tensor. */

import { FileFormatError } from './error.js';
import { JsonScanner } from './formats/json.js';
import { checkNames, MAX_HEADER } from './limits.js';
import { bytesAt, type FileExtent, type Reading } from './reading.js';

export interface ShardIndex {
  readonly metadata: unknown;
  /** File names by tensor name. */
  readonly weightMap: ReadonlyMap<string, string>;
}

/** Reads and checks an index. File names must stay in the same folder: separators, drives and `..` are rejected. */
export function* readShardIndex(file: FileExtent): Reading<ShardIndex> {
  if (file.size > MAX_HEADER) {
    throw new FileFormatError(file.path, 0, `the index has ${file.size} bytes; ${MAX_HEADER} are allowed`);
  }
  const json = new JsonScanner(file.path, 0, yield* bytesAt(file, 0, file.size, 'the index'), 'the index');
  let metadata: unknown;
  let weightMap: Map<string, string> | null = null;
  json.object((field) => {
    if (field !== 'weight_map') {
      const value = json.any();
      if (field === 'metadata') metadata = value;
      return;
    }
    if (weightMap !== null) json.refuse("'weight_map' occurs twice");
    const map = new Map<string, string>();
    weightMap = map;
    json.object((name) => {
      if (map.has(name)) json.refuse(`the tensor '${name}' occurs twice`);
      const shard = json.string();
      if (!isFileName(shard)) json.refuse(`'${name}' is in '${shard}', which is not a file name in this folder`);
      map.set(name, shard);
      checkNames(file.path, 0, map.size, 'tensors');
    });
  });
  json.end();
  if (weightMap === null) throw new FileFormatError(file.path, 0, "the index has no 'weight_map'");
  return { metadata, weightMap };
}

function isFileName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression rejects control characters
  return name !== '' && name !== '.' && name !== '..' && !/[/\\:%?#\u0000-\u001f]/.test(name);
}
