/** Node with Python processes over pipes: server-pipe.js <python> <folder of scripts> <how many>. */

import { createServer } from 'node:http';
import { join } from 'node:path';
import { PipeChild } from './pipe-child.js';

const [python, folder, count] = process.argv.slice(2) as [string, string, string];
const children = Array.from({ length: Number(count) }, () => new PipeChild(python, join(folder, 'server_child.py')));
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const [least] = [...children].sort((a, b) => a.pending - b.pending) as [PipeChild];
  const scores = request.method === 'POST' ? await least.send(Buffer.concat(chunks)) : [];
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ scores }));
});
server.listen(Number(process.env.PORT));
process.once('SIGTERM', () => {
  for (const child of children) child.end();
  server.close();
});
