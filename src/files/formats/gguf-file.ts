/** Open GGUF files. */

import { type DLPackError, UnsupportedDTypeError } from '../../errors.js';
import type { OpenedFile } from '../opened.js';
import { locatedIn, TensorFile } from '../tensor-file.js';
import type { GgufHeader, GgufValue } from './gguf.js';

/**
 * An open GGUF file.
 *
 * @hideconstructor
 * @example
 * ```ts no-run: needs a model
 * import { type GgufFile, openGguf } from 'dlpack/files';
 * using file: GgufFile = await openGguf('model.gguf');
 * console.log(file.version, file.metadata.get('general.architecture'), file.names.length);
 * ```
 */
export class GgufFile extends TensorFile {
  /** The version of the format. */
  readonly version: number;
  /** Every key of the header; 64-bit integers are bigints, and arrays of numbers are typed arrays. */
  readonly metadata: ReadonlyMap<string, GgufValue>;
  private readonly all: readonly string[];
  private readonly unknown: ReadonlyMap<string, number>;

  constructor(file: OpenedFile, header: GgufHeader) {
    super(file.path, [file], locatedIn(file, header.entries));
    this.version = header.version;
    this.metadata = header.metadata;
    this.all = header.names;
    this.unknown = header.unknown;
  }

  /** Names of all tensors, in the order of the file, also of those whose type this package does not know. */
  override get names(): readonly string[] {
    return this.all;
  }

  /** The number of tensors. */
  override get size(): number {
    return this.all.length;
  }

  /**
   * Returns true if the file has a tensor with this name, also one whose type this package does not know.
   *
   * @param name - The name of a tensor.
   */
  override has(name: string): boolean {
    return super.has(name) || this.unknown.has(name);
  }

  /**
   * Returns GGUF's number of the type of a tensor if this package does not know it; otherwise null.
   *
   * @param name - The name of a tensor.
   */
  unknownType(name: string): number | null {
    return this.unknown.get(name) ?? null;
  }

  /**
   * The file of a newer writer stays usable: only its tensors of unknown types cannot be read.
   *
   * @internal
   */
  protected override missing(name: string): DLPackError {
    const type = this.unknown.get(name);
    if (type === undefined) return super.missing(name);
    return new UnsupportedDTypeError(
      `GGUF type ${type}`,
      `Expected a type that this version knows for '${name}' in ${this.path} but its type is ${type}; ` +
        'read the other tensors, or update this package',
    );
  }
}
