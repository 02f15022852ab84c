// The reference: one page for each entry of package.json, written by TypeDoc from the doc comments. TypeDoc's own validation
// is the gate: a name without a comment, a type that the API reaches but does not export, or a link that leads nowhere is
// a warning, and there may be none.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Application } from 'typedoc';

const root = new URL('../../', import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));

/** The sources of the entries, `src/index.ts` and so on. Two entries repeat the names of others. */
const entryPoints = Object.entries(exports)
  .filter(([subpath, { types }]) => types !== undefined && !['./browser', './adapters/register'].includes(subpath))
  .map(([, { types }]) => new URL(types.replace('./dist/', 'src/').replace('.d.ts', '.ts'), root).pathname);

const options = {
  plugin: ['typedoc-plugin-markdown', 'typedoc-vitepress-theme'],
  tsconfig: new URL('tsconfig.json', root).pathname,
  basePath: new URL('src', root).pathname,
  entryPoints,
  name: 'Reference',
  readme: 'none',
  router: 'module',
  out: new URL('build/reference', root).pathname,
  docsRoot: root.pathname,
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeProtected: true,
  logLevel: 'Error',
  // Tables behind a type: their keys or values are written out on the page.
  intentionallyNotExported: [
    'baseTable',
    'codes',
    'formats',
    'forms',
    'indexLimits',
    'memoryOfKind',
    'naturalDTypes',
    'otherTypes',
    'pairTypes',
    'vectorTypes',
  ],
  validation: { notExported: true, invalidLink: true, rewrittenLink: true, notDocumented: true },
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  enumMembersFormat: 'table',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  entryFileName: 'index',
};

const slugOf = (title) =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/**
 * TypeDoc counts names that it does not show, so that `#tensorview-1` may be the only heading of that name, and leaves out
 * underscores. Each link gets the anchor of the heading that it means.
 */
function mendAnchors(folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith('.md'));
  const pages = new Map(names.map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]));
  const anchors = new Map();
  for (const [name, text] of pages) {
    const own = new Map();
    for (const [, title] of text.matchAll(/^#+ (.*)$/gm)) own.set(slugOf(title), (own.get(slugOf(title)) ?? 0) + 1);
    for (const [, id] of text.matchAll(/<a id="([^"]*)">/g)) own.set(id, 1);
    anchors.set(name, own);
  }
  const bare = (anchor) => anchor.replace(/[_-]/g, '');
  for (const [name, text] of pages) {
    const mended = text.replaceAll(/\]\(([\w-]*\.md)?#([^)]*)\)/g, (link, page = '', anchor = '') => {
      const own = anchors.get(page === '' ? name : page) ?? new Map();
      const [, word, number] = /^(.*)-(\d+)$/.exec(anchor) ?? [];
      if (own.has(anchor) || (own.get(word) ?? 0) > Number(number)) return link;
      const meant = own.has(word)
        ? word
        : [...own.keys()].find((slug) => [anchor, word].some((one) => one !== undefined && bare(slug) === bare(one)));
      return meant === undefined ? link : `](${page}#${meant})`;
    });
    if (mended !== text) writeFileSync(new URL(name, folder), mended);
  }
}

/** Writes the reference, and returns the warnings of the validation. */
export async function writeReference({ emit = true } = {}) {
  const app = await Application.bootstrapWithPlugins(options);
  const warnings = [];
  const { logger } = app;
  logger.warn = (message) => warnings.push(String(message));
  logger.validationWarning = (message) => warnings.push(String(message));
  const project = await app.convert();
  if (project === undefined) throw new Error('TypeDoc could not read the sources');
  app.validate(project);
  if (emit) {
    await app.generateOutputs(project);
    mendAnchors(new URL('build/reference/', root));
  }
  return warnings;
}
