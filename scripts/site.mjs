// npm run site: builds the site into build/site. `-- serve` serves it then, `-- check` tests it in a browser.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { installBrowser } from './lib/apt.mjs';
import { browserMissing, findBrowser } from './lib/browser.mjs';
import { buildTypeScript, installPackages } from './lib/setup.mjs';
import { installSite } from './lib/site.mjs';
import { checkSite } from './lib/site-checks.mjs';
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

async function checkInBrowser() {
  const browser = findBrowser();
  if (browser === null) throw new Missing(browserMissing);
  const { url, close } = await serve(0);
  await checkSite(browser, url, at('build/site')).finally(close);
  return 'pictures in build/screenshots';
}

await main(async () => {
  const [then] = process.argv.slice(2);
  await installPackages();
  await buildTypeScript();
  await installSite();
  await step('reference', async () => (await run('node', ['site/reference.mjs'])).output.trim());
  await step('pages in build/site', async () => void (await run('node', ['site/build.mjs'])));
  if (then === 'check') {
    await installBrowser();
    await step('the site in a browser', checkInBrowser);
  }
  if (then === 'serve') console.log((await serve(8000)).url);
});
