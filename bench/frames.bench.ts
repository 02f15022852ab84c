/**
 * A frame of a video as a tensor on the GPU: on an NVIDIA GPU with Node and Dawn where there is one, else in a browser.
 *
 *   npm run bench -- frames
 */

import { runPages, tools } from '../tests/browser/run.js';
import { importMap } from '../tests/browser/server.js';
import { resultOf } from '../tests/child.js';
import { runDawn } from '../tests/webgpu/run-dawn.js';
import { vulkanMissing, withVulkan } from '../tests/webgpu/vulkan.js';
import { describeMachine } from './machine.js';
import { formatTime as time } from './webgpu/strided-table.js';
import type { PageResult } from './webgpu/timing.js';

async function inBrowser(): Promise<PageResult> {
  const browser = tools.findBrowser();
  if (browser === null) throw new Error(tools.browserMissing);
  const pages = ['../bench/webgpu/frames.page.js'];
  const { reports } = await runPages(browser, pages, importMap(['.', './adapters', './webgpu']));
  return resultOf<PageResult>(reports[0]?.lines.join('\n') ?? '');
}

const page =
  vulkanMissing === false
    ? withVulkan((env) => runDawn<PageResult>('../../bench/webgpu/frames.page', env).result)
    : await inBrowser();
const { vendor, architecture, device, description } = page.adapter;

console.log(`A frame of 1920 × 1080 pixels as a float16 tensor [1, 3, 640, 640] on the GPU
${describeMachine()}; ${page.agent}; adapter ${vendor} ${architecture} ${device} ${description}

| way | time |
|---|---|`);
for (const [name, microseconds] of Object.entries(page.rows)) console.log(`| ${name} | ${time(microseconds)} |`);
if (vulkanMissing !== false) console.log('\nA software adapter has no figure: the processor does both.');
