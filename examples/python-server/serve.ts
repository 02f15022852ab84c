/** The HTTP side of an inference server: requests, answers, health, and an end in order. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { type Batches, Overloaded } from './batches.js';

export interface ServeOptions {
  readonly batches: Batches;
  /** The shape of one input, of bytes. */
  readonly shape: readonly number[];
  readonly port: number;
}

const answer = (response: ServerResponse, status: number, value: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
};

/** Reads the body into the memory of a tensor, where the model finds it. Returns false for a body of another length. */
async function readInto(request: IncomingMessage, tensor: Tensor<'uint8'>): Promise<boolean> {
  const target = tensor.data;
  let at = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    if (at + chunk.length > target.length) return false;
    target.set(chunk, at);
    at += chunk.length;
  }
  return at === target.length;
}

/** Serves until SIGTERM or SIGINT. Returns when the last request is answered. */
export async function serve({ batches, shape, port }: ServeOptions): Promise<void> {
  let isEnding = false;

  const predict = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    using pixels = Tensor.empty(shape, 'uint8');
    if (!(await readInto(request, pixels))) {
      response.setHeader('connection', 'close'); // the rest of the body is not read
      return answer(response, 400, { error: `Expected ${pixels.nbytes} bytes: an image of ${shape.join(' × ')}` });
    }
    answer(response, 200, { scores: await batches.add(pixels) });
  };

  const health = (response: ServerResponse): void => {
    const { storages, imports, objects } = liveCounts();
    const memory = Math.round(process.memoryUsage.rss() / 2 ** 20);
    const { pid } = process;
    answer(response, isEnding ? 503 : 200, { pid, waiting: batches.waiting, storages, imports, objects, memory });
  };

  const server = createServer(async (request, response) => {
    try {
      if (isEnding) response.setHeader('connection', 'close'); // a client with a connection of its own finds another server
      if (request.method === 'POST' && request.url === '/predict') await predict(request, response);
      else if (request.method === 'GET' && request.url === '/health') health(response);
      else answer(response, 404, { error: 'Expected POST /predict or GET /health' });
    } catch (error) {
      if (error instanceof Overloaded) {
        response.setHeader('retry-after', '1');
        answer(response, 503, { error: error.message });
      } else if (!response.destroyed) {
        console.error(error); // with Python's traceback
        answer(response, 500, { error: 'The model failed' });
      }
    }
  });

  server.listen(port, () => {
    const address = server.address();
    console.log(`listening on ${typeof address === 'object' ? address?.port : address}`);
  });
  await new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve);
  });
  isEnding = true;
  await new Promise((resolve) => {
    server.close(resolve); // takes no new connections, closes idle ones, and waits for answers
  });
  process.disconnect?.(); // the channel to the process that started this one
}
