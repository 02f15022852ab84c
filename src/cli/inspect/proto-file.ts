/** Files of protocol buffer messages, of which only the parts are read that somebody asks for. */

import { readSync } from 'node:fs';
import { FileFormatError } from '../../files/error.js';
import { MAX_HEADER, newBytes } from '../../files/limits.js';

/** A field of a protocol buffer message: a number, or the extent of its bytes in the file. */
export interface Field {
  readonly number: number;
  /** The number; for bytes, their count. */
  readonly value: number;
  readonly isBytes: boolean;
  readonly start: number;
  readonly end: number;
}

/**
 * Reads through a window, so that weights of gigabytes between two fields are never read. What is read at
 * all, keys, numbers and texts, is the header, and has the limit of other headers.
 */
export class ProtoFile {
  private readonly window = new Uint8Array(1 << 16);
  private windowStart = 0;
  private windowEnd = 0;
  private headerBytes = 0;

  constructor(
    readonly path: string,
    private readonly file: number,
    readonly size: number,
  ) {}

  private byte(at: number): number {
    this.count(at, 1);
    if (at < this.windowStart || at >= this.windowEnd) {
      this.windowStart = at;
      this.windowEnd = at + readSync(this.file, this.window, 0, this.window.length, at);
      if (this.windowEnd === at) throw this.malformed(at, 'the file ends inside a field');
    }
    return this.window[at - this.windowStart] as number;
  }

  private count(at: number, bytes: number): void {
    this.headerBytes += bytes;
    if (this.headerBytes > MAX_HEADER) throw this.malformed(at, `its header has more than ${MAX_HEADER} bytes`);
  }

  malformed(at: number, problem: string): FileFormatError {
    return new FileFormatError(this.path, at, `expected an ONNX model but ${problem}`);
  }

  /** A number of seven bits in each byte, and the position after it. */
  private varint(at: number): { value: number; next: number } {
    let value = 0;
    let scale = 1;
    for (let next = at; next < at + 10; next++, scale *= 128) {
      const byte = this.byte(next);
      value += (byte & 127) * scale;
      if (byte < 128) return { value, next: next + 1 };
    }
    throw this.malformed(at, 'a number has more than ten bytes');
  }

  /** The fields of the message between two positions. */
  *fields(start: number, end: number): Generator<Field> {
    for (let at = start; at < end; ) {
      const key = this.varint(at);
      const number = Math.floor(key.value / 8);
      const kind = key.value % 8;
      if (number === 0) throw this.malformed(at, 'a field has the number 0');
      if (kind === 0) {
        const { value, next } = this.varint(key.next);
        yield { number, value, isBytes: false, start: key.next, end: next };
        at = next;
        continue;
      }
      const length = kind === 2 ? this.varint(key.next) : { value: kind === 1 ? 8 : 4, next: key.next };
      if (kind !== 1 && kind !== 2 && kind !== 5) throw this.malformed(at, `a field has the wire type ${kind}`);
      at = length.next + length.value;
      if (at > end) throw this.malformed(length.next, 'a field is longer than its message');
      yield { number, value: length.value, isBytes: true, start: length.next, end: at };
    }
  }

  bytes({ start, end }: { start: number; end: number }): Uint8Array {
    const bytes = newBytes(end - start);
    for (let at = 0; at < bytes.length; ) {
      const count = readSync(this.file, bytes, at, bytes.length - at, start + at);
      if (count === 0) throw this.malformed(start + at, 'the file ends inside a field');
      at += count;
    }
    return bytes;
  }

  /** Names and versions. A longer text is not what a reader of a list wants. */
  text({ start, end }: Field): string {
    const part = { start, end: Math.min(end, start + 4096) };
    this.count(start, part.end - start);
    return new TextDecoder().decode(this.bytes(part));
  }

  /** Numbers of a repeated field: packed into one field, or one of them. */
  *numbers(field: Field): Generator<number> {
    if (!field.isBytes) return yield field.value;
    for (let at = field.start; at < field.end; ) {
      const { value, next } = this.varint(at);
      yield value;
      at = next;
    }
  }
}
