import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { testWith, unless } from '../harness.js';
import { makeProject, meansModel, missing, type Started, start } from './server-project.js';

interface Sharp {
  png(): { toBuffer(): Promise<Buffer> };
}
const load = createRequire(fileURLToPath(new URL('../../../.libraries/package.json', import.meta.url)));

/** An image of one colour. */
const imageOf = (background: string): Promise<Buffer> => {
  const sharp = load('sharp') as (options: object) => Sharp;
  return sharp({ create: { width: 20, height: 10, channels: 3, background } })
    .png()
    .toBuffer();
};

async function post(url: string, body: Uint8Array | string): Promise<readonly [number, unknown]> {
  const response = await fetch(url, { method: 'POST', body: body as never });
  return [response.status, await response.json()];
}

/** A test with the example server, which ends with 0 when it is asked to. */
const serverTest = (name: string, body: (server: Started) => Promise<void>) => {
  const lacks = unless(process.platform !== 'win32', 'Windows cannot ask a process to end') || missing;
  testWith(lacks, `the example server: ${name}`, async () => {
    const folder = makeProject(meansModel(8));
    try {
      const server = await start(process.execPath, ['main.js', 'model.onnx'], folder);
      const exit = once(server.child, 'exit');
      try {
        await body(server);
      } finally {
        if (!server.child.killed) server.child.kill('SIGTERM');
      }
      equal(await exit, [0, null]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
};

serverTest('many images at once get the answers that belong to them', async ({ url }) => {
  const images = await Promise.all(['#c80000', '#00c800', '#0000c8'].map(imageOf));
  const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => post(url, images[i % 3] as Buffer)));
  equal(
    answers,
    answers.map((_, i) => [200, { class: i % 3, score: 200 }]),
  );
});

serverTest('what is no image is refused, and the server goes on', async ({ url }) => {
  const [status, body] = await post(url, 'text');
  equal(status, 400);
  ok(typeof (body as { error: string }).error === 'string');
  equal((await fetch(url)).status, 405);
  equal((await post(url, new Uint8Array(17 * 2 ** 20)))[0], 413);
  equal(await post(url, await imageOf('#0000c8')), [200, { class: 2, score: 200 }]);
});

serverTest('a request that has begun is answered before the server ends', async ({ url, child }) => {
  const image = await imageOf('#00c800');
  const upload = request(url, { method: 'POST', headers: { expect: '100-continue', 'content-length': image.length } });
  upload.flushHeaders();
  await once(upload, 'continue'); // the server has the request
  child.kill('SIGTERM');
  upload.end(image);
  const [response] = await once(upload, 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  equal(JSON.parse(text), { class: 1, score: 200 });
});
