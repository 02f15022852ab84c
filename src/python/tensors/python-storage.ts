/** PythonStorage: memory that a Python object owns. Releasing the storage drops the object. */

import { NativeStorage } from '../../native/memory/storage.js';
import { Wire } from '../../native/wire/constants.js';
import { returnStorage, settleSoon } from '../objects/reference.js';

const LARGE = 2 ** 20;

class PythonStorage extends NativeStorage {
  constructor(handle: number, nbytes: number) {
    super(handle, nbytes, false);
  }

  /**
   * The next operation also drops the object, because taking the GIL again costs as much as the rest of an import. A
   * large object is dropped now, because its memory is worth more than that.
   */
  protected override giveBack(handle: number, isDetached: boolean): void {
    returnStorage(isDetached ? handle + Wire.DETACHED : handle);
    if (this.nbytes >= LARGE) settleSoon();
  }
}

export const makeStorage = (handle: number, nbytes: number): PythonStorage => new PythonStorage(handle, nbytes);
