import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ok } from '../assert.js';
import { testWith } from '../harness.js';
import { program, runtimePath, tools, works, write } from './project.js';
import { serveRegistry } from './registry.js';

/** Unlike `run`, it leaves the registry in this process time to answer. */
function start(command: string, args: string[], cwd: string, env: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, NO_COLOR: '1', ...env } });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${command} ${args.join(' ')} ended with ${signal ?? code}\n${output}`));
    });
  });
}

interface Manager {
  readonly name: string;
  readonly files?: Record<string, string>;
  readonly missing?: string | false;
  /** Commands, the last of which runs main.js. */
  readonly commands: readonly (readonly string[])[];
  readonly check?: (folder: string) => void;
}

const node = process.execPath;
const yarn = join(tools, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js');
const pnpm = join(tools, 'node_modules/pnpm/bin/pnpm.cjs');
const bun = runtimePath('bun/bin/bun');
const deno = runtimePath('deno/deno');

const managers: Manager[] = [
  {
    name: 'Yarn without node_modules (PnP)',
    files: {
      'yarn.lock': '',
      '.yarnrc.yml': 'nodeLinker: pnp\nunsafeHttpWhitelist: ["127.0.0.1"]\nenableTelemetry: false\n',
    },
    commands: [
      [node, yarn, 'install'],
      [node, yarn, 'node', 'main.js'],
    ],
    check: (folder) => ok(existsSync(join(folder, '.pnp.cjs')) && !existsSync(join(folder, 'node_modules')), 'PnP'),
  },
  {
    name: 'pnpm',
    commands: [
      [node, pnpm, 'install'],
      [node, 'main.js'],
    ],
  },
  {
    name: 'Bun',
    missing: bun === null && 'Bun in .runtimes',
    commands: [
      [bun as string, 'install'],
      [bun as string, 'main.js'],
      [node, 'main.js'],
    ],
  },
  {
    name: 'Deno',
    missing: deno === null && 'Deno in .runtimes',
    commands: [
      [deno as string, 'install'],
      [deno as string, 'run', '-A', 'main.js'],
      [node, 'main.js'],
    ],
  },
];

for (const { name, files = {}, missing = false, commands, check } of managers) {
  testWith(missing, `${name} installs the package from a registry, without scripts`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dlpack-install-'));
    const registry = await serveRegistry();
    try {
      const manifest = { private: true, type: 'module', dependencies: { dlpack: registry.version } };
      write(folder, { 'package.json': JSON.stringify(manifest), 'main.js': program, ...files });
      const env = {
        npm_config_registry: registry.url,
        NPM_CONFIG_REGISTRY: registry.url,
        YARN_NPM_REGISTRY_SERVER: registry.url,
        YARN_GLOBAL_FOLDER: join(folder, '.yarn'),
        YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
        npm_config_store_dir: join(folder, '.store'),
        npm_config_cache_dir: join(folder, '.cache'),
        BUN_INSTALL_CACHE_DIR: join(folder, '.cache'),
        DENO_DIR: join(folder, '.deno'),
      };
      let output = '';
      for (const [command, ...args] of commands) output = await start(command as string, args, folder, env);
      ok(output.includes(works), output);
      check?.(folder);
    } finally {
      registry.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
