/** A registry of npm packages with one package, which package managers install by name. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { tools } from './project.js';

export interface Registry {
  readonly url: string;
  readonly version: string;
  close(): void;
}

export async function serveRegistry(): Promise<Registry> {
  const tarball = readFileSync(join(tools, 'packed/dlpack.tgz'));
  const manifest = JSON.parse(readFileSync(join(tools, 'packed/package/package.json'), 'utf8'));
  const server = createServer((request, response) => {
    const { port } = server.address() as AddressInfo;
    if (request.url?.endsWith('.tgz')) {
      response.end(tarball);
    } else if (request.url === '/dlpack') {
      const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
      const shasum = createHash('sha1').update(tarball).digest('hex');
      const dist = { tarball: `http://127.0.0.1:${port}/dlpack/-/dlpack.tgz`, integrity, shasum };
      const { version } = manifest;
      const versions = { [version]: { ...manifest, _id: `dlpack@${version}`, dist } };
      const time = { [version]: '2026-01-01T00:00:00.000Z' };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ name: 'dlpack', 'dist-tags': { latest: version }, versions, time }));
    } else {
      response.statusCode = 404;
      response.end('{}');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, version: manifest.version, close: () => server.close() };
}
