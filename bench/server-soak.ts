/**
 * The memory of examples/python-server at full load. The exit code is not zero if the memory grew.
 *
 *   npm run soak -- server               # a minute
 *   npm run soak -- server --minutes 60  # writes bench/results/server-soak.md
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { agent, CONNECTIONS, load } from './drivers/server-client.js';
import { describeMachine } from './machine.js';
import { median } from './runs.js';

const SAMPLES = 60;
/** The median of the last quarter beside that of the second. The first quarter is the warm-up. */
const LIMIT = 1.05;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, report: { type: 'string', default: '' } },
});
const seconds = Number(values.seconds);

interface Sample {
  readonly second: number;
  readonly answers: number;
  /** Resident memory of the server, in MiB. */
  readonly memory: number;
  /** What /health says. */
  readonly health: Record<'storages' | 'imports' | 'objects', number>;
}

const program = fileURLToPath(new URL('../examples/python-server/torch.js', import.meta.url));
const server = spawn(process.execPath, [program], {
  env: { ...process.env, PORT: '0' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
process.on('exit', () => server.kill('SIGKILL'));
const ended = once(server, 'exit');
const [line] = (await once(createInterface(server.stdout), 'line')) as [string];
const port = Number(line.split(' ').at(-1));

const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

let answers = 0;
let isOver = false;
const running = load(
  port,
  () => isOver,
  () => answers++,
);
const samples: Sample[] = [];
const start = performance.now();

async function watch(): Promise<void> {
  for (let i = 1; i <= SAMPLES; i++) {
    await wait(start + (i * seconds * 1000) / SAMPLES - performance.now());
    const health = (await fetch(`http://127.0.0.1:${port}/health`).then((answer) => answer.json())) as Sample['health'];
    const second = Math.round((performance.now() - start) / 1000);
    samples.push({ second, answers, memory: memoryOf(server.pid as number), health });
    console.log(JSON.stringify(samples.at(-1)));
  }
  isOver = true;
}
const watched = watch();
// A failed request ends the soak at once.
await Promise.race([running, watched]);
await Promise.all([running, watched]);
agent.destroy();
server.kill('SIGTERM');
const [code] = (await ended) as [number | null];

const quarter = (i: number): number =>
  median(samples.slice((i * SAMPLES) / 4, ((i + 1) * SAMPLES) / 4).map(({ memory }) => memory));
const ratio = quarter(3) / quarter(1);
const holds = ratio <= LIMIT;
const rows = samples
  .filter((_, i) => i % 4 === 3)
  .map(({ second, answers: count, memory, health }) => {
    const { storages, imports, objects } = health;
    return `| ${second} | ${count} | ${memory.toFixed(0)} | ${storages} | ${imports} | ${objects} |`;
  });
const minutes = seconds / 60;
const report = `# Soak: an inference server

\`npm run soak -- server --minutes ${minutes}\`, ${new Date().toISOString().slice(0, 10)}; ${describeMachine()}, load ${(loadavg()[2] as number).toFixed(1)}; Node ${process.versions.node}.

\`examples/python-server\`, with its PyTorch model in the process, answered ${answers} images of 224 × 224 × 3 bytes over ${CONNECTIONS} connections that
were busy all the time, for ${minutes} minutes, with no failed request. It ended with code ${code} after SIGTERM.

| resident memory, MiB | |
|---|---|
| median of the second quarter | ${quarter(1).toFixed(0)} |
| median of the last quarter | ${quarter(3).toFixed(0)} |
| ratio | ${ratio.toFixed(3)} |
| at most | ${LIMIT} |
| holds | ${holds ? 'yes' : '**no**'} |

Storages, imports and Python objects are those of the requests under way in that moment.

| seconds | answers | resident memory, MiB | storages | imports | Python objects |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
if (values.report !== '') writeFileSync(values.report, report);
console.log(report);
process.exitCode = holds && code === 0 ? 0 : 1;
