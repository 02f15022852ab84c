/** The tensor explorer (explorer/), built and opened in a real browser. */

import { ok } from '../assert.js';
import { test, testWith } from '../harness.js';
import { checkReport, runPages, tools } from './run.js';
import { importMap } from './server.js';

const { buildExplorer } = (await import(new URL('../../../scripts/lib/explorer.mjs', import.meta.url).href)) as {
  buildExplorer(): Promise<number>;
};
const size = await buildExplorer();

test('the explorer is one file of less than 90 KB', () => {
  ok(size < 90_000, `${size} bytes`);
});

const path = tools.findBrowser();
testWith(path === null ? tools.browserMissing : false, 'the explorer in a browser', async () => {
  const file = 'browser/explorer/explorer.page.js';
  const { reports, requested } = await runPages(path as string, [file], importMap(['.']));
  checkReport(reports, file);
  const asked = [...requested].filter((one) => one.includes('explorer/') && !one.endsWith('.page.js'));
  ok(asked.join() === '/build/explorer/index.html', `one file, but it asked for ${asked.join()}`);
});
