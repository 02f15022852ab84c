/** Asynchronous files: Blobs, and URLs that are read in ranges. */

import { isDLPackError, textOf } from '../errors.js';
import { FileError, FileFormatError } from './error.js';
import { newBytes } from './limits.js';
import { type AsyncReader, type Deflated, MAX_RATIO } from './reading.js';

/** A file that is read in ranges. */
export abstract class Source implements AsyncReader {
  abstract readonly path: string;
  abstract readonly size: number;
  /** The bytes of a range, in pieces, in order. */
  abstract stream(offset: number, length: number, signal?: AbortSignal): AsyncGenerator<Uint8Array>;

  read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    return gather(length, this.stream(offset, length, signal));
  }

  inflate(request: Deflated): Promise<Uint8Array> {
    return inflateStream(request);
  }
}

/** Throws the reason of a signal, or a `FileError` with the system's code where the runtime tells it. */
function failed(path: string, signal?: AbortSignal): (error: unknown) => never {
  return (error) => {
    if (signal?.aborted || isDLPackError(error)) throw error;
    const { cause = error } = Object(error) as { cause?: unknown };
    const { code, message, errors } = Object(cause) as { code?: unknown; message?: unknown; errors?: unknown };
    // An AggregateError with an error for each address of a host has no text.
    const [shown = cause] = message === '' && Array.isArray(errors) ? errors : [];
    const name = typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : 'EIO';
    throw new FileError(path, name, `could not read the bytes: ${textOf(shown)}`, { cause: error });
  };
}

