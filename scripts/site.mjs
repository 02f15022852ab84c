// npm run site: builds the site into build/site. `-- serve` serves it then, `-- screenshots` takes pictures of it.

import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { browserMissing, findBrowser } from './lib/browser.mjs';
import { takeScreenshots } from './lib/screenshots.mjs';
import { buildTypeScript, installPackages } from './lib/setup.mjs';
import { installSite } from './lib/site.mjs';
import { at, Missing, main, run, step } from './lib/steps.mjs';

const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
};

/** A server of build/site that only this machine can reach. */
async function serve(port) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    const file = [path, `${path}.html`, join(path, 'index.html')]
      .map((name) => join(at('build/site'), name))
      .find((name) => existsSync(name) && statSync(name).isFile());
    if (file === undefined) response.statusCode = 404;
    else response.setHeader('content-type', `${types[extname(file)] ?? 'text/plain'}; charset=utf-8`);
    response.end(readFileSync(file ?? at('build/site/404.html')));
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => server.closeAllConnections() || server.close(),
  };
}

/** The pages to look at, and a script that each must pass: nothing is wider than the screen. */
const looked = {
  home: '/index.html',
  guide: '/docs/concepts/layout.html',
  reference: '/build/reference/dlpack.html',
  explorer: '/explorer/index.html?t=uint8[2,3,3].transpose([2,0,1])',
};

async function screenshots() {
  const browser = findBrowser();
  if (browser === null) throw new Missing(browserMissing);
  const { url, close } = await serve(0);
  mkdirSync(at('build/screenshots'), { recursive: true });
  const shots = Object.entries(looked).flatMap(([name, path]) =>
    ['light', 'dark'].flatMap((scheme) =>
      [1280, 360].map((width) => ({
        url: url + path,
        file: at('build/screenshots', `${name}-${scheme}-${width}.png`),
        width,
        height: width === 360 ? 740 : 900,
        scheme,
        script: '[document.documentElement.scrollWidth, innerWidth]',
      })),
    ),
  );
  const widths = await takeScreenshots(browser, shots).finally(close);
  const wide = shots.filter((_, i) => widths[i][0] > widths[i][1]).map(({ file }) => file);
  if (wide.length > 0) throw new Error(`wider than the screen: ${wide.join(', ')}`);
  return `${shots.length} in build/screenshots`;
}

await main(async () => {
  const [then] = process.argv.slice(2);
  await installPackages();
  await buildTypeScript();
  await installSite();
  await step('reference', async () => (await run('node', ['site/reference.mjs'])).output.trim());
  await step('pages in build/site', async () => void (await run('node', ['site/build.mjs'])));
  if (then === 'screenshots') await step('screenshots', screenshots);
  if (then === 'serve') console.log((await serve(8000)).url);
});
