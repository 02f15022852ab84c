/**
 * Plain calls whose result is a tensor. From the arguments to the Tensor it is one function with more than 460 bytes of
 * bytecode. V8 never inlines such a function, so in every process it inlines the same functions into it, above all the
 * constructors. docs/decisions/written-in-one-piece.md has the figures.
 */

import { errorOfTensor } from '../native/status.js';
import { wire, wireIsFull } from '../native/wire.js';
import { Status, TensorResult, Wire, WireHeader, WireTensor } from '../native/wire-layout.js';
import { layoutAt, toInteger } from '../native/wire-tensor.js';
import { Descriptor } from '../storage/descriptor.js';
import { Tensor } from '../tensor.js';
import { callAnyTensor, leaveWithError, sendPlain } from './operations.js';
import { CELLS, isPlain, WORDS, writePlain } from './plain-call.js';
import { PythonStorage } from './python-storage.js';
import { knownReference, liveHandle, type Reference } from './reference.js';
import { keepSignalsLater } from './signals.js';
import { Cell, Operation, Outcome, PerformRequest, ValueKind } from './wire-layout.js';

// Constants of this module; wire.ts explains why.
const { u32, i32, f64 } = wire;
// An import from another chunk of dist costs a load and a check at each use.
const OwnTensor = Tensor;
const OwnDescriptor = Descriptor;
const readLayout = layoutAt;
const integer = toInteger;

/** Where the TensorResult lies, from the start of the slot. */
const RESULT = WORDS;
const SLOT = WORDS + TensorResult.WORDS;

/** A call whose result is a tensor. */
export function performTensor(subject: Reference, args: readonly unknown[]): Tensor {
  const count = 1 + args.length;
  if (count > CELLS) return callAnyTensor(subject, args);
  for (let i = 0; i < args.length; i++) if (!isPlain(args[i])) return callAnyTensor(subject, args);
  keepSignalsLater();
  const handle = liveHandle(subject);
  const slot = u32[WireHeader.TOP] as number;
  if (slot > Wire.WORDS - SLOT) throw wireIsFull();
  u32[WireHeader.TOP] = slot + SLOT;
  const half = slot * 2;
  u32[half + PerformRequest.OPERATION] = Operation.callTensor;
  u32[half + PerformRequest.COUNT] = count;
  u32[half + PerformRequest.KEYWORDS] = 0;
  u32[half + PerformRequest.SPILLED] = 0;
  u32[half + PerformRequest.TENSOR_SLOT] = slot + RESULT;
  let word = slot + PerformRequest.CELLS;
  u32[word * 2 + Cell.KIND] = ValueKind.handle;
  u32[word * 2 + Cell.HANDLE] = handle;
  for (let i = 0; i < args.length; i++) {
    word += Cell.WORDS;
    const reference = knownReference(args[i]);
    if (reference !== undefined && reference.handle !== 0) {
      u32[word * 2 + Cell.KIND] = ValueKind.handle;
      u32[word * 2 + Cell.HANDLE] = reference.handle;
    } else if (!writePlain(word, args[i])) {
      u32[WireHeader.TOP] = slot;
      return callAnyTensor(subject, args);
    }
  }
  const raised = sendPlain(slot);
  if (u32[half + Outcome.FAILED] === 1) throw leaveWithError(slot, raised);
  u32[WireHeader.TOP] = slot;
  const result = slot + RESULT;
  const at = result + TensorResult.TENSOR;
  const status = i32[result * 2 + TensorResult.STATUS] as number;
  if (status !== Status.ok) throw errorOfTensor(status, at);
  const layout = readLayout(at);
  const bitOffset = integer((f64[at + WireTensor.BYTE_OFFSET] as number) * 8);
  const nbytes = integer(f64[at + WireTensor.NBYTES] as number);
  const storage = new PythonStorage(u32[at * 2 + WireTensor.HANDLE] as number, nbytes);
  const { dtype, device, shape, strides, flags } = layout;
  const descriptor = new OwnDescriptor(storage, dtype, device, shape, strides, bitOffset, flags);
  descriptor.sentLayout = layout;
  return new OwnTensor(descriptor);
}
