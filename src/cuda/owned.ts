/**
 * Streams and events that this instance made. They are released by `dispose()`, by the garbage collector, or at the end
 * of the environment.
 *
 * @module
 */

import { enter, request, wire } from '../native/wire.js';
import { cuda } from './driver.js';
import { OwnerRequest } from './wire-layout.js';

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
  request(slot, () => binding.releaseOwned());
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
