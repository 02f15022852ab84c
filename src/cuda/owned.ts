/**
 * Streams and events that this instance made. They are released by `dispose()`, by the garbage collector, or at the end
 * of the environment.
 *
 * @module
 */

import { enter, leave, wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { cuda } from './driver.js';
import { OwnerRequest } from './wire-layout.js';

/** Runtimes without explicit resource management lack this symbol; `dispose()` works everywhere. */
export const disposeSymbol: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for('Symbol.dispose') as never);

/**
 * The native owner to release. It does not refer to the JavaScript object, so that the garbage collector can find that
 * object unreachable.
 */
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
