/**
 * 4 MiB of float32 between JavaScript and NumPy, against the other packages that run Python in the process of Node.
 * They are compiled into .cache/python-peers. Each runs in a separate process, because a process has one Python.
 *
 *   npm run bench -- python-peers
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.js';
import { summarise } from './measure.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ROUNDS = 4;

const venvPython = `${root}.venv/bin/python`;
const ask = (code: string) => execFileSync(venvPython, ['-c', code], { encoding: 'utf8' }).trim();
const libraries = ask('import sysconfig; print(sysconfig.get_config_var("LIBDIR"))');
const packages = ask('import site; print(site.getsitepackages()[0])');
/** The headers of this Node, if its distribution has them. Otherwise node-gyp would fetch them. */
const prefix = dirname(dirname(process.execPath));
const nodedir = existsSync(`${prefix}/include/node/node_api.h`) ? { npm_config_nodedir: prefix } : {};
const environment = {
  ...process.env,
  ...nodedir,
  PKG_CONFIG_PATH: `${libraries}/pkgconfig`,
  LD_LIBRARY_PATH: libraries,
  PYTHONPATH: packages,
};

interface Peer {
  readonly name: string;
  readonly version: string;
  /** The compiled addon. */
  readonly addon: string;
  readonly overrides: Record<string, string>;
  readonly build: readonly string[];
}

const peers: readonly Peer[] = [
  {
    name: 'pymport',
    version: '1.5.1',
    addon: 'lib/binding',
    // It compiles as C++14, but newer versions of this header need C++17.
    overrides: { 'node-addon-api': '8.0.0' },
    build: [
      'exec',
      '--',
      'node-pre-gyp',
      'rebuild',
      '--build-from-source',
      ...(nodedir.npm_config_nodedir ? [`--nodedir=${prefix}`] : []),
    ],
  },
  {
    name: 'node-calls-python',
    version: '1.11.1',
    addon: 'build/Release',
    overrides: {},
    build: ['rebuild', '--foreground-scripts'],
  },
];

function npm(args: readonly string[], cwd: string): string | null {
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd, env: environment, encoding: 'utf8' });
  if (status === 0) return null;
  const lines = `${stdout}${stderr}`.split('\n');
  return lines.find((line) => /error:|Error:|ERR!.*stack/.test(line)) ?? lines.at(-1) ?? `npm ended with ${status}`;
}

/** The folder of an installed peer, or the reason why it could not be installed. */
function install({ name, version, addon, overrides, build }: Peer): { folder: string; problem: string | null } {
  const folder = `${root}.cache/python-peers/${name}`;
  const inside = `${folder}/node_modules/${name}`;
  if (existsSync(`${inside}/${addon}`)) return { folder, problem: null };
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    `${folder}/package.json`,
    JSON.stringify({ private: true, dependencies: { [name]: version }, overrides }),
  );
  const problem = npm(['install', '--no-audit', '--no-fund', '--ignore-scripts'], folder) ?? npm(build, inside);
  return { folder, problem };
}

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
