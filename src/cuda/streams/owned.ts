/**
 * Streams and events that this instance made. They are released by `dispose()`, by the garbage collector, or at the end
 * of the environment.
 */

import type { Owner } from '../../storage/collect.js';
import { cuda } from '../driver.js';

/**
 * The stream or event to release. It does not refer to the JavaScript object, so that the garbage collector can find that
 * object unreachable.
 */
interface Token {
  /** 0 after the release. */
  number: number;
  readonly given: (() => void) | undefined;
}

function giveBack(token: Token): void {
  const { number } = token;
  if (number === 0) return;
  token.number = 0;
  cuda().releaseOwned(number);
  token.given?.();
}

const registry = new FinalizationRegistry<Token>(giveBack);

export class Owned implements Owner {
  private readonly token: Token;

  /** `given` is called once, after the release. */
  constructor(owner: object, number: number, given?: () => void) {
    this.token = { number, given };
    registry.register(owner, this.token, this.token);
  }

  /** The number of the stream or event in the native table. */
  get number(): number {
    return this.token.number;
  }

  get isDisposed(): boolean {
    return this.token.number === 0;
  }

  free(): void {
    registry.unregister(this.token);
    giveBack(this.token);
  }
}
