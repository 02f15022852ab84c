/** The server of examples/python-server with a model that waits for the test: refusals, exceptions and the end. */

import { once } from 'node:events';
import { connect } from 'node:net';
import type { Writable } from 'node:stream';
import { equal, ok } from '../assert.js';
import { testWith, unless } from '../harness.js';
import { probe } from '../interop/python/available.js';
import { type Running, until, withServer } from './running-server.js';

const { missing } = probe('numpy');
const noSignals = unless(process.platform !== 'win32', 'Windows cannot ask a process to end');
const program = './children/held-server.js';

/** Lets the model answer (`.`) or raise (`!`). */
const tell = ({ process: child }: Running, signs: string): void => void (child.stdin as Writable).write(signs);

const oneWaits = ({ send }: Running): Promise<void> => until(async () => (await send('/health')).body.waiting === 1);

testWith(missing, 'a full queue refuses with 503 and a time to come back, and loses nothing', async () => {
  await withServer(program, {}, async (server) => {
    const accepted = [0, 1].map(() => server.send('/predict', Uint8Array.of(3, 4)));
    await oneWaits(server);
    for (let i = 0; i < 3; i++) {
      const { status, headers, body } = await server.send('/predict', Uint8Array.of(5, 6));
      equal([status, headers['retry-after'], body], [503, '1', { error: 'Too many requests wait' }]);
    }
    tell(server, '..');
    for (const { status, body } of await Promise.all(accepted)) equal([status, body], [200, { scores: [6, 8] }]);
    tell(server, '.');
    equal((await server.send('/predict', Uint8Array.of(5, 6))).body, { scores: [10, 12] });
  });
});

testWith(missing, 'a model that raises: 500, a traceback in the log, then 200', async () => {
  await withServer(program, {}, async (server) => {
    for (const [sign, status, body] of [
      ['!', 500, { error: 'The model failed' }],
      ['.', 200, { scores: [2, 4] }],
    ] as const) {
      tell(server, sign);
      const answer = await server.send('/predict', Uint8Array.of(1, 2));
      equal([answer.status, answer.body], [status, body]);
    }
    await until(() => server.errors().includes('ValueError: no such image'));
    ok(server.errors().includes('in predict'), server.errors());
  });
});

testWith(noSignals || missing, 'SIGTERM meanwhile: health is 503, others find no server', async () => {
  await withServer(program, {}, async (server) => {
    const { process: child, port } = server;
    const exit = once(child, 'exit');
    const socket = connect(port).setEncoding('utf8');
    let text = '';
    socket.on('data', (more: string) => {
      text += more;
    });
    socket.write('POST /predict HTTP/1.1\r\nhost: here\r\ncontent-length: 2\r\n\r\n\x01\x02');
    const other = server.send('/predict', Uint8Array.of(1, 2), 'new');
    await oneWaits(server);
    child.kill('SIGTERM');
    await until(() =>
      server.send('/health', undefined, 'new').then(
        () => false,
        (error) => error.code === 'ECONNREFUSED',
      ),
    );
    socket.write('GET /health HTTP/1.1\r\nhost: here\r\n\r\n'); // on the connection whose request is not answered yet
    tell(server, '..');
    await once(socket, 'end');
    const answers = text.split(/(?=HTTP\/1\.1 )/).map((answer) => answer.slice(9, 12));
    equal(answers, ['200', '503'], text);
    equal((await other).body, { scores: [2, 4] });
    equal(await exit, [0, null]);
  });
});
