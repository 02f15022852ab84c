// The site: the Markdown of the repository where it lies, and the generated reference.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { transformSync } from 'esbuild';
import { defineConfig } from 'vitepress';
import { hovers } from '../lib/hovers.mjs';
import { liveProgram } from '../lib/live.mjs';
import { withVerdicts } from '../lib/verdicts.mjs';

const root = new URL('../../', import.meta.url);
const modules = new URL('site/node_modules/', root).pathname;
/** Types under the pointer take most of the time of a build. */
const hasHovers = process.env.SITE_HOVERS !== '0';
const sidebarFile = new URL('build/reference/typedoc-sidebar.json', root);
const reference = existsSync(sidebarFile) ? JSON.parse(readFileSync(sidebarFile, 'utf8')) : [];

/** The first heading of a page. */
const titleOf = (path) => /^# (.*)$/m.exec(readFileSync(new URL(path, root), 'utf8'))?.[1].replaceAll('`', '') ?? path;
/** A page stands in the sidebar once, in the first group that names it. */
const placed = new Set();
const page = (path) => ({ text: titleOf(path), link: `/${path.replace(/\.md$/, '')}` });
const group = (text, paths, collapsed = true) => {
  const items = [...new Set(paths)].filter((path) => existsSync(new URL(path, root)) && !placed.has(path));
  for (const path of items) placed.add(path);
  return { text, collapsed, items: items.map(page) };
};
/** The pages of a folder, so that a new page is never missing. */
const pagesIn = (folder, recursive = true) =>
  existsSync(new URL(folder, root))
    ? readdirSync(new URL(folder, root), { recursive, encoding: 'utf8' })
        .filter((name) => name.endsWith('.md'))
        .sort()
        .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    : [];
const guides = (...names) => names.map((name) => `docs/guides/${name}.md`);
const named = (folder, ...names) => names.map((name) => `docs/${folder}/${name}.md`);

const inOrder = [
  group(
    'Start',
    ['docs/guides/getting-started.md', ...named('tutorials', 'python', 'model', 'page'), ...pagesIn('docs/tutorials')],
    false,
  ),
  group(
    'Tensors',
    [
      ...named('concepts', 'what-is-a-tensor', 'dtype-and-device', 'layout', 'values', 'copy-or-share', 'ownership'),
      ...pagesIn('docs/concepts'),
    ],
    false,
  ),
  group('How to', [...named('how-to', 'python-setup', 'http-server'), ...pagesIn('docs/how-to')]),
  group(
    'Python',
    guides(
      'python',
      'python-async',
      'python-tensors',
      'python-pitfalls',
      'python-process',
      'inference-server',
      'pyodide',
      'many-processes',
      'ray',
    ),
  ),
  group('Models', guides('onnx-models', 'adapters')),
  group('Memory', guides('files', 'shared', 'memory', 'cuda')),
  group('Browser', guides('webgpu', 'webassembly', 'bundlers')),
  group(
    'Native code',
    guides('tvm-ffi', 'tvm-ffi-compile', 'tvm-ffi-objects', 'tvm-ffi-libraries', 'addons', 'ffi', 'mdspan'),
  ),
  group('For library authors', ['docs/spec.md', ...guides('adopt', 'conformance'), 'docs/proposal.md']),
  group('More guides', pagesIn('docs/guides')),
  group('Look up', [
    'docs/README.md',
    'docs/troubleshooting.md',
    'docs/errors.md',
    'docs/glossary.md',
    'docs/what-works.md',
    'docs/runtimes.md',
    'docs/compatibility.md',
    ...pagesIn('docs', false),
    'CHANGELOG.md',
  ]),
  group('Compatibility by library', pagesIn('docs/compatibility')),
];
const sidebar = [
  ...inOrder.filter(({ items }) => items.length > 0),
  { text: 'Reference', collapsed: true, link: '/build/reference/', items: reference },
  group('For contributors', [
    'CONTRIBUTING.md',
    'ARCHITECTURE.md',
    'SECURITY.md',
    'site/README.md',
    'explorer/README.md',
    ...pagesIn('docs/design'),
  ]),
];

