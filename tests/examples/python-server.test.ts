/** The inference server of examples/python-server under load: answers, refusals, memory, a crash and the end. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { testWith } from '../harness.js';
import { probe } from '../interop/python/available.js';

const torch = probe('torch');
const { missing } = torch;

interface Answer {
  readonly status: number;
  readonly body: { readonly scores?: readonly number[]; readonly error?: string; readonly [name: string]: unknown };
}

interface Running {
  readonly process: ChildProcess;
  send(path: string, body?: Uint8Array): Promise<Answer>;
}

/** A port that is free now. A port that the system chooses at each start would differ after a crash. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts the server, runs `action`, and ends the server if it still runs. */
async function withServer(env: Record<string, string>, action: (server: Running) => Promise<void>): Promise<void> {
  const program = fileURLToPath(new URL('../../examples/python-server/main.js', import.meta.url));
  const port = await freePort();
  const child = spawn(process.execPath, [program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PORT: String(port), ...env },
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 50 });
  try {
    let first = '';
    for await (const line of createInterface(child.stdout as NodeJS.ReadableStream & { readonly fd?: number })) {
      first = line;
      break;
    }
    equal(first, `listening on ${port}`);
    const send = (path: string, body?: Uint8Array) => sendTo(port, agent, path, body);
    await action({ process: child, send });
  } finally {
    agent.destroy();
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  }
}

function sendTo(port: number, agent: Agent, path: string, body?: Uint8Array): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, agent, path, method: body === undefined ? 'GET' : 'POST' }, async (response) => {
      try {
        let text = '';
        for await (const chunk of response.setEncoding('utf8')) text += chunk;
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) });
      } catch (error) {
        reject(error);
      }
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const SIZE = 224 * 224 * 3;
const image = (i: number): Uint8Array => new Uint8Array(SIZE).fill((i * 37) % 251, 0, SIZE / 2).fill(i, SIZE / 2);

const isClose = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((value, i) => Math.abs(value - (b[i] as number)) < 1e-5);

testWith(
  missing,
  'load: answers are those of single requests, nothing is left over, and SIGTERM loses none',
  async () => {
    await withServer({}, async ({ process: child, send }) => {
      const images = Array.from({ length: 8 }, (_, i) => image(i));
      const expected: (readonly number[])[] = [];
      for (const one of images) {
        const { status, body } = await send('/predict', one);
        equal(status, 200);
        expected.push(body.scores as readonly number[]);
      }
      ok(!isClose(expected[0] as readonly number[], expected[1] as readonly number[]), 'images have different scores');
      const isRight = async (i: number, sent: Promise<Answer>): Promise<void> => {
        const { status, body } = await sent;
        equal(status, 200);
        ok(isClose(body.scores as readonly number[], expected[i % 8] as readonly number[]), `answer ${i}`);
      };
      const { body: before } = await send('/health');
      await Promise.all(Array.from({ length: 400 }, (_, i) => isRight(i, send('/predict', images[i % 8]))));
      const { body: after } = await send('/health');
      const { waiting, storages, imports } = before;
      equal(
        { waiting: after.waiting, storages: after.storages, imports: after.imports },
        { waiting, storages, imports },
      );
      // Objects of the start that the collector found meanwhile may be gone.
      ok(Number(after.objects) <= Number(before.objects), `${after.objects} Python objects after ${before.objects}`);
      equal((await send('/predict', new Uint8Array(5))).status, 400);
      equal((await send('/other')).status, 404);
      const last = Array.from({ length: 40 }, (_, i) => send('/predict', images[i % 8]));
      await last[0];
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await Promise.all(last.map((sent, i) => isRight(i, sent)));
      equal((await exit)[0], 0);
    });
  },
);

testWith(missing, 'overload: requests are refused or answered; a crash: a new process takes over', async () => {
  await withServer({ LIMIT: '4', DEADLINE: '1' }, async ({ send }) => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => send('/predict', image(i))));
    const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
    equal(count(200) + count(503), 200);
    ok(count(200) > 0, 'some are answered');
    equal((await send('/predict', image(1))).status, 200);
    const { pid } = (await send('/health')).body;
    process.kill(pid as number, 'SIGSEGV');
    let next: unknown = pid;
    while (next === pid) {
      next = await send('/health').then(
        ({ body }) => body.pid,
        () => pid, // no process listens yet
      );
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    equal((await send('/predict', image(3))).status, 200);
  });
});
