// Bundlers, test runners and package managers that tests/bundlers runs, and the packed package, in a separate folder.
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { pack } from './pack.mjs';
import { at, online, run, step, whenChanged } from './steps.mjs';
import { targets } from './targets.mjs';

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const tools = [
  'rollup@4.68.2',
  '@rollup/plugin-node-resolve@16.0.3',
  '@rollup/plugin-commonjs@29.0.3',
  'vite@8.3.8',
  'webpack@5.112.2',
  'node-loader@2.1.0',
  '@vercel/nft@1.11.1',
  'postject@1.0.0-alpha.6',
  'next@16.4.6',
  'react@19.3.1',
  'react-dom@19.3.1',
  'jest@30.5.2',
  '@babel/core@7.28.5',
  '@babel/plugin-transform-modules-commonjs@7.27.1',
  '@react-native/babel-preset@0.87.1',
  'hermes-compiler@250829098.0.17',
  'hermes-engine-cli@0.12.0',
  'vitest@4.1.12',
  'typescript54@npm:typescript@5.4.5',
  'typescript59@npm:typescript@5.9.3',
  'typescript60@npm:typescript@6.0.3',
  '@types/node@20.19.43',
  '@arethetypeswrong/cli@0.18.5',
  'pnpm@10.34.8',
  '@yarnpkg/cli-dist@4.18.1',
];

export const installBundlers = () =>
  step('bundlers, test runners and package managers in .bundlers', () =>
    whenChanged('bundlers', ['scripts/lib/bundlers.mjs'], ['.bundlers/node_modules/webpack'], async () => {
      mkdirSync(at('.bundlers'), { recursive: true });
      writeFileSync(at('.bundlers/package.json'), '{ "private": true }\n');
      const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'];
      await online(() => run(npm, ['install', ...flags, ...tools], { cwd: at('.bundlers') }));
    }),
  );

/** The package as a user installs it, in .bundlers/node_modules. Addons that were not built here are empty files. */
export const packForBundlers = () =>
  step('the packed package in .bundlers', async () => {
    const folder = at('.bundlers/packed');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    await run('tar', ['-xzf', `${folder}/${await pack(folder)}`, '-C', folder]);
    for (const { name } of targets) {
      const file = `${folder}/package/prebuilds/${name}/dlpack.node`;
      if (existsSync(file)) continue;
      mkdirSync(`${folder}/package/prebuilds/${name}`, { recursive: true });
      writeFileSync(file, '');
    }
    await run('tar', ['-czf', `${folder}/dlpack.tgz`, '-C', folder, 'package']);
    rmSync(at('.bundlers/node_modules/dlpack'), { recursive: true, force: true });
    cpSync(`${folder}/package`, at('.bundlers/node_modules/dlpack'), { recursive: true });
  });
