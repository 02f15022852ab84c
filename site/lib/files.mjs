// Files of the repository that pages link to and that are no pages, and the check that every link of the site leads somewhere.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

const htmlFiles = (folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.html'));

const escaped = (text) => text.replace(/[.*+?^$()[\]{}|\\]/g, '\\$&');
const decoded = (text) => decodeURIComponent(text.replaceAll('&amp;', '&'));

/** The targets of a page's links within the site, as paths from its root, with their anchors. */
function linksOf(text, path, base) {
  return [...text.matchAll(/<a\b[^>]*?\bhref="([^"]*)"/g)].flatMap(([, href]) => {
    if (/^([a-z]+:|\/\/)/.test(href)) return [];
    const [target, anchor = ''] = decoded(href).split('#');
    const plain = target.split('?')[0];
    const from = plain.startsWith(base) ? plain.slice(base.length) : posix.join(posix.dirname(path), plain);
    return [{ href, target: plain === '' ? path : posix.normalize(from), anchor }];
  });
}

/** The file of a target: a page, a folder's index, or any other file. */
const fileOf = (site, target) =>
  [target, `${target}.html`, join(target, 'index.html')].find(
    (path) => existsSync(join(site, path)) && statSync(join(site, path)).isFile(),
  );

/** A file or a folder of the repository that a link means. VitePress adds `.html` to endings that it does not know. */
function sourceOf(repository, target) {
  const [found] = [target, target.replace(/\.html$/, '')].filter((path) => existsSync(join(repository, path)));
  return found === undefined || posix.normalize(found).startsWith('..') ? undefined : found;
}

/**
 * Copies files of the repository that pages link to. A link to a folder, which has no page, becomes plain text. Returns the
 * links that lead nowhere.
 */
export function completeSite(site, repository, base) {
  const texts = new Map(htmlFiles(site).map((path) => [path, readFileSync(join(site, path), 'utf8')]));
  const dead = [];
  for (const [path, text] of texts) {
    let mended = text;
    for (const { href, target, anchor } of linksOf(text, path, base)) {
      const file = fileOf(site, target);
      const source = file === undefined ? sourceOf(repository, target) : undefined;
      if (file !== undefined) {
        const isThere =
          anchor === '' || !file.endsWith('.html') || texts.get(file)?.includes(`id="${anchor}"`) !== false;
        if (!isThere) dead.push(`${path}: ${href} (no such heading)`);
      } else if (source === undefined) dead.push(`${path}: ${href}`);
      else if (statSync(join(repository, source)).isDirectory()) {
        mended = mended.replaceAll(new RegExp(`<a\\b[^>]*href="${escaped(href)}"[^>]*>(.*?)</a>`, 'g'), '$1');
      } else {
        // A page among the examples needs the repository around it, so a reader gets its text.
        const isPage = source.endsWith('.html');
        mkdirSync(dirname(join(site, source)), { recursive: true });
        copyFileSync(join(repository, source), join(site, isPage ? `${source}.txt` : source));
        const mendedHref = isPage ? `${href}.txt` : source === target ? href : href.replace(/\.html$/, '');
        mended = mended.replaceAll(`href="${href}"`, `href="${mendedHref}"`);
      }
    }
    if (mended !== text) writeFileSync(join(site, path), mended);
  }
  return dead;
}
