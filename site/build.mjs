// Builds the site into build/site: the reference, the pages, the explorer, the core for live cells, and llms.txt. Fails on
// a link that leads nowhere.

import { copyFileSync, cpSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build as bundle } from 'esbuild';
import { build } from 'vitepress';
import { buildExplorer } from '../scripts/lib/explorer.mjs';
import config from './.vitepress/config.mjs';
import { completeSite } from './lib/files.mjs';
import { writeLlms } from './lib/llms.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const site = `${root}build/site`;

await build(fileURLToPath(new URL('.', import.meta.url)));
cpSync(`${root}docs/pictures`, `${site}/docs/pictures`, { recursive: true });
mkdirSync(`${site}/explorer`, { recursive: true });
await buildExplorer();
copyFileSync(`${root}build/explorer/index.html`, `${site}/explorer/index.html`);
await bundle({
  stdin: { contents: "export * from 'dlpack';", resolveDir: root },
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  outfile: `${site}/live/dlpack.js`,
  logLevel: 'error',
});
copyFileSync(new URL('live-printer.js', import.meta.url), `${site}/live/printer.js`);
writeLlms(site, root, config.themeConfig.sidebar);
const dead = completeSite(site, root, config.base);
if (dead.length > 0) throw new Error(`${dead.length} links lead nowhere:\n${dead.join('\n')}`);
