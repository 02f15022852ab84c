import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { equal } from '../assert.js';
import { freePort } from '../free-port.js';
import { test } from '../harness.js';
import { makeProject, tool } from './project.js';

// The roots name .bundlers, where Next is installed; a project of its own needs neither.
const config = `
const root = new URL('../..', import.meta.url).pathname;
export default {
  serverExternalPackages: ['dlpack'],
  output: 'standalone',
  turbopack: { root },
  outputFileTracingRoot: root,
};`;
const layout = `export default function Layout({ children }) {
  return <html><body>{children}</body></html>;
}`;
const page = `import { Tensor } from 'dlpack';
export default function Page() {
  return <p>{Tensor.from([1, 2]).toString()}</p>;
}`;
const route = `import { Tensor, nativeStatus } from 'dlpack';
import { addressOf } from 'dlpack/native';
export const dynamic = 'force-dynamic';
export function GET() {
  return Response.json({ loaded: nativeStatus().loaded, isNative: addressOf(Tensor.from([1, 2, 3])) > 0n });
}`;

const files = { 'package.json': '{ "private": true }', 'next.config.mjs': config };
const app = { 'app/layout.js': layout, 'app/page.js': page, 'app/api/route.js': route };
let project = '';

test('Next builds a page and a route', () => {
  project = makeProject('next', { ...files, ...app });
  tool('next/dist/bin/next', ['build'], project, { NEXT_TELEMETRY_DISABLED: '1' });
});

/** Starts the server in a folder. */
async function startServer(folder: string): Promise<{ server: ChildProcess; port: number }> {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), HOSTNAME: '127.0.0.1' };
  const server = spawn(process.execPath, [join(folder, 'projects/next/server.js')], { env });
  let output = '';
  const isReady = await new Promise<boolean>((resolve) => {
    for (const stream of [server.stdout, server.stderr])
      stream.on('data', (chunk) => {
        output += chunk;
        if (output.includes('Ready')) resolve(true);
      });
    server.on('close', () => resolve(false));
  });
  if (!isReady) throw new Error(output);
  return { server, port };
}

test('the Next server answers with native memory in a folder without node_modules', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-next-'));
  cpSync(join(project, '.next/standalone'), folder, { recursive: true });
  try {
    const { server, port } = await startServer(folder);
    try {
      const response = await fetch(`http://127.0.0.1:${port}/api`);
      equal(await response.json(), { loaded: true, isNative: true });
    } finally {
      server.kill();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
