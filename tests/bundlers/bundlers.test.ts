import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { ok } from '../assert.js';
import { test } from '../harness.js';
import { elsewhere, makeProject, node, pageProgram, pageWorks, program, tool, works } from './project.js';

/** Runs a build for Node without the sources, so its folder must contain everything that it needs. */
function checkServer(folder: string, file: string): void {
  elsewhere(folder, (copy) => ok(node([file], copy).includes(works), file));
}

/** Text that a build for a browser does not have: a file with native code, or a module of Node. */
const nativeNames = /\.node["'`]|from ?["'`]node:/;

/** Runs a build for a browser. It is pure JavaScript, so any runtime can run it. */
function checkPage(folder: string, file: string): void {
  const text = readFileSync(join(folder, file), 'utf8');
  ok(!nativeNames.test(text), `${file} names native code`);
  elsewhere(folder, (copy) => ok(node([file], copy).includes(pageWorks), file));
}

for (const format of ['esm', 'cjs'] as const) {
  test(`esbuild for Node, ${format}: the addon is copied`, () => {
    const project = makeProject(`esbuild-${format}`, { 'main.js': program });
    const outfile = join(project, `out/main.${format === 'esm' ? 'mjs' : 'cjs'}`);
    buildSync({
      entryPoints: [join(project, 'main.js')],
      bundle: true,
      platform: 'node',
      format,
      outfile,
      loader: { '.node': 'copy' },
      // esbuild's warning about require in ES modules.
      banner:
        format === 'esm'
          ? { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" }
          : {},
      logLevel: 'silent',
    });
    checkServer(join(project, 'out'), format === 'esm' ? 'main.mjs' : 'main.cjs');
  });
}

test('esbuild for browsers', () => {
  const project = makeProject('esbuild-page', { 'main.js': pageProgram });
  const outfile = join(project, 'out/main.mjs');
  buildSync({ entryPoints: [join(project, 'main.js')], bundle: true, format: 'esm', platform: 'browser', outfile });
  checkPage(join(project, 'out'), 'main.mjs');
});

// docs/guides/bundlers.md has this plugin.
const rollupConfig = `
import commonjs from '@rollup/plugin-commonjs';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';

const addons = {
  name: 'addons',
  load(id) {
    if (!id.endsWith('.node')) return null;
    const fileName = \`\${basename(dirname(id))}.node\`;
    this.emitFile({ type: 'asset', fileName, source: readFileSync(id) });
    return \`module.exports = process.getBuiltinModule('node:module').createRequire(import.meta.url)('./\${fileName}');\`;
  },
};
export default {
  input: 'main.js',
  output: { dir: 'out', entryFileNames: 'main.mjs' },
  plugins: [nodeResolve({ exportConditions: ['node'] }), commonjs({ extensions: ['.js', '.cjs', '.node'], strictRequires: true }), addons],
  external: /^node:/,
};
`;

test('Rollup for Node: a ten-line plugin copies the addon', () => {
  const project = makeProject('rollup', { 'main.js': program, 'rollup.config.js': rollupConfig });
  tool('rollup/dist/bin/rollup', ['--config', '--silent'], project);
  checkServer(join(project, 'out'), 'main.mjs');
});

test('Rollup for browsers', () => {
  const config = `
import { nodeResolve } from '@rollup/plugin-node-resolve';
export default { input: 'main.js', output: { file: 'out/main.mjs' }, plugins: [nodeResolve({ browser: true })] };`;
  const project = makeProject('rollup-page', { 'main.js': pageProgram, 'rollup.config.js': config });
  tool('rollup/dist/bin/rollup', ['--config', '--silent'], project);
  checkPage(join(project, 'out'), 'main.mjs');
});

test('Vite for browsers', () => {
  const index = '<!doctype html><script type="module" src="./main.js"></script>';
  const project = makeProject('vite', { 'main.js': pageProgram, 'index.html': index });
  tool('vite/bin/vite.js', ['build', '--outDir', 'out', '--logLevel', 'warn'], project);
  const script = readdirSync(join(project, 'out/assets')).find((name) => name.endsWith('.js')) as string;
  const text = readFileSync(join(project, 'out/assets', script), 'utf8');
  ok(!nativeNames.test(text), 'the page names native code');
  elsewhere(join(project, 'out/assets'), (copy) => {
    // Vite's page module adds preload links to the document before it runs.
    const start = `globalThis.document = { createElement: () => ({ relList: { supports: () => true } }) };`;
    const output = node(['--input-type=module', '--eval', `${start} await import('./${script}');`], copy);
    ok(output.includes(pageWorks), output);
  });
});

test('Vite for servers: the package stays external', () => {
  const project = makeProject('vite-ssr', { 'main.js': program });
  tool('vite/bin/vite.js', ['build', '--ssr', 'main.js', '--outDir', 'out', '--logLevel', 'warn'], project);
  ok(node(['out/main.js'], project).includes(works), 'out/main.js');
});

const webpackScript = (options: string) => `
import { resolve } from 'node:path';
import webpack from 'webpack';
const common = { mode: 'production', entry: './main.js', performance: false };
webpack({ ...common, output: { path: resolve('out'), filename: 'main.cjs', publicPath: '' }, ...${options} }, (error, stats) => {
  if (error ?? stats.hasErrors()) {
    console.error(error ?? stats.toString());
    process.exitCode = 1;
  }
});`;

test('webpack for Node: node-loader copies the addon', () => {
  const options = `{ target: 'node', node: { __dirname: false }, module: { rules: [{ test: /\\.node$/, loader: 'node-loader' }] } }`;
  const project = makeProject('webpack', { 'main.js': program, 'build.js': webpackScript(options) });
  node(['build.js'], project);
  checkServer(join(project, 'out'), 'main.cjs');
});

test('webpack for browsers', () => {
  const project = makeProject('webpack-page', {
    'main.js': pageProgram,
    'build.js': webpackScript(`{ target: 'web' }`),
  });
  node(['build.js'], project);
  checkPage(join(project, 'out'), 'main.cjs');
});

test('@vercel/nft finds every addon, and the found files run', () => {
  const trace = `
import { nodeFileTrace } from '@vercel/nft';
import { cpSync } from 'node:fs';
import { resolve } from 'node:path';
const base = resolve('../..');
const { fileList } = await nodeFileTrace(['main.js'], { base });
for (const file of fileList) cpSync(resolve(base, file), resolve('out', file));
console.log([...fileList].filter((file) => file.endsWith('dlpack.node')).length);`;
  const project = makeProject('nft', { 'main.js': program, 'trace.js': trace });
  ok(node(['trace.js'], project).trim() === '8', 'eight addons');
  checkServer(join(project, 'out'), 'projects/nft/main.js');
});
