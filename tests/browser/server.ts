/** Serves the built package and the compiled tests to a browser, and takes the results back. */

import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

type Target = string | { [condition: string]: Target };

/** The file of an entry of the exports map for browsers. */
function browserTarget(target: Target): string | null {
  if (typeof target === 'string') return target;
  for (const [condition, inner] of Object.entries(target)) {
    if (condition === 'browser' || condition === 'default' || condition === 'import') return browserTarget(inner);
  }
  return null;
}

/** The import map that a bundler or a CDN would make of package.json. `subpaths` of native code are left out. */
export function importMap(subpaths: readonly string[]): Record<string, string> {
  const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { exports: Record<string, Target> };
  return Object.fromEntries(
    subpaths.map((subpath) => {
      const path = browserTarget(exports[subpath] as Target) as string;
      return [subpath.replace('.', 'dlpack'), path.replace('./', '/')];
    }),
  );
}

/** The output of one test file. */
export interface Report {
  readonly file: string;
  readonly lines: string[];
}

// Runs the files one after the other, each in a realm of its own, and posts what they print.
const runner = `
const files = JSON.parse(document.getElementById('files').textContent);
for (const file of files) {
  await new Promise((resolve) => {
    const frame = document.createElement('iframe');
    addEventListener('message', async function done({ data, source }) {
      if (source !== frame.contentWindow) return;
      removeEventListener('message', done);
      await fetch('/report', { method: 'POST', body: JSON.stringify({ file, lines: data }) });
      frame.remove();
      resolve();
    });
    frame.src = '/frame?' + encodeURIComponent(file);
    document.body.append(frame);
  });
}
await fetch('/done', { method: 'POST', body: '' });
`;

const frameScript = `
const lines = [];
const finish = () => parent.postMessage(lines, '*');
const failed = (error) => {
  lines.push('not ok ' + (error?.stack ?? error));
  finish();
};
console.log = (text) => {
  lines.push(String(text));
  if (String(text).startsWith('RESULT ')) finish();
};
addEventListener('error', (event) => failed(event.error ?? event.message));
addEventListener('unhandledrejection', (event) => failed(event.reason));
`;

const inScript = (value: unknown) => JSON.stringify(value).replaceAll('<', '\\u003c');

const types: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.map': 'application/json',
  '.md': 'text/markdown',
  '.wasm': 'application/wasm',
  '.json': 'application/json',
  '.zip': 'application/zip',
  '.gz': 'application/octet-stream',
};

export interface Server {
  readonly url: string;
  /** Requested paths. */
  readonly requested: Set<string>;
  /** Settles when the page has run all files. */
  readonly finished: Promise<Report[]>;
  close(): void;
}

/** Starts a server that only this machine can reach. `files` are paths below build/tests. */
export async function serve(files: readonly string[], imports: Record<string, string>): Promise<Server> {
  const requested = new Set<string>();
  const reports: Report[] = [];
  const environment = { CI: process.env.CI, VERBOSE: '1', PYODIDE_SAMPLES: process.env.PYODIDE_SAMPLES };
  let finish: (reports: Report[]) => void = () => {};
  const finished = new Promise<Report[]>((resolve) => {
    finish = resolve;
  });

  const page = `<!doctype html><meta charset="utf-8"><title>dlpack</title><body>
<script type="application/json" id="files">${inScript(files)}</script><script type="module">${runner}</script>`;
  const frame = (file: string) => `<!doctype html><meta charset="utf-8"><title>${file}</title>
<script type="importmap">${inScript({ imports })}</script>
<script>globalThis.testEnvironment = ${inScript(environment)};${frameScript}</script>
<script type="module">import(${inScript(`/build/tests/${file}`)}).catch(failed);</script>`;

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
    requested.add(pathname);
    if (request.method === 'POST') {
      let body = '';
      for await (const chunk of request) body += chunk;
      response.end();
      if (pathname === '/report') reports.push(JSON.parse(body) as Report);
      else finish(reports);
      return;
    }
    response.setHeader('cache-control', 'no-store');
    // Without these two a page has no SharedArrayBuffer.
    response.setHeader('cross-origin-opener-policy', 'same-origin');
    response.setHeader('cross-origin-embedder-policy', 'require-corp');
    const file = decodeURIComponent(search.slice(1));
    if (pathname === '/' || (pathname === '/frame' && files.includes(file))) {
      response.setHeader('content-type', 'text/html');
      response.end(pathname === '/' ? page : frame(file));
      return;
    }
    // Examples find a library where npm installs it.
    const path = normalize(pathname).replace(/^\/node_modules\/(?=onnxruntime-web\/)/, '/.libraries/node_modules/');
    if (/^\/examples\/[\w-]+\.html$/.test(path)) {
      response.setHeader('content-type', 'text/html');
      response.end(readFileSync(root + path));
      return;
    }
    const type = types[extname(path)];
    try {
      if (
        type === undefined ||
        !/^\/(dist|build|docs|\.libraries|\.pyodide|tests\/wasm\/real|tests\/conformance\/plain)\//.test(path)
      )
        throw new Error('not served');
      const body = readFileSync(root + path);
      response.setHeader('content-type', type);
      response.end(body);
    } catch {
      response.statusCode = 404;
      response.end();
    }
  };

  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/`, requested, finished, close };
}
