/** Reads native values: results of calls, arguments of callbacks, fields, and elements of containers. */

import { takePushed } from '../../native/exchange/import.js';
import { enter, leave } from '../../native/wire/wire.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import { shareDescriptor, Tensor } from '../../tensor.js';
import { sharedDescriptorOf, TensorView } from '../../view.js';
import { heldTensor, hold } from '../calls/held.js';
import { ffi } from '../library.js';
import { errorAt, takeRaised } from '../objects/errors.js';
import { heldValue } from '../objects/host-values.js';
import { adoptObject, type ObjectHandle, recognise, recogniseOr } from '../objects/objects.js';
import { Any, CallMode, CallRequest, ValueRequest } from '../wire-layout.js';
import { Type } from './any.js';
import { readContainer, readCopied, retain, type Take } from './containers.js';
import { isPlain, readPlain } from './plain-values.js';
import { Shape } from './values.js';

/** What makes the JavaScript values of native objects. Each takes over the reference. */
export interface Makers {
  functionAt(pointer: number, reference: number): object;
  /** The view of a container. */
  view(handle: ObjectHandle): object;
  /** An object of a type that native code registered. */
  object(handle: ObjectHandle): object;
}

/** True for the containers that are copied unless a view is requested. */
const isCopied = (type: number): boolean => type === Type.array || type === Type.map;

export class ValueReader {
  /** {@link take} as a function. */
  private readonly taker: Take = (at) => this.take(at);

  constructor(private readonly makers: Makers) {}

  /** Reads the result of the call in a slot, at the word `result`. `value` is what the native function returned. */
  readResult(slot: number, result: number, value: unknown, args: readonly unknown[], mode: number): unknown {
    if (CallRequest.status(slot) !== 0) throw takeRaised();
    const type = Any.type(result);
    if (type === Type.none) return undefined;
    if (type === Type.tensor) return this.readTensor(slot, result, args);
    const reference = CallRequest.reference(slot);
    return mode === CallMode.forView ? this.readLive(result, value, reference) : this.read(result, value, reference);
  }

  /** A tensor that a call returned: a second owner if it is an argument, otherwise the tensor that was pushed. */
  private readTensor(slot: number, result: number, args: readonly unknown[]): Tensor {
    const place = CallRequest.argument(slot);
    if (place === 0) return new Tensor(takePushed());
    const argument = args[place - 1];
    if (argument instanceof Tensor && !argument.isDisposed) return shareDescriptor(sharedDescriptorOf(argument));
    // The argument was disposed by a callback, or made only for the call, which holds it or its object until it ends.
    const held = CallRequest.held(slot);
    return held === 0 ? (this.take(result) as Tensor) : shareDescriptor(heldTensor(held));
  }

  /** Reads the value at a word. The caller keeps the object of the value alive. */
  take(at: number): unknown {
    const type = Any.type(at);
    if (type < Type.tensorView || (type >= Type.smallString && type <= Type.unchanged)) return readPlain(at, undefined);
    // If this throws, the slot is freed with the outer request.
    const slot = enter(ValueRequest.WORDS);
    ValueRequest.setValue(slot, at);
    WireHeader.setSlot(slot);
    const taken = ffi.take();
    if (ValueRequest.status(slot) !== 0) throw takeRaised();
    const value = type === Type.tensorView ? borrowedView() : this.read(at, taken, ValueRequest.reference(slot));
    leave(slot);
    return value;
  }

  /** As {@link take}, but an Array or Map becomes a view. */
  takeLive(at: number): unknown {
    const type = Any.type(at);
    return isCopied(type) ? this.readView(Any.payload(at), type, retain(at)) : this.take(at);
  }

  /** Reads a value at a word whose contents, if any, were taken: as `taken`, or under the number of a reference. */
  read(word: number, taken: unknown, reference: number): unknown {
    const type = Any.type(word);
    if (isPlain(type)) return readPlain(word, taken);
    if (type === Type.tensor) return new Tensor(takePushed());
    const pointer = Any.payload(word);
    if (typeof taken === 'number') return recognise(pointer) ?? heldValue(taken);
    return this.readObject(type, pointer, reference, taken === true);
  }

  /** As {@link read}, but an Array or Map becomes a view. */
  readLive(word: number, taken: unknown, reference: number): unknown {
    const type = Any.type(word);
    return isCopied(type) ? this.readView(Any.payload(word), type, reference) : this.read(word, taken, reference);
  }

  /** An object with a reference. `isShared`: native code has others, so JavaScript may know the object. */
  private readObject(type: number, pointer: number, reference: number, isShared: boolean): unknown {
    switch (type) {
      case Type.error:
        return errorAt(pointer, reference);
      case Type.function:
        return this.makers.functionAt(pointer, reference);
      case Type.shape:
        return new Shape(readContainer(pointer, type, reference, this.taker) as number[]);
      case Type.array:
        return reference === 0 ? readCopied(pointer, this.taker) : readContainer(pointer, type, reference, this.taker);
      case Type.map:
        return readContainer(pointer, type, reference, this.taker);
      case Type.list:
      case Type.dict:
        return this.readView(pointer, type, reference);
      default:
        if (!isShared) return this.makers.object(adoptObject(pointer, type, reference));
        return recogniseOr(pointer, reference, () => {
          const handle = adoptObject(pointer, type, reference);
          handle.isKnown = true;
          return this.makers.object(handle);
        });
    }
  }

  private readView(pointer: number, type: number, reference: number): object {
    return recogniseOr(pointer, reference, () => this.makers.view(adoptObject(pointer, type, reference)));
  }
}

/** A view that native code provides for the duration of a callback. */
function borrowedView(): TensorView {
  const descriptor = takePushed();
  hold(descriptor.storage);
  return new TensorView(descriptor);
}
