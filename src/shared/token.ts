/** Tokens: `postMessage` carries a token for a tensor to another thread of the process. */

import { ArgumentTypeError } from '../errors.js';
import { checkTensor, withMemory } from '../native/exchange/export.js';
import { native } from '../native/load/load.js';
import type { NativeStorage } from '../native/memory/storage.js';
import { Status } from '../native/wire/constants.js';
import { errorOf, errorOfTensor } from '../native/wire/status.js';
import { takeTensor, writeTensor } from '../native/wire/tensor.js';
import { enter, leave, request } from '../native/wire/wire.js';
import { TensorResult, WireHeader } from '../native/wire/wire-layout.js';
import type { Descriptor } from '../storage/descriptor.js';
import { disposeSymbol } from '../storage/storage.js';
import { sharedDescriptorOf, type TensorView } from '../view.js';

/**
 * Represents a tensor in a message. Each time the token is serialised it issues a ticket with its own reference, valid
 * for one `openTensor`. A token that is never posted holds nothing.
 */
export interface TensorToken {
  /** A ticket, which one `openTensor` uses up. */
  readonly dlpackTicket: string;
}

/** A token in the thread that made it. */
export interface IssuedToken extends TensorToken {
  /**
   * Revokes the tickets that no receiver has opened, for messages that were never read.
   *
   * @returns Their number.
   */
  revoke(): number;
  /** Revokes them at the end of a block (`using`) or of a scope. */
  [disposeSymbol](): void;
}

/** Makes a token for `postMessage`. The tensor must be alive when the message is posted. */
export function issueToken(tensor: TensorView): IssuedToken {
  const issued: string[] = [];
  const revoke = () => {
    let count = 0;
    for (const ticket of issued.splice(0)) {
      const descriptor = redeem(ticket);
      if (typeof descriptor === 'number') continue;
      descriptor.storage.release();
      count++;
    }
    return count;
  };
  return Object.defineProperties({} as IssuedToken, {
    // A getter, because structured clone reads it once for each message, and each receiver needs its own ticket.
    dlpackTicket: {
      enumerable: true,
      get: () => {
        const ticket = issueTicket(tensor);
        issued.push(ticket);
        return ticket;
      },
    },
    revoke: { value: revoke },
    [disposeSymbol]: { value: () => void revoke() },
  });
}

/** Opens the tensor of a token that arrived in a message. Each message can be opened once. */
export function openToken(ticket: unknown): Descriptor {
  if (typeof ticket !== 'string' || !/^[0-9a-f]{32}$/.test(ticket)) {
    throw new ArgumentTypeError('description.dlpackTicket', '32 hexadecimal digits of shareTensor()', ticket);
  }
  const descriptor = redeem(ticket);
  if (typeof descriptor === 'number') throw errorOf(descriptor);
  return descriptor;
}

/** The tensor of a ticket, or the status that explains why there is none. */
function redeem(ticket: string): Descriptor | number {
  const binding = native();
  const slot = enter(TensorResult.WORDS);
  try {
    WireHeader.setSlot(slot);
    binding.redeemTicket(ticket);
    const status = TensorResult.status(slot);
    return status === Status.ok ? takeTensor(TensorResult.tensorAt(slot)) : status;
  } finally {
    leave(slot);
  }
}

function issueTicket(tensor: TensorView): string {
  // Random, so that a ticket cannot be guessed or derived from another ticket.
  const [high, low] = crypto.getRandomValues(new BigUint64Array(2)) as unknown as [bigint, bigint];
  const ticket = high.toString(16).padStart(16, '0') + low.toString(16).padStart(16, '0');
  withMemory(checkTensor(tensor, sharedDescriptorOf), null, (ready) => {
    const binding = native();
    const slot = enter(TensorResult.WORDS);
    writeTensor(TensorResult.tensorAt(slot), ready, (ready.storage as NativeStorage).handle, 0);
    request(slot, () => binding.issueTicket(ticket));
    const status = TensorResult.status(slot);
    if (status !== Status.ok) throw errorOfTensor(status, TensorResult.tensorAt(slot));
  });
  return ticket;
}
