/**
 * Streams and events that this instance made: released by `dispose()`, by the collector, or at the end of the environment.
 *
 * @module
 */

import { enter, leave, wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { cuda } from './driver.js';
import { OwnerRequest } from './wire-layout.js';

/** Runtimes without explicit resource management have no such symbol; `dispose()` works everywhere. */
export const disposeSymbol: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for('Symbol.dispose') as never);

/** What has to be released. It does not refer to the JavaScript object, so that the collector can find that one. */
interface Token {
  address: bigint;
  readonly given: (() => void) | undefined;
}

function giveBack(token: Token): void {
  const { address } = token;
  if (address === 0n) return;
  token.address = 0n;
  const binding = cuda();
  const slot = enter(OwnerRequest.WORDS);
  wire.u64[slot + OwnerRequest.OWNER] = address;
  wire.u32[WireHeader.SLOT] = slot;
  binding.releaseOwned();
  leave(slot);
  token.given?.();
}

const registry = new FinalizationRegistry<Token>(giveBack);

export class Owned {
  private readonly token: Token;

  /** `given` is called once, after the release. */
  constructor(owner: object, address: bigint, given?: () => void) {
    this.token = { address, given };
    registry.register(owner, this.token, this.token);
  }

  /** The address of the native owner. */
  get address(): bigint {
    return this.token.address;
  }

  get isDisposed(): boolean {
    return this.token.address === 0n;
  }

  release(): void {
    registry.unregister(this.token);
    giveBack(this.token);
  }
}
