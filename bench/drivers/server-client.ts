/** Requests to the servers of server.bench.ts and server-soak.ts, over fifty connections that stay open. */

import { Agent, request } from 'node:http';

export const CONNECTIONS = 50;
export const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const images = Array.from({ length: 8 }, (_, i) => Buffer.alloc(224 * 224 * 3, 30 * i));

/** Sends an image of 150 KB, and checks that the answer has ten scores. */
function send(port: number, image: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-length': image.length };
    const sent = request({ port, agent, path: '/predict', method: 'POST', headers }, async (response) => {
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      if (response.statusCode === 200 && JSON.parse(text).scores.length === 10) resolve();
      else reject(new Error(`${response.statusCode}: ${text}`));
    });
    sent.on('error', reject);
    sent.end(image);
  });
}

/** Keeps all connections busy until `isOver` says so, and tells `answered` the milliseconds of each answer. */
export async function load(
  port: number,
  isOver: () => boolean,
  answered: (milliseconds: number) => void,
): Promise<void> {
  const connection = async (first: number): Promise<void> => {
    for (let i = first; !isOver(); i++) {
      const start = performance.now();
      await send(port, images[i % images.length] as Buffer);
      answered(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => connection(i)));
}
