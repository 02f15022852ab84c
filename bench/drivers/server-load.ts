/** Requests for some time: server-load.js <port> <seconds>. Prints the latencies in milliseconds as JSON. */

import { agent, load } from './server-client.js';

const [port, seconds] = process.argv.slice(2).map(Number) as [number, number];

async function measure(milliseconds: number): Promise<number[]> {
  const latencies: number[] = [];
  const end = performance.now() + milliseconds;
  await load(
    port,
    () => performance.now() >= end,
    (time) => latencies.push(time),
  );
  return latencies;
}

await measure(500);
const start = performance.now();
const latencies = await measure(seconds * 1000);
console.log(JSON.stringify({ latencies, seconds: (performance.now() - start) / 1000 }));
agent.destroy();
