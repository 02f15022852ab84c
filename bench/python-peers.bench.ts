/**
 * 4 MiB of float32 between JavaScript and NumPy, against the other packages that run Python in the process of Node.
 * They are compiled into .cache/python-peers. Each runs in a separate process, because a process has one Python.
 *
 *   npm run bench -- python-peers
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.js';
import { summarise } from './measure.js';
import { ask, environment, install, peers } from './peers.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ROUNDS = 4;

/** The samples of every method, by name. */
function measure(library: string, folder: string): Record<string, number[]> {
  const script = fileURLToPath(new URL('./drivers/python-peers.js', import.meta.url));
  // Our package finds the virtual environment by itself.
  const env = library === 'dlpack' ? process.env : environment;
  return JSON.parse(execFileSync(process.execPath, [script, library, folder], { encoding: 'utf8', env, cwd: root }));
}

const times = new Map<string, number[]>();
const problems: string[] = [];
const folders = new Map([['dlpack', '']]);
for (const peer of peers) {
  const { folder, problem } = install(peer);
  if (problem === null) folders.set(peer.name, folder);
  else problems.push(`${peer.name} ${peer.version} could not be compiled here: \`${problem.trim()}\``);
}
for (let round = 0; round < ROUNDS; round++) {
  for (const [library, folder] of folders) {
    for (const [way, samples] of Object.entries(measure(library, folder))) {
      const key = `${library}|${way}`;
      times.set(key, [...(times.get(key) ?? []), ...samples]);
    }
  }
}

const micro = (nanoseconds: number) => (nanoseconds / 1000).toFixed(nanoseconds < 100_000 ? 1 : 0);
const cells = (key: string) => {
  const { median, min } = summarise(times.get(key) as number[]);
  return { median, text: `${micro(median)} | ${micro(min)}` };
};
const pairs: readonly (readonly [ours: string, theirs: string])[] = [
  ['Tensor to NumPy', 'Float32Array to NumPy'],
  ['Float32Array to NumPy', 'Float32Array to NumPy'],
  ['NumPy to JavaScript', 'NumPy to JavaScript'],
];
const rows = pairs.flatMap(([ours, theirs]) =>
  peers
    .filter(({ name }) => folders.has(name))
    .map(({ name }) => {
      const [mine, other] = [cells(`dlpack|${ours}`), cells(`${name}|${theirs}`)];
      return `| ${ours} | ${mine.text} | ${name}: ${theirs} | ${other.text} | ${(mine.median / other.median).toFixed(3)} |`;
    }),
);
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const names = peers.filter(({ name }) => folders.has(name)).map((peer) => `${peer.name} ${peer.version}`);
const report = `# 4 MiB to NumPy and back, against other packages for Node

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- python-peers\`; ${describeMachine()}; dlpack ${version}, Node ${process.versions.node}, Python ${ask('import platform; print(platform.python_version())')}, NumPy ${ask('import numpy; print(numpy.__version__)')}${names.length > 0 ? `, ${names.join(', ')}` : ''}.

Microseconds for 4 MiB of float32, until the other side has read two of the elements: medians and least of ${ROUNDS} rounds in which
the packages took turns, each in a process of its own. A Tensor, and a NumPy array on its way here, are shared. A Float32Array is
copied once by dlpack, because its owner could move it, and by node-calls-python, which sends bytes; pymport lends it to a
memoryview. On the way back both others copy the array into bytes, node-calls-python twice.

| dlpack | median | least | other | median | least | ratio |
|---|---|---|---|---|---|---|
${rows.join('\n')}
${problems.length > 0 ? `\n${problems.join('\n')}\n` : ''}`;
writeFileSync(`${root}bench/results/python-peers.md`, report);
console.log(report);
