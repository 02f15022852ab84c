/**
 * LentStorage: memory that a Python object lends, and that is given back by letting go of the object.
 *
 * @module
 */

import { NativeStorage } from '../native/native-storage.js';
import { returnStorage } from './reference.js';

export class LentStorage extends NativeStorage {
  constructor(handle: number, nbytes: number) {
    super(handle, nbytes, false);
  }

  /** As with the objects themselves, on the way of the next operation: to wait for the GIL once more takes as long as the rest. */
  protected override giveBack(handle: number): void {
    returnStorage(handle);
  }
}
