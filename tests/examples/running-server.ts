/** Starts an example server in a process of its own, and sends it requests. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { equal } from '../assert.js';
import { freePort } from '../free-port.js';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly scores?: readonly number[]; readonly error?: string; readonly [name: string]: unknown };
}

export interface Running {
  readonly process: ChildProcess;
  readonly port: number;
  /** Sends a request over one of fifty connections that are kept, or over a new one. */
  send(path: string, body?: Uint8Array, connection?: 'kept' | 'new'): Promise<Answer>;
  /** What the server has written to its error output. */
  errors(): string;
}

/** Waits for a condition. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Starts the compiled program, a path beside this file, runs `action`, and ends the server if it still runs. */
export async function withServer(
  program: string,
  env: Record<string, string>,
  action: (server: Running) => Promise<void>,
): Promise<void> {
  const port = await freePort(); // one that the system chooses at each start would differ after a crash
  const child = spawn(process.execPath, [fileURLToPath(new URL(program, import.meta.url))], {
    stdio: 'pipe',
    env: { ...process.env, PORT: String(port), ...env },
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 50 });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  try {
    const [first] = await Promise.race([once(createInterface(child.stdout), 'line'), once(child, 'exit')]);
    equal(first, `listening on ${port}`);
    const send: Running['send'] = (path, body, connection = 'kept') =>
      sendTo(port, connection === 'kept' ? agent : false, path, body);
    await action({ process: child, port, send, errors: () => errors });
  } catch (error) {
    console.log(errors);
    throw error;
  } finally {
    agent.destroy();
    child.stdin.end();
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  }
}

function sendTo(port: number, agent: Agent | false, path: string, body?: Uint8Array): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, agent, path, method: body === undefined ? 'GET' : 'POST' }, async (response) => {
      try {
        let text = '';
        for await (const chunk of response.setEncoding('utf8')) text += chunk;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(text) });
      } catch (error) {
        reject(error);
      }
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
