/** Exports of a producer as native externals, which the peer takes. */

import { expect, passes } from '../case.js';
import type { Producer, ProducerContext } from '../exports.js';
import { dlpack } from '../reference.js';
import { type Peer, type Struct, takeStruct } from './peer.js';

export interface NativeContext extends ProducerContext {
  readonly peer: Peer;
}

/** The external of a tensor. */
export function exportNative({ peer }: NativeContext, tensor: Producer, request: object = {}): object {
  const answer = passes('an external', () => tensor[dlpack]({ native: 'only', ...request })) as object;
  expect(peer.isExternal(answer), 'an external with the type tag', `received ${typeof answer} without it`);
  return answer;
}

/** The struct of a tensor, which the caller releases. */
export function taken(context: NativeContext, tensor: Producer, request?: object): Struct {
  const struct = takeStruct(context.peer, exportNative(context, tensor, request));
  if (struct === null) expect(false, 'a tensor in the cell', 'it is NULL');
  return struct as Struct;
}

/** Takes the struct of a tensor, hands it to `body` and releases it. */
export function withStruct(
  context: NativeContext,
  tensor: Producer,
  request: object,
  body: (struct: Struct) => void = () => {},
): void {
  const struct = taken(context, tensor, request);
  try {
    body(struct);
  } finally {
    context.peer.release(struct.token);
  }
}
