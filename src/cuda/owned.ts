/**
 * Streams and events that this environment made: given back by `dispose()`, by the collector, or by its end.
 *
 * @module
 */

import { cuda } from './driver.js';
import { ADDRESS, u64 } from './frame.js';

/** Runtimes without explicit resource management have no such symbol; `dispose()` works everywhere. */
export const disposeSymbol: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for('Symbol.dispose') as never);

/** What is to be given back. It does not refer to the object that stands for it. */
interface Token {
  address: bigint;
  readonly given: (() => void) | undefined;
}

function giveBack(token: Token): void {
  const { address } = token;
  if (address === 0n) return;
  token.address = 0n;
  u64[ADDRESS] = address;
  cuda().releaseOwned();
  token.given?.();
}

const registry = new FinalizationRegistry<Token>(giveBack);

export class Owned {
  private readonly token: Token;

  /** `given` is called once, when it was given back. */
  constructor(owner: object, address: bigint, given?: () => void) {
    this.token = { address, given };
    registry.register(owner, this.token, this.token);
  }

  /** Of the native owner. */
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
