// What the built site must do in a real browser.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withBrowser } from './pages.mjs';
import { at } from './steps.mjs';

const wide = { width: 1280, height: 900 };
const phone = { width: 360, height: 740 };

/** The pages whose pictures are kept. */
const looked = {
  home: 'index.html',
  guide: 'docs/concepts/layout.html',
  reference: 'build/reference/dlpack.html',
  compatibility: 'docs/compatibility/jax.html',
  explorer: 'explorer/index.html?t=uint8[2,3,3].transpose([2,0,1])',
};

function check(isTrue, message) {
  if (!isTrue) throw new Error(message);
}

const pagesOf = (site) =>
  readdirSync(site, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.html') && path !== '404.html')
    .sort();

/** The elements that make a page wider than the screen, unless they scroll by themselves. */
const tooWide = `(() => {
  if (document.documentElement.scrollWidth <= innerWidth) return [];
  return [...document.querySelectorAll('main *, .VPContent *, body > *')]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => one.tagName + '.' + one.className).slice(0, 3);
})()`;

/** Every page on a phone: no error, nothing wider than the screen, each picture loaded, each live program runs. */
async function everyPage(visit, url, site) {
  const problems = [];
  for (const path of pagesOf(site)) {
    await visit({ url: `${url}/${path}`, ...phone }, async ({ evaluate, errors }) => {
      const says = (what) => problems.push(`${path}: ${what}`);
      const over = await evaluate(tooWide);
      if (over.length > 0) says(`wider than the screen: ${over.join(', ')}`);
      const empty = await evaluate(`(async () => {
        const all = [...document.images];
        for (const image of all) { image.loading = 'eager'; await image.decode().catch(() => {}); }
        return all.filter((image) => image.naturalWidth === 0).map((image) => image.src);
      })()`);
      if (empty.length > 0) says(`pictures without content: ${empty.join(', ')}`);
      const printed = await evaluate(`(async () => {
        const printed = [];
        for (const cell of document.querySelectorAll('.live-cell')) {
          cell.querySelector('.live-run').click();
          await new Promise((resolve) => {
            const look = () => cell.querySelector('.live-run').ariaBusy === 'false' && cell.querySelector('.live-output') !== null ? resolve() : setTimeout(look, 20);
            setTimeout(look, 20);
          });
          printed.push(cell.querySelector('.live-output').textContent);
        }
        return printed;
      })()`);
      for (const text of printed) {
        if (/^(Uncaught|This program does not compile|It printed nothing)/m.test(text)) says(`a live program: ${text}`);
      }
      if (await evaluate("document.body.textContent.includes('---cut---')")) says('a program shows what it continues');
      for (const error of errors) says(error);
    });
  }
  check(problems.length === 0, problems.join('\n'));
}

/** By keyboard: the link over the menu, the search, and a program that runs in the page. */
async function keyboard(visit, url) {
  await visit({ url: `${url}/index.html`, ...wide }, async ({ evaluate, press, type, until }) => {
    await press('Tab');
    const first = await evaluate('document.activeElement.textContent.trim()');
    check(first === 'Skip to content', `the first stop of Tab is ${JSON.stringify(first)}`);
    await evaluate("document.querySelector('.VPNavBarSearchButton').focus()");
    await press('Enter');
    await until("document.querySelector('.VPLocalSearchBox input') !== null");
    await type('strides');
    await until("document.querySelectorAll('.VPLocalSearchBox .result').length > 1");
    await press('ArrowDown');
    await press('Enter');
    await until("document.querySelector('.VPLocalSearchBox') === null && !location.pathname.endsWith('/index.html')");
    await until("/strides/i.test(document.querySelector('.VPDoc main')?.textContent ?? '')");
  });
  await visit({ url: `${url}/index.html`, ...wide }, async ({ evaluate, press, until }) => {
    await evaluate("document.querySelector('.live-cell textarea').focus()");
    await press('Tab');
    await press('Enter');
    await until("document.querySelector('.live-output')?.textContent.includes('true')");
    const output = await evaluate("document.querySelector('.live-output').textContent");
    check(output.includes('[ 3 ] true') || output.includes('[3] true'), `the program printed ${output}`);
    const tabs = "document.querySelector('.vp-code-group')";
    await evaluate(`${tabs}.querySelector('input').focus()`);
    await press('ArrowRight');
    await until(`${tabs}.querySelectorAll('.blocks > div')[1].classList.contains('active')`);
  });
}

/** Copy buttons give the program alone, and the types under the pointer lie within the window. */
async function programs(visit, url) {
  await visit({ url: `${url}/docs/guides/getting-started.html`, ...wide }, async ({ evaluate, until, point }) => {
    const copied = await evaluate(`(async () => {
      const block = document.querySelector('div.language-ts');
      block.querySelector('button.copy').click();
      while (!block.querySelector('button.copied')) await new Promise((resolve) => setTimeout(resolve, 20));
      return navigator.clipboard.readText();
    })()`);
    const page = readFileSync(at('docs/guides/getting-started.md'), 'utf8');
    const [, program] = /^```ts.*\n([\s\S]*?)^```/m.exec(page);
    check(copied.trim() === program.trim(), `the copy button gave\n${copied}\ninstead of\n${program}`);
    const names = "[...document.querySelectorAll('.twoslash-hover')]";
    check((await evaluate(`${names}.length`)) > 10, 'no name has a type');
    const [x, y] = await evaluate(`(() => {
      const name = ${names}.find((one) => one.firstChild?.textContent?.startsWith('from') || one.textContent.startsWith('Tensor'));
      name.scrollIntoView({ block: 'center' });
      const { left, top, width, height } = name.getBoundingClientRect();
      return [left + width / 2, top + height / 2];
    })()`);
    await point(x, y);
    const visible = `${names}.map((one) => one.querySelector('.twoslash-popup-container')).find((one) => one !== null && getComputedStyle(one).opacity === '1' && one.offsetWidth > 0)`;
    await until(`${visible} !== undefined`);
    const box = await evaluate(
      `(({ left, right, top, bottom }) => [left >= 0, right <= innerWidth, top >= 0, bottom <= innerHeight])(${visible}.getBoundingClientRect())`,
    );
    check(box.every(Boolean), `a type lies outside of the window: ${box}`);
    const text = await evaluate(`${visible}.textContent`);
    check(/Tensor/.test(text), `the type under the pointer is ${text}`);
  });
}

/** llms.txt names pages that are there, as Markdown. */
function llms(site) {
  const links = [...readFileSync(join(site, 'llms.txt'), 'utf8').matchAll(/^- \[.+?\]\((.+?)\)(?:: (.+))?$/gm)];
  check(links.length > 40, `llms.txt has ${links.length} links`);
  for (const [, path, sentence] of links) {
    check(existsSync(join(site, path)), `llms.txt names ${path}, which is not there`);
    if (/^docs\/(guides|tutorials|concepts|how-to)\//.test(path))
      check(sentence?.length > 10, `llms.txt says nothing about ${path}`);
  }
}

/** The lowest contrast between a coloured word of a table and its background, and how many words there are of each kind. */
const contrasts = `(() => {
  const light = (color) => {
    const [r, g, b] = color.match(/\\d+/g).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const words = [...document.querySelectorAll('.vp-doc td .verdict')];
  const ratios = words.map((word) => {
    const { color, backgroundColor } = getComputedStyle(word);
    const [low, high] = [light(color), light(backgroundColor)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
  return { lowest: Math.min(...ratios), kinds: [...new Set(words.map((word) => word.className))].sort() };
})()`;

/** Every kind of word on the page of compatibility has a colour that can be read, in light and dark. */
async function colours(visit, url) {
  for (const scheme of ['light', 'dark']) {
    await visit({ url: `${url}/docs/compatibility.html`, scheme, ...wide }, async ({ evaluate }) => {
      const { lowest, kinds } = await evaluate(contrasts);
      check(kinds.length === 5, `the words of the tables are of the kinds ${kinds}`);
      check(lowest >= 4.5, `a word of a table has a contrast of ${lowest} in ${scheme}`);
    });
  }
}

/** Pictures of the most important pages in both colours and both widths. */
async function screenshots(visit, url) {
  mkdirSync(at('build/screenshots'), { recursive: true });
  for (const [name, path] of Object.entries(looked)) {
    for (const scheme of ['light', 'dark']) {
      for (const size of [wide, phone]) {
        await visit({ url: `${url}/${path}`, scheme, ...size }, async ({ screenshot, evaluate }) => {
          const lightness = await evaluate(
            'getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0)',
          );
          check(scheme === 'dark' ? lightness < 200 : lightness > 600, `${path} is not ${scheme}`);
          writeFileSync(at('build/screenshots', `${name}-${scheme}-${size.width}.png`), await screenshot());
        });
      }
    }
  }
}

/** Every check of the site that is served at `url` from the folder `site`. */
export async function checkSite(browser, url, site) {
  llms(site);
  await withBrowser(browser, async (visit) => {
    await screenshots(visit, url);
    await colours(visit, url);
    await keyboard(visit, url);
    await programs(visit, url);
    await everyPage(visit, url, site);
  });
}
