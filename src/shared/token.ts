/**
 * Tensors for another thread of the process: a token that `postMessage` carries.
 *
 * @module
 */

import { ArgumentTypeError } from '../errors.js';
import { checkTensor, withNative } from '../native/export.js';
import { Field, frame } from '../native/frame.js';
import { takeFrame } from '../native/import.js';
import { native } from '../native/load.js';
import { checkStatus, Status } from '../native/status.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { TensorView } from '../view.js';

const { i32, u64 } = frame;
const { STATUS, TICKET } = Field;

/**
 * Stands for a tensor in a message. Each time it is serialised it issues a ticket with a reference of its own, good for
 * one `openTensor`; a token that is never posted holds nothing.
 */
export interface TensorToken {
  readonly dlpackTicket: string;
}

/** A token on the side that made it. */
export interface IssuedToken extends TensorToken {
  /** Revokes the tickets that no receiver has opened, for messages that were never read. Returns how many. */
  revoke(): number;
}

/** A token for `postMessage`. The tensor itself must be alive when the message is posted. */
export function issueToken(tensor: TensorView): IssuedToken {
  checkTensor(tensor);
  const issued: string[] = [];
  return Object.defineProperties({} as IssuedToken, {
    // A getter, because structured clone reads it once for each message: one ticket for each receiver.
    dlpackTicket: {
      enumerable: true,
      get: () => {
        const ticket = issueTicket(tensor);
        issued.push(ticket);
        return ticket;
      },
    },
    revoke: {
      value: () => {
        let count = 0;
        for (const ticket of issued.splice(0)) {
          redeem(ticket);
          if (i32[STATUS] !== Status.ok) continue;
          takeFrame().storage.release();
          count++;
        }
        return count;
      },
    },
  });
}

/** The tensor of a token that arrived in a message. Each message can be opened once. */
export function openToken(ticket: unknown): Descriptor {
  if (typeof ticket !== 'string' || !/^[0-9a-f]{32}$/.test(ticket)) {
    throw new ArgumentTypeError('description.dlpackTicket', '32 hexadecimal digits of shareTensor()', ticket);
  }
  redeem(ticket);
  checkStatus();
  return takeFrame();
}

function redeem(ticket: string): void {
  const binding = native();
  u64[TICKET] = BigInt(`0x${ticket.slice(0, 16)}`);
  u64[TICKET + 1] = BigInt(`0x${ticket.slice(16)}`);
  binding.redeemTicket();
}

function issueTicket(tensor: TensorView): string {
  // Random, so that a ticket can be neither guessed nor counted up.
  const [low, high] = crypto.getRandomValues(new BigUint64Array(2)) as unknown as [bigint, bigint];
  withNative(checkTensor(tensor), null, () => {
    u64[TICKET] = low;
    u64[TICKET + 1] = high;
    native().issueTicket();
    checkStatus();
  });
  return low.toString(16).padStart(16, '0') + high.toString(16).padStart(16, '0');
}
