/** The private fields of views: their descriptor, and how another owner of it is made. */

import { Given } from './base/given.js';
import { ArgumentTypeError } from './errors.js';
import { type Descriptor, disposed } from './storage/descriptor.js';

/** Makes another owner of a descriptor's storage. */
type MakeOwner = (descriptor: Descriptor) => object;

/**
 * The private fields of a view, which this package's other modules read and programs cannot. Only methods of a class read
 * its private fields, and those of TensorView are public, so the fields belong to a class of their own. A static block of
 * TensorView could make such functions, too, but the Babel preset of React Native takes none.
 */
export class Content extends Given {
  #descriptor: Descriptor | null;
  /** Null for a view, which does not own its memory. */
  readonly #makeOwner: MakeOwner | null;

  constructor(view: object, descriptor: Descriptor, makeOwner: MakeOwner | null) {
    super(view);
    this.#descriptor = descriptor;
    this.#makeOwner = makeOwner;
  }

  static peek(view: object): Descriptor | null {
    try {
      return (view as Content).#descriptor;
    } catch {
      throw new ArgumentTypeError('tensor', 'a Tensor or TensorView itself, not a proxy of one', view);
    }
  }

  static descriptor(view: object): Descriptor {
    const descriptor = peekDescriptor(view);
    if (descriptor === null || descriptor.storage.refs === 0) throw disposed();
    return descriptor;
  }

  static shared(view: object): Descriptor {
    const descriptor = descriptorOf(view);
    const shared = descriptor.asShared();
    if (shared !== descriptor) (view as Content).#descriptor = shared;
    return shared;
  }

  static take(view: object): Descriptor | null {
    const descriptor = peekDescriptor(view);
    const content = view as Content;
    content.#descriptor = null;
    return content.#makeOwner === null ? null : descriptor;
  }

  static maker(view: object): MakeOwner | null {
    return (view as Content).#makeOwner;
  }
}

/** Reads the private descriptor. Throws `DisposedError` after the release. For this package's other modules. */
export const descriptorOf = Content.descriptor;
/** The descriptor, before its memory is handed to someone else. The tensor is no longer a copy with one owner. */
export const sharedDescriptorOf = Content.shared;
/** Removes and returns the descriptor; null if it was removed before, or for a view. For `Tensor.dispose`. */
export const takeDescriptor = Content.take;
/** The descriptor, even after its memory was released. Throws for other values, such as a proxy of a view. */
export const peekDescriptor = Content.peek;
/** How another owner is made; null for a view, which does not own its memory. */
export const makerOf = Content.maker;
