/** Files that are read in ranges: Blobs, and URLs of servers that behave and that do not. */

import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pathToFileURL } from 'node:url';
import { Tensor } from 'dlpack';
import {
  openGguf,
  openNpy,
  openNpz,
  openSafetensors,
  openSafetensorsSync,
  type Progress,
  writeNpy,
  writeSafetensors,
} from 'dlpack/files';
import { equal, ok, rejection, rejects, throws } from '../assert.js';
import { test } from '../harness.js';
import { newPath, safetensors } from './make.js';

const big = Tensor.from(Float32Array.from({ length: 100_000 }, (_, i) => i));
const path = newPath('model');
await writeSafetensors(path, { small: Tensor.from([1, 2]), big }, { metadata: { k: 'v' } });
const bytes = readFileSync(path);

/** Serves the file with ranges. */
function serveRange({ headers }: IncomingMessage, response: ServerResponse, extra: Record<string, string> = {}): void {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
  const end = Math.min(Number(to), bytes.length - 1);
  response.writeHead(206, { 'content-range': `bytes ${from}-${end}/${bytes.length}`, etag: '"1"', ...extra });
  response.end(bytes.subarray(Number(from), end + 1));
}

/** The URL of a server while `action` runs. */
async function served(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  action: (url: URL) => Promise<void>,
): Promise<void> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await action(new URL(`http://127.0.0.1:${port}/model.safetensors`));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test('a Blob and a File', async () => {
  using file = await openSafetensors(new File([bytes], 'model.safetensors'));
  equal([file.path, { ...file.metadata }, file.info('big').isShared], ['model.safetensors', { k: 'v' }, false]);
  const tensor = await file.getAsync('big');
  equal([tensor.shape, tensor.get(99_999), tensor.isCopied, tensor.isReadOnly], [[100_000], 99_999, true, false]);
  throws('BufferError', 'use getAsync()', () => file.get('big'));
  await rejects('ValueError', 'one of the 2', file.getAsync('none'));
  const all = await file.getAllAsync();
  equal([...all.keys()].sort(), ['big', 'small']);
});

test('a URL that the program changes after it was opened', async () => {
  await served(serveRange, async (url) => {
    const { href } = url;
    using file = await openSafetensors(url);
    url.pathname = '/another';
    url.port = '1';
    equal(file.path, href);
    equal((await file.getAsync('big')).get(99_999), 99_999);
  });
});

test('a URL is read in ranges: the header, then only the requested tensors', async () => {
  const asked: string[] = [];
  await served(
    (request, response) => {
      asked.push(request.headers.range ?? '');
      serveRange(request, response);
    },
    async (url) => {
      using file = await openSafetensors(url);
      equal((await file.getAsync('small')).toArray(), [1, 2]);
      const progress: Progress[] = [];
      equal((await file.getAsync('big', { onProgress: (p) => void progress.push(p) })).get(5), 5);
      ok(progress.length > 0 && progress.every(({ name, total }) => name === 'big' && total === 400_000));
      equal(progress.at(-1)?.loaded, 400_000);
      const { offset, nbytes } = file.info('big');
      equal(asked[0], 'bytes=0-65535');
      equal(asked.at(-1), `bytes=${offset}-${(offset as number) + nbytes - 1}`);
    },
  );
});

test('a server without ranges sends everything once', async () => {
  let requests = 0;
  const whole = (_: IncomingMessage, response: ServerResponse) => {
    requests++;
    response.writeHead(200, { 'content-length': String(bytes.length) });
    response.end(bytes);
  };
  await served(whole, async (url) => {
    using file = await openSafetensors(url);
    equal((await file.getAsync('big')).get(99_999), 99_999);
    equal(requests, 1);
  });
});

test('npy by URL', async () => {
  const array = newPath('x.npy');
  await writeNpy(
    array,
    Tensor.from([
      [1, 2],
      [3, 4],
    ]).transpose(),
  );
  equal((await openNpy(new Blob([readFileSync(array)]))).toArray(), [
    [1, 3],
    [2, 4],
  ]);
});

