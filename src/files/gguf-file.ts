/** Open GGUF files. */

import type { GgufHeader, GgufValue } from './gguf.js';
import type { OpenedFile } from './opened.js';
import { EntryFile, locatedIn } from './tensor-file.js';

/** An open GGUF file. */
export class GgufFile extends EntryFile {
  readonly version: number;
  /** Every key of the header; 64-bit integers are bigints. */
  readonly metadata: ReadonlyMap<string, GgufValue>;

  constructor(file: OpenedFile, header: GgufHeader) {
    super(file.path, [file], locatedIn(file, header.entries));
    this.version = header.version;
    this.metadata = header.metadata;
  }
}
