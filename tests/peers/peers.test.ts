/**
 * Python libraries that are large, or that few programs use. Each runs in a process of its own, so that one that ends the
 * process is a result. The tables of docs/compatibility.md are what a run finds.
 *
 *   UPDATE=1 npm run test:peers        writes the tables
 *   PEER=Warp npm run test:peers       runs one library
 */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cellsOf, type PeerRow } from '../../src/cli/python-matrix/cells.js';
import { type Finding, keyOf, type Line } from '../../src/cli/python-matrix/lines.js';
import { morePeers } from '../../src/cli/python-matrix/more-peers.js';
import { equal, ok } from '../assert.js';
import { runtimeArgs } from '../child.js';
import { runtime, test } from '../harness.js';
import { checkPage, type Found, rowsOf } from './page.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

interface Run {
  readonly version: string;
  readonly found: readonly Found[];
}

async function runPeer(peer: PeerRow): Promise<Run> {
  const command = ['conformance', '--python', peer.name, '--venv', `${root}.venv-peers`, '--serve'];
  const child = spawn(process.execPath, [...runtimeArgs[runtime], `${root}dist/cli/main.js`, ...command]);
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (errors += chunk));
  const ended = await new Promise((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)));
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  const messages = lines.map((line) => JSON.parse(line) as Line);
  const last = messages.findLast(({ begin }) => begin !== undefined)?.begin;
  equal(ended, 0, `the process ended during ${last}\n${errors.slice(-2000)}`);
  equal(messages.find(({ missing }) => missing !== undefined)?.missing, undefined, 'not installed in .venv-peers');
  const findings = messages.filter(({ outcomes }) => outcomes !== undefined) as Finding[];
  const next = new Map<string, number>();
  const found = cellsOf(peer).flatMap((cell): Found[] => {
    const at = next.get(keyOf(cell)) ?? 0;
    next.set(keyOf(cell), at + 1);
    const outcome = findings.find(({ key }) => key === keyOf(cell))?.outcomes[at];
    return outcome === undefined ? [] : [{ cell, ...outcome }];
  });
  equal(found.length, cellsOf(peer).length, 'every cell ran');
  return { version: messages.find(({ version }) => version !== undefined)?.version as string, found };
}

for (const peer of morePeers.filter(({ name }) => (process.env.PEER ?? name) === name)) {
  test(`${peer.title}: exchanges what docs/compatibility.md says`, async () => {
    const { version, found } = await runPeer(peer);
    const broken = found.filter(({ outcome }) => outcome.includes('broken'));
    const texts = broken.map(
      ({ cell, outcome }) => `${keyOf(cell)} ${cell.dtype.name} ${cell.layout.name}: ${outcome}`,
    );
    equal(texts, [], 'values, memory and lifetimes are right');
    ok(
      found.some(({ outcome }) => /^(shared|copied)/.test(outcome)),
      'something was exchanged',
    );
    checkPage(peer, rowsOf(peer, version, found));
  });
}
