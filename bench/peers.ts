/** The other packages that run Python in the process of Node, compiled into .cache/python-peers. */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const venvPython = `${root}.venv/bin/python`;

/** What an expression prints in the Python of .venv. */
export const ask = (code: string): string => execFileSync(venvPython, ['-c', code], { encoding: 'utf8' }).trim();

const [libraries, programs, pythonVersion] = ask(
  'import sysconfig; print(*map(sysconfig.get_config_var, ["LIBDIR", "BINDIR", "py_version_short"]))',
).split(' ') as [string, string, string];
const packages = ask('import site; print(site.getsitepackages()[0])');
/** The headers of this Node, if its distribution has them. Otherwise node-gyp would fetch them. */
const prefix = dirname(dirname(process.execPath));
const nodedir = existsSync(`${prefix}/include/node/node_api.h`) ? { npm_config_nodedir: prefix } : {};

/** In which the peers are compiled and run. Our package finds the virtual environment by itself. */
export const environment = {
  ...process.env,
  ...nodedir,
  PATH: `${programs}:${process.env.PATH}`, // python3-config of that Python
  PKG_CONFIG_PATH: `${libraries}/pkgconfig`,
  LD_LIBRARY_PATH: libraries,
  PYTHONPATH: packages,
};

export interface Peer {
  readonly name: string;
  readonly version: string;
  /** What shows that it is compiled. */
  readonly addon: string;
  readonly overrides: Record<string, string>;
  /** The arguments of npm that compile it. */
  readonly build: readonly string[];
}

export const peers: readonly Peer[] = [
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
export function install({ name, version, addon, overrides, build }: Peer): { folder: string; problem: string | null } {
  const folder = `${root}.cache/python-peers/${name}-${pythonVersion}`; // compiled for one Python
  const inside = `${folder}/node_modules/${name}`;
  if (existsSync(`${inside}/${addon}`)) return { folder, problem: null };
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    `${folder}/package.json`,
    JSON.stringify({ private: true, dependencies: { [name]: version }, overrides }),
  );
  const installed = npm(['install', '--no-audit', '--no-fund', '--ignore-scripts'], folder);
  return { folder, problem: installed ?? npm(build, inside) };
}
