/**
 * A frame of a video as a tensor on the GPU: on an NVIDIA GPU with Node and Dawn where there is one, else in a browser.
 *
 *   npm run bench -- frames
 */

import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { resultOf } from '../tests/child.js';
import { runDawn } from '../tests/webgpu/run-dawn.js';
import { vulkanMissing, withVulkan } from '../tests/webgpu/vulkan.js';
import { describeMachine } from './machine.js';
import { formatTime as time } from './webgpu/strided-table.js';
import type { PageResult } from './webgpu/timing.js';

/** Imported only here, because a machine with a GPU may have no browser. */
async function inBrowser(): Promise<PageResult> {
  const { oneAdapter, runPages, tools } = await import('../tests/browser/run.js');
  const { importMap } = await import('../tests/browser/server.js');
  const browser = tools.findBrowser();
  if (browser === null) throw new Error(tools.browserMissing);
  const pages = ['../bench/webgpu/frames.page.js'];
  const { reports } = await runPages(browser, pages, importMap(['.', './adapters', './webgpu']), oneAdapter);
  return resultOf<PageResult>(reports[0]?.lines.join('\n') ?? '');
}

const isGpu = vulkanMissing === false;
const page = isGpu
  ? withVulkan((env) => runDawn<PageResult>('../../bench/webgpu/frames.page', env).result)
  : await inBrowser();
const { vendor, architecture, device, description } = page.adapter;
const [least] = Object.values(page.rows);
const lines = Object.entries(page.rows).map(
  ([name, microseconds]) => `| ${name} | ${time(microseconds)} | ${(microseconds / (least as number)).toFixed(1)} |`,
);
const report = `# Frames of a video on a GPU

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- frames\`; ${[vendor, architecture, device, description].filter(Boolean).join(' ')},
${describeMachine()}; Node ${process.versions.node}${isGpu ? ' with Dawn over Vulkan' : `, ${page.agent}`}.

A frame of 1920 × 1080 pixels as a float16 tensor [1, 3, 640, 640] on the GPU: the median of 15 turns, each until the GPU has
finished. In Node the frame is a GPUTexture, because Node has no \`VideoFrame\`. Its way through the host begins with the copy that
\`VideoFrame.copyTo\` makes of a frame on the GPU; \`copyTo\` itself was not measured there.

| way | time | × the first |
|---|---|---|
${lines.join('\n')}
`;
const results = fileURLToPath(new URL('../../bench/results/', import.meta.url));
if (isGpu && existsSync(results)) writeFileSync(`${results}frames.md`, report);
console.log(report);
if (!isGpu) console.log('Not written: a software adapter has no figure, because the processor does both.');