test('servers that refuse, lie or change the file', async () => {
  const statuses = { 404: 'ENOENT', 403: 'EACCES', 500: 'EIO' } as const;
  for (const [status, code] of Object.entries(statuses)) {
    const refuse = (_: IncomingMessage, response: ServerResponse) => void response.writeHead(Number(status)).end();
    await served(refuse, async (url) => {
      equal((await rejects('FileError', `answered ${status}`, openSafetensors(url))).code, code);
    });
  }
  let version = 0;
  const changing = (request: IncomingMessage, response: ServerResponse) =>
    serveRange(request, response, { etag: `"${version++}"` });
  await served(changing, async (url) => {
    using file = await openSafetensors(url);
    equal((await rejects('FileError', 'changed on the server', file.getAsync('big'))).code, 'ESTALE');
  });
  const short = (request: IncomingMessage, response: ServerResponse) => {
    const isHeader = request.headers.range === 'bytes=0-65535';
    if (isHeader) return serveRange(request, response);
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    response.writeHead(206, { etag: '"1"', 'content-range': `bytes ${from}-${to}/${bytes.length}` });
    response.end(bytes.subarray(0, 100));
  };
  await served(short, async (url) => {
    using file = await openSafetensors(url);
    await rejects('FileFormatError', 'but 100 arrived', file.getAsync('big'));
  });
  const sizeless = (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(206, { 'content-range': 'bytes 0-7/*' }).end('12345678');
  await served(sizeless, async (url) => {
    await rejects('FileError', 'without the size', openSafetensors(url));
  });
  const moved = (request: IncomingMessage, response: ServerResponse) => {
    const isHeader = request.headers.range === 'bytes=0-65535';
    serveRange(request, response, isHeader ? {} : { 'content-range': `bytes 8-15/${bytes.length}` });
  };
  await served(moved, async (url) => {
    using file = await openSafetensors(url);
    equal((await rejects('FileError', "answered 'bytes 8-15/", file.getAsync('small'))).code, 'EPROTO');
  });
  // The bytes of another part of the file, with nothing that says so.
  const silent = (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.range === 'bytes=0-65535') return serveRange(request, response);
    response.writeHead(206, { etag: '"1"' }).end(bytes.subarray(0, 400_000));
  };
  await served(silent, async (url) => {
    using file = await openSafetensors(url);
    equal((await rejects('FileError', "answered 'no range'", file.getAsync('big'))).code, 'EPROTO');
  });
  const closed = new URL('http://127.0.0.1:1/model');
  await rejects('FileError', 'could not read the bytes', openSafetensors(closed));
  // What Node throws for a host with several addresses that all refuse.
  const errors = [new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED 127.0.0.1:1')];
  const cause = Object.assign(new AggregateError(errors), { code: 'ECONNREFUSED' });
  const { fetch } = globalThis;
  globalThis.fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
  try {
    equal((await rejects('FileError', 'connect ECONNREFUSED ::1:1', openSafetensors(closed))).code, 'ECONNREFUSED');
    for (const errors of [[], null, ['a part']]) {
      globalThis.fetch = () => Promise.reject(Object.assign(new Error('all of it'), { errors }));
      await rejects('FileError', 'could not read the bytes: Error: all of it', openSafetensors(closed));
    }
  } finally {
    globalThis.fetch = fetch;
  }
});

test('bytes that end in the middle, because the connection or the file of a Blob went away', async () => {
  const cut = (status: number) => (_: IncomingMessage, response: ServerResponse) => {
    const range = `bytes 0-65535/${bytes.length}`;
    response.writeHead(status, { 'content-range': range, 'content-length': status === 206 ? 65536 : bytes.length });
    response.write(bytes.subarray(0, 100), () => response.destroy());
  };
  for (const status of [200, 206]) {
    await served(cut(status), async (url) => void (await rejects('FileError', 'could not read', openSafetensors(url))));
  }
  const lost = new Blob([bytes]);
  lost.slice = () => {
    const broken = new Blob([]);
    broken.stream = () => new ReadableStream({ start: (controller) => controller.error(new TypeError('lost')) });
    return broken;
  };
  equal((await rejects('FileError', 'TypeError: lost', openSafetensors(lost))).code, 'EIO');
});

test('file: URLs that name no path', async () => {
  for (const url of ['file://elsewhere/model', 'file:///a%2Fb']) {
    if (process.platform === 'win32' && url.includes('elsewhere')) continue; // a network share
    await rejects('ValueError', 'a path on this machine', openSafetensors(new URL(url)));
  }
});

test('a signal stops a read, before it starts and in the middle', async () => {
  using file = await openSafetensors(new Blob([bytes]));
  const before = AbortSignal.abort(new Error('no longer needed'));
  equal(await file.getAsync('big', { signal: before }).catch((error: Error) => error.message), 'no longer needed');
  const slow = (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.range === 'bytes=0-65535') return serveRange(request, response);
    const range = `bytes ${request.headers.range?.slice('bytes='.length)}/${bytes.length}`;
    response.writeHead(206, { etag: '"1"', 'content-range': range });
    response.write(bytes.subarray(0, 100)); // and never the rest
  };
  await served(slow, async (url) => {
    using remote = await openSafetensors(url);
    const controller = new AbortController();
    const reading = remote.getAsync('big', {
      signal: controller.signal,
      onProgress: () => controller.abort(new Error('enough')),
    });
    const outcome = await reading.then(
      () => 'read',
      () => 'stopped',
    );
    equal(outcome, 'stopped');
  });
});

