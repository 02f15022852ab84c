/** Runs test pages in a browser and checks what they report. */

import { equal, ok } from '../assert.js';
import { type Report, serve } from './server.js';

interface Page {
  readonly ended: Promise<string>;
  close(): Promise<boolean>;
}
interface BrowserTools {
  browserMissing: string;
  findBrowser(): string | null;
  canCollect(path: string): boolean;
  openPage(path: string, url: string, flags?: readonly string[]): Page;
  softwareAdapter(): string | null;
  softwareEnvironment(folder: string): Record<string, string>;
}
export const tools: BrowserTools = await import(new URL('../../../scripts/lib/browser.mjs', import.meta.url).href);

/** Everything that draws uses one software adapter. Otherwise Chromium cannot share a video or a canvas with WebGPU. */
export const oneAdapter = ['--enable-features=Vulkan', '--use-vulkan=swiftshader', '--use-angle=swiftshader'];

export interface PageRun {
  readonly reports: Report[];
  /** Paths that the page requested. */
  readonly requested: Set<string>;
}

/** Runs the files, each in a frame of its own, and ends the browser. `flags`: more arguments for Chromium. */
export async function runPages(
  browser: string,
  files: readonly string[],
  imports: Record<string, string>,
  flags: readonly string[] = [],
): Promise<PageRun> {
  const server = await serve(files, imports);
  const { requested } = server;
  const page = tools.openPage(browser, server.url, flags);
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`stopped after fifteen minutes; asked for ${[...requested].at(-1)}`), 900_000);
  });
  let closed = false;
  let reports: Report[];
  try {
    const result = await Promise.race([server.finished, page.ended, tooLong]);
    if (typeof result === 'string') throw new Error(`the browser ${result}`);
    reports = result;
  } finally {
    clearTimeout(timer);
    closed = await page.close();
    server.close();
  }
  ok(closed, 'a process of the browser is still there');
  return { reports, requested };
}

/** Throws unless all tests of a file passed. */
export function checkReport(reports: readonly Report[], file: string): void {
  const lines = reports.find((report) => report.file === file)?.lines ?? [];
  const results = lines.filter((line) => line.startsWith('RESULT '));
  if (process.env.VERBOSE) for (const line of lines) console.log(`  ${line}`);
  else for (const line of lines.filter((l) => l.startsWith('skip '))) console.log(`  ${line}`);
  const failures = lines.filter((line) => line.startsWith('not ok '));
  equal(failures, [], 'failures:');
  equal(results.length, 1, `results of\n${lines.join('\n')}\n`);
  const { passed = 0, failed, skipped = 0 } = JSON.parse(results[0]?.slice(7) as string) as Record<string, number>;
  ok(failed === 0 && passed + skipped > 0, results[0]);
}