/** Pieces of a stream; ends the stream when the consumer stops early. */
async function* pieces(
  path: string,
  stream: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(failed(path, signal));
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Collects the bytes of a range. */
async function gather(length: number, pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const bytes = newBytes(length);
  let at = 0;
  for await (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Passes pieces on, and throws if they have more or fewer bytes than requested. */
async function* exactly(
  path: string,
  offset: number,
  length: number,
  from: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const piece of from) {
    at += piece.length;
    if (at > length) break;
    yield piece;
  }
  if (at !== length) {
    throw new FileFormatError(path, offset, `${length} bytes were asked for but ${at > length ? 'more' : at} arrived`);
  }
}

/** Decompresses with the API that browsers have. */
async function inflateStream({ deflated, size, isPrefix }: Deflated): Promise<Uint8Array> {
  const stream = new Blob([deflated as BlobPart]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  const bytes = newBytes(isPrefix ? Math.min(size, deflated.length * MAX_RATIO) : size);
  let at = 0;
  try {
    for await (const piece of pieces('', stream as ReadableStream<Uint8Array>)) {
      const room = bytes.length - at;
      if (piece.length > room && !isPrefix) return new Uint8Array(); // longer than the member claims
      bytes.set(piece.subarray(0, room), at);
      at += Math.min(room, piece.length);
      if (at === bytes.length && isPrefix) break;
    }
  } catch {
    if (!isPrefix) return new Uint8Array(); // the beginning of a member is cut off
  }
  return bytes.subarray(0, at);
}

export class BlobSource extends Source {
  readonly path: string;

  constructor(
    private readonly blob: Blob,
    path?: string,
  ) {
    super();
    this.path = path ?? (typeof File !== 'undefined' && blob instanceof File && blob.name !== '' ? blob.name : 'Blob');
  }

  get size(): number {
    return this.blob.size;
  }

  async *stream(offset: number, length: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const stream = this.blob.slice(offset, offset + length).stream() as ReadableStream<Uint8Array>;
    for await (const piece of exactly(this.path, offset, length, pieces(this.path, stream, signal))) {
      signal?.throwIfAborted();
      yield piece;
    }
  }
}

/** The size of the first request of a URL, which covers the headers of most files. */
const FIRST_PIECE = 1 << 16;

export class UrlSource extends Source {
  private constructor(
    private readonly url: URL,
    readonly size: number,
    /** The server's identifier of this version of the file. */
    private readonly version: string | null,
    private readonly first: Uint8Array,
  ) {
    super();
  }

  get path(): string {
    return this.url.href;
  }

  /**
   * Requests the beginning of the file. A server without range support sends the whole file, which is then kept, unless it
   * has more than `most` bytes.
   */
  static async open(url: URL, most: number, signal?: AbortSignal): Promise<Source> {
    const response = await fetchRange(url, 0, FIRST_PIECE, signal);
    if (response.status === 200) return new BlobSource(await wholeOf(url, response, most, signal), url.href);
    const match = /^bytes 0-([0-9]+)\/([0-9]+)$/.exec(response.headers.get('content-range') ?? '');
    const size = Number(match?.[2]);
    if (match === null || !Number.isSafeInteger(size)) {
      await response.body?.cancel();
      throw new FileError(url.href, 'EPROTO', 'the server answered a range without the size of the file');
    }
    const length = Math.min(size, FIRST_PIECE);
    const first = await gather(length, exactly(url.href, 0, length, pieces(url.href, bodyOf(response), signal)));
    return new UrlSource(url, size, versionOf(response), first);
  }

  override async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    if (offset + length <= this.first.length) return this.first.slice(offset, offset + length);
    return super.read(offset, length, signal);
  }

  async *stream(offset: number, length: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    if (length === 0) return;
    const response = await fetchRange(this.url, offset, length, signal);
    if (response.status !== 206 || versionOf(response) !== this.version) {
      await response.body?.cancel();
      throw new FileError(this.path, 'ESTALE', 'the file changed on the server while it was read');
    }
    // A server that does not say which bytes it sends may send others.
    const range = response.headers.get('content-range') ?? 'no range';
    if (range !== `bytes ${offset}-${offset + length - 1}/${this.size}`) {
      await response.body?.cancel();
      throw new FileError(this.path, 'EPROTO', `the server answered '${range}' for bytes from ${offset} on`);
    }
    yield* exactly(this.path, offset, length, pieces(this.path, bodyOf(response), signal));
  }
}

/** The whole file that a server sent. Stops when there are more than `most` bytes, because a server may never end. */
async function wholeOf(url: URL, response: Response, most: number, signal?: AbortSignal): Promise<Blob> {
  const kept: BlobPart[] = [];
  let size = 0;
  const tooLarge = () =>
    new FileError(
      url.href,
      'EFBIG',
      `the server supports no ranges and sends more than ${most} bytes; pass a larger maxBytes, or a server with ranges`,
    );
  const claimed = Number(response.headers.get('content-length') ?? 0);
  if (claimed > most) {
    await response.body?.cancel();
    throw tooLarge();
  }
  for await (const piece of pieces(url.href, bodyOf(response), signal)) {
    size += piece.length;
    if (size > most) throw tooLarge();
    kept.push(piece as Uint8Array<ArrayBuffer>);
  }
  return new Blob(kept);
}

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  return (response.body ?? new Blob([]).stream()) as ReadableStream<Uint8Array>;
}

function versionOf({ headers }: Response): string | null {
  return headers.get('etag') ?? headers.get('last-modified');
}

async function fetchRange(url: URL, offset: number, length: number, signal?: AbortSignal): Promise<Response> {
  const headers = { range: `bytes=${offset}-${offset + length - 1}` };
  const response = await fetch(url, { headers, ...(signal && { signal }) }).catch(failed(url.href, signal));
  if (response.status === 206 || response.status === 200) return response;
  await response.body?.cancel();
  // An empty file has no first byte to send.
  if (response.status === 416 && offset === 0) return new Response(new Blob([]));
  const code = response.status === 404 ? 'ENOENT' : response.status === 403 ? 'EACCES' : 'EIO';
  throw new FileError(url.href, code, `the server answered ${response.status} ${response.statusText}`);
}
