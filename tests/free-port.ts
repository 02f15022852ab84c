/** A port for a server that a test starts. */

import { createServer } from 'node:net';

/** Systems give ports from here on to programs that ask for any. */
const FIRST_GIVEN = 32_768;
const FIRST = 20_000;

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' || error.code === 'EACCES' ? resolve(false) : reject(error),
    );
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** A port that is free now, and that the system does not give to a program that asks for any port. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (FIRST_GIVEN - FIRST));
    if (await isFree(port)) return port;
  }
}