/** Headings get the anchors of GitHub, which the links of the pages name and tests/docs checks. */
const slugify = (title) =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** `<!-- explorer: float32[2,3] -->` becomes the figure. */
function withFigures(md) {
  const html = md.renderer.rules.html_block;
  md.renderer.rules.html_block = (tokens, i, ...rest) => {
    const [, t] = /^<!-- explorer: (.+) -->\s*$/.exec(tokens[i].content) ?? [];
    if (t === undefined) return html === undefined ? tokens[i].content : html(tokens, i, ...rest);
    return `<ClientOnly><ExplorerFigure t="${md.utils.escapeHtml(t)}" /></ClientOnly>\n`;
  };
}

/** Programs that a page can run get a button. The words after the language are for the tests. */
function withCells(md) {
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, i, options, env, self) => {
    const token = tokens[i];
    const [language, ...words] = token.info.split(' ');
    if (language !== 'ts' && language !== 'js') return fence(tokens, i, options, env, self);
    const mode = words.join(' ');
    // The title of a tab, and whether it is the first, which VitePress reads.
    const tab = /^\[.*\](?: active)?/.exec(mode)?.[0] ?? '';
    env.program = mode.startsWith('continue') ? `${env.program ?? ''}${token.content}` : token.content;
    const before = mode.startsWith('continue') ? env.program.slice(0, -token.content.length) : '';
    const isWhole = !/no-run|fragment/.test(mode);
    const { content } = token;
    // The signatures of the reference are no programs.
    const hasTypes = hasHovers && /from 'dlpack/.test(env.program) && !/fragment/.test(mode);
    token.info = `${language} ${hasTypes ? 'twoslash' : ''} ${tab}`;
    if (before !== '' && hasTypes) token.content = `${before}// ---cut---\n${content}`;
    const shown = fence(tokens, i, options, env, self);
    const program = isWhole ? liveProgram(env.program, (text) => transformSync(text, { loader: 'ts' }).code) : null;
    if (program === null) return shown;
    return `<LiveCell program="${encodeURIComponent(program)}">${shown}</LiveCell>`;
  };
}

/** Two owners of one block of memory. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#0550ae"/><path d="M5 20h22v7H5zM12 20v7M20 20v7M9 5l6 12M23 5l-6 12" fill="none" stroke="#fff" stroke-width="2.5"/></svg>';

export default defineConfig({
  title: 'dlpack',
  titleTemplate: ':title · dlpack',
  description: 'Use PyTorch, NumPy and ONNX Runtime from JavaScript, on the same memory.',
  lang: 'en',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  base: process.env.SITE_BASE ?? '/',
  srcDir: '..',
  outDir: '../build/site',
  cacheDir: '../.cache/vitepress',
  cleanUrls: false,
  lastUpdated: false,
  srcExclude: [
    'bench/!(results)/**',
    'build/!(reference)/**',
    'build/*.md',
    '{native,include,scripts,src,tests,requirements,prebuilds,dist,demo}/**',
    'examples/**/!(README).md',
    'site/node_modules/**',
  ],
  rewrites: { 'site/home.md': 'index.md', 'README.md': 'readme.md' },
  // lib/files.mjs checks the links of the built pages, with their anchors and the files of the repository.
  ignoreDeadLinks: true,
  markdown: {
    config(md) {
      withFigures(md);
      withCells(md);
      withVerdicts(md, slugify);
    },
    anchor: { slugify },
    codeTransformers: hasHovers ? [hovers()] : [],
    // The types of names are TypeScript, also on a page without a block of it.
    languages: ['ts'],
    theme: { light: 'github-light', dark: 'github-dark' },
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/docs/guides/getting-started' },
      { text: 'Reference', link: '/build/reference/' },
      { text: 'Explorer', link: '/explorer/index.html', target: '_self' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    docFooter: { prev: 'Before', next: 'Next' },
    externalLinkIcon: true,
  },
  vite: {
    // The pages lie outside of this folder, where nobody finds its packages.
    resolve: {
      alias: [
        { find: /^vue\/server-renderer$/, replacement: `${modules}vue/server-renderer/index.mjs` },
        { find: /^vue$/, replacement: `${modules}vue/index.mjs` },
      ],
    },
    server: { fs: { allow: [root.pathname] } },
    build: { chunkSizeWarningLimit: 2000 },
    logLevel: 'warn',
  },
});
