/**
 * Reads JSON of a known structure token by token. It reports unexpected content at its position, before anything is
 * allocated for it, and detects duplicate names.
 */

import { FileFormatError } from '../error.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The most levels of arrays and objects in values of free structure, and the most characters of such a value. */
const MAX_DEPTH = 64;
const MAX_FREE = 1 << 20;

export class JsonScanner {
  private readonly text: string;
  private at = 0;

  /** Reads bytes of a file from `start` on. `what` names them in messages. */
  constructor(
    private readonly path: string,
    private readonly start: number,
    bytes: Uint8Array,
    what: string,
  ) {
    const text = decodeText(bytes);
    if (text === null) throw new FileFormatError(path, start, `${what} is not UTF-8`);
    this.text = text;
  }

  /** Throws for a position in the text. */
  private fail(at: number, problem: string): never {
    const offset = new TextEncoder().encode(this.text.slice(0, at)).length;
    throw new FileFormatError(this.path, this.start + offset, problem);
  }

  refuse(problem: string): never {
    return this.fail(this.at, problem);
  }

  /** The code of the next character that is not white space; NaN at the end. */
  private peek(): number {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.at++;
    }
  }

  private tryTake(char: number): boolean {
    if (this.peek() !== char) return false;
    this.at++;
    return true;
  }

  private take(char: number): void {
    if (!this.tryTake(char)) this.refuse(`expected '${String.fromCharCode(char)}' but found ${this.found()}`);
  }

  private found(): string {
    return this.at < this.text.length ? JSON.stringify(this.text.slice(this.at, this.at + 12)) : 'the end';
  }

  /** Reads an object. Calls `member` with each name, and `member` must read the value. */
  object(member: (name: string) => void): void {
    this.take(0x7b);
    if (this.tryTake(0x7d)) return;
    do {
      const name = this.string();
      this.take(0x3a);
      member(name);
    } while (this.tryTake(0x2c));
    this.take(0x7d);
  }

  /** Reads an array of non-negative integers. */
  integers(limit: number): number[] {
    const values: number[] = [];
    this.take(0x5b);
    if (this.tryTake(0x5d)) return values;
    do {
      if (values.length >= limit) this.refuse(`expected at most ${limit} numbers`);
      values.push(this.integer());
    } while (this.tryTake(0x2c));
    this.take(0x5d);
    return values;
  }

  private integer(): number {
    this.peek();
    const { text, at: start } = this;
    let at = start;
    let value = 0;
    for (;;) {
      const digit = text.charCodeAt(at) - 0x30;
      if (!(digit >= 0 && digit <= 9)) break;
      value = value * 10 + digit;
      at++;
    }
    this.at = at;
    if (at === start) this.refuse(`expected an integer of zero or more but found ${this.found()}`);
    if (!Number.isSafeInteger(value)) this.fail(start, 'expected an integer of at most 2^53 - 1');
    if (value > 0 ? text.charCodeAt(start) === 0x30 : at - start > 1) {
      this.fail(start, 'expected an integer without leading zeros');
    }
    return value;
  }

  string(): string {
    if (this.peek() !== QUOTE) this.refuse(`expected a string but found ${this.found()}`);
    const { text } = this;
    const start = this.at + 1;
    let at = start; // a local variable, because engines write a field to memory for each character
    let isPlain = true;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        isPlain = false;
        at++;
      } else if (!(code >= 0x20)) {
        this.fail(start - 1, Number.isNaN(code) ? 'a string has no end' : 'a string has a control character');
      }
      at++;
    }
    this.at = at + 1;
    return isPlain ? text.slice(start, at) : this.unescape(start - 1, at + 1);
  }

  private unescape(start: number, end: number): string {
    let text: string;
    try {
      text = JSON.parse(this.text.slice(start, end)) as string;
    } catch {
      return this.fail(start, 'a string has an unknown escape');
    }
    return isWellFormed(text) ? text : this.fail(start, 'a string has half a surrogate pair');
  }

  /** Reads any value as `JSON.parse` does. Throws if it is too long or nested too deeply. */
  any(): unknown {
    this.peek();
    const start = this.at;
    this.skip(0, start + MAX_FREE);
    try {
      return JSON.parse(this.text.slice(start, this.at));
    } catch (error) {
      return this.fail(start, `JSON is malformed: ${(error as Error).message}`);
    }
  }

  /** Skips a value that must end before the character `limit`. */
  private skip(depth: number, limit: number): void {
    const code = this.peek();
    if (depth > MAX_DEPTH) this.refuse(`expected at most ${MAX_DEPTH} levels of JSON`);
    if (code === QUOTE) this.string();
    else if (code === 0x7b) this.object(() => this.skip(depth + 1, limit));
    else if (code === 0x5b) this.skipArray(depth + 1, limit);
    else this.skipWord();
    if (this.at > limit) this.refuse(`expected at most ${MAX_FREE} characters in one value`);
  }

  private skipArray(depth: number, limit: number): void {
    this.take(0x5b);
    if (this.tryTake(0x5d)) return;
    do this.skip(depth, limit);
    while (this.tryTake(0x2c));
    this.take(0x5d);
  }

  /** Skips a number, true, false or null. `JSON.parse` decides which it is. */
  private skipWord(): void {
    const start = this.at;
    while (/[-+.\w]/.test(this.text.charAt(this.at))) this.at++;
    if (this.at === start) this.refuse(`expected a value but found ${this.found()}`);
  }

  /** Throws unless only white space follows. */
  end(): void {
    if (!Number.isNaN(this.peek())) this.refuse(`expected the end but found ${this.found()}`);
  }
}

/** False for text with half a surrogate pair. Node 20 and older browsers lack `String.prototype.isWellFormed`. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Text of a file as strict UTF-8, or null. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