test('a signal stops the opening, whatever the server or the file does', async () => {
  const reason = new Error('too slow');
  const openers = [openSafetensors, openNpy, openNpz, openGguf] as const;
  const requested: (() => void)[] = [];
  await served(
    () => requested.pop()?.(), // never an answer
    async (url) => {
      for (const open of openers) {
        const controller = new AbortController();
        requested.push(() => controller.abort(reason));
        equal(await rejection(open(url, { signal: controller.signal })), reason);
      }
    },
  );
  const signal = AbortSignal.abort(reason);
  for (const open of openers) {
    equal(await rejection(open(new Blob([bytes]), { signal })), reason);
    equal(await rejection(open(pathToFileURL(path), { signal })), reason);
  }
  const wrong = { signal: {} as AbortSignal };
  await rejects('TypeError', 'an AbortSignal for signal', openSafetensors(path, wrong));
  throws('TypeError', "Expected mode for options but received 'signal'", () =>
    openSafetensorsSync(path, { signal } as object),
  );
});

test('a server without ranges that sends too much, or never ends', async () => {
  let isEnded = false;
  const endless = (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200);
    response.on('close', () => {
      isEnded = true;
    });
    // A write to a destroyed response calls back before 'close' can come, so an error has to end this, too.
    const more = (error?: Error | null): void => {
      if (!isEnded && !error) response.write(new Uint8Array(1 << 16), more);
    };
    more();
  };
  await served(endless, async (url) => {
    const error = await rejects('FileError', 'pass a larger maxBytes', openSafetensors(url, { maxBytes: 1 << 20 }));
    equal(error.code, 'EFBIG');
    while (!isEnded) await new Promise((resolve) => setTimeout(resolve, 1));
  });
  const huge = (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { 'content-length': String(2 ** 40) });
    response.write('x');
  };
  await served(huge, async (url) => {
    await rejects('FileError', 'sends more than 1073741824 bytes', openSafetensors(url));
  });
});

test('shards by URL are requested a few at a time, and none after an error', async () => {
  const count = 100;
  const shard = safetensors({}, new Uint8Array());
  const names = Array.from({ length: count }, (_, i) => [`t${i}`, `${i}.safetensors`]);
  const index = JSON.stringify({ weight_map: Object.fromEntries(names) });
  let [open, most, requests] = [0, 0, 0];
  const one = (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/index.json') return void response.writeHead(200).end(index);
    requests++;
    most = Math.max(most, ++open);
    setTimeout(() => {
      open--;
      if (request.url === '/20.safetensors') response.writeHead(404).end();
      else response.writeHead(200).end(shard);
    }, 20);
  };
  await served(one, async (url) => {
    await rejects('FileError', '20.safetensors: the server answered 404', openSafetensors(new URL('/index.json', url)));
    ok(most <= 8 && requests < 40, `${most} at a time, ${requests} in all`);
  });
});

test('shards by URL, and closing during a read', async () => {
  const index = JSON.stringify({ weight_map: { small: 'a.safetensors', big: 'b.safetensors' } });
  await served(
    (request, response) => {
      if (request.url === '/index.json') response.writeHead(200).end(index);
      else serveRange(request, response);
    },
    async (url) => {
      const file = await openSafetensors(new URL('/index.json', url));
      equal(file.names, ['small', 'big']);
      const reading = file.getAsync('big');
      file.dispose();
      equal((await reading.catch((error: { tag: string }) => error)) !== undefined, true);
      await rejects('DisposedError', 'was disposed', file.getAsync('small'));
    },
  );
});
