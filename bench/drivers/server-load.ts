/** Requests over fifty connections: server-load.js <port> <seconds>. Prints the latencies in milliseconds as JSON. */

import { Agent, request } from 'node:http';

const CONNECTIONS = 50;
const [port, seconds] = process.argv.slice(2).map(Number) as [number, number];
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const images = Array.from({ length: 8 }, (_, i) => Buffer.alloc(224 * 224 * 3, 30 * i));

function send(image: Buffer): Promise<void> {
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

async function measure(milliseconds: number): Promise<number[]> {
  const latencies: number[] = [];
  const end = performance.now() + milliseconds;
  const connection = async (first: number): Promise<void> => {
    for (let i = first; performance.now() < end; i++) {
      const start = performance.now();
      await send(images[i % images.length] as Buffer);
      latencies.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => connection(i)));
  return latencies;
}

await measure(500);
const start = performance.now();
const latencies = await measure(seconds * 1000);
console.log(JSON.stringify({ latencies, seconds: (performance.now() - start) / 1000 }));
agent.destroy();
