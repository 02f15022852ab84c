/** A server that answers an image with the class that a model finds in it. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TensorView } from 'dlpack';
import type { Session } from 'dlpack/onnxruntime';
import { Batches } from './batches.js';

/** Bytes of the largest image that the server reads. */
const LARGEST = 16 * 2 ** 20;

export interface RunningServer {
  readonly url: string;
  /** Accepts no more requests, answers those that it has, and frees the model. */
  close(): Promise<void>;
}

class RequestError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  if (request.method !== 'POST') throw new RequestError(405, 'POST an image');
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= LARGEST) chunks.push(chunk);
  }
  if (length > LARGEST) throw new RequestError(413, `an image has at most ${LARGEST} bytes`);
  return Buffer.concat(chunks);
}

/**
 * @param decode makes a tensor of an encoded image: rows, columns, channels. It throws for what is no image.
 * @param port 0 chooses a free one.
 */
export async function serve(
  session: Session,
  decode: (bytes: Buffer) => Promise<TensorView>,
  port = 0,
): Promise<RunningServer> {
  const batches = new Batches(session);
  let isClosing = false;

  const answer = async (request: IncomingMessage): Promise<object> => {
    const bytes = await bytesOf(request);
    const image = await decode(bytes).catch((error: Error) => {
      throw new RequestError(400, error.message);
    });
    const scores = await batches.scoresOf(image);
    const score = Math.max(...scores);
    return { class: scores.indexOf(score), score };
  };

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const send = (status: number, body: object) => {
      if (isClosing) response.setHeader('connection', 'close');
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    answer(request).then(
      (body) => send(200, body),
      (error: Error) => send(error instanceof RequestError ? error.status : 500, { error: error.message }),
    );
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      isClosing = true;
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeIdleConnections();
      });
      await session[Symbol.asyncDispose]();
    },
  };
}
