// Finds a browser and runs it without a window. It ends with the process that started it.
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const names = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
  'firefox',
  'firefox-esr',
];

/** The message when there is no browser. */
export const browserMissing = `a browser; tried CHROME_PATH and ${names.join(', ')} on PATH. Install one (Debian: apt install chromium), or name one in CHROME_PATH.`;

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The path of a browser, or null. There is no fallback if CHROME_PATH names no browser. */
export function findBrowser() {
  const named = process.env.CHROME_PATH;
  if (named !== undefined && named !== '') return isExecutable(named) ? named : null;
  return findOnPath(names);
}

/** The path of Firefox, or null. */
export const findFirefox = () => findOnPath(names.filter((name) => isFirefox(name)));

function findOnPath(wanted) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const name of wanted) {
    const path = folders.map((folder) => join(folder, name)).find(isExecutable);
    if (path !== undefined) return path;
  }
  return null;
}

const isFirefox = (path) => /firefox[^/\\]*$/.test(path);

/** True when pages can request a garbage collection (`gc()`). */
export const canCollect = (path) => !isFirefox(path);

/** The folder of Chromium's software adapter (SwiftShader), which Firefox and Node can use, too; null if there is none. */
export function softwareAdapter() {
  const found = findBrowser();
  const folders = [
    '/usr/lib/chromium',
    '/opt/google/chrome',
    ...(found === null ? [] : [dirname(realpathSync(found))]),
  ];
  return folders.find((folder) => existsSync(join(folder, 'vk_swiftshader_icd.json'))) ?? null;
}

/** Environment variables for a program that uses Vulkan. */
export function softwareEnvironment(folder) {
  return {
    VK_ICD_FILENAMES: join(folder, 'vk_swiftshader_icd.json'),
    LD_LIBRARY_PATH: `${folder}:${process.env.LD_LIBRARY_PATH ?? ''}`,
  };
}

/** Firefox has WebGPU only where its settings allow the adapter. */
const firefoxSettings = ['dom.webgpu.enabled', 'gfx.webgpu.ignore-blocklist']
  .map((name) => `user_pref("${name}", true);\n`)
  .join('');

function argumentsFor(path, profile, url, flags) {
  if (isFirefox(path)) return ['--headless', '--no-remote', '--profile', profile, url];
  return [
    '--headless',
    '--no-sandbox', // the pages are our own, and root has no sandbox
    '--enable-unsafe-webgpu', // WebGPU, by software where the machine has no GPU
    '--use-webgpu-adapter=swiftshader',
    '--disable-quic',
    '--disable-dev-shm-usage', // containers have little shared memory
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--remote-debugging-pipe', // closes when this process ends for any reason
    '--js-flags=--expose-gc',
    `--user-data-dir=${profile}`,
    ...flags,
    url,
  ];
}

/**
 * Opens a page in a new profile. `flags`: more arguments for Chromium. `close()` ends the browser with all of its
 * processes; `ended` resolves with the reason it ended, and `pipes` lead to the debugger of Chromium.
 */
export function openPage(path, url, flags = []) {
  const profile = mkdtempSync(join(tmpdir(), 'dlpack-browser-'));
  const folder = isFirefox(path) ? softwareAdapter() : null;
  if (isFirefox(path)) writeFileSync(join(profile, 'user.js'), firefoxSettings);
  const child = spawn(path, argumentsFor(path, profile, url, flags), {
    env: { ...process.env, ...(folder === null ? {} : softwareEnvironment(folder)) },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    detached: process.platform !== 'win32', // a separate process group
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors = (errors + chunk).slice(-4000);
  });
  for (const pipe of child.stdio.slice(3)) pipe.on('error', () => {}); // the browser closes these pipes
  const ended = new Promise((resolve) => {
    child.on('error', (error) => resolve(String(error)));
    child.on('exit', (code, signal) => resolve(`ended with ${signal ?? code}\n${errors}`));
  });
  const signalAll = (signal) => {
    try {
      if (child.pid === undefined) return false;
      return process.platform === 'win32' ? child.kill(signal) : process.kill(-child.pid, signal);
    } catch {
      return false; // the group has no more processes
    }
  };
  const close = async () => {
    signalAll('SIGKILL');
    await ended;
    for (let i = 0; i < 1200 && signalAll(0); i++) await new Promise((resolve) => setTimeout(resolve, 50));
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    return !signalAll(0);
  };
  return { ended, close, pipes: child.stdio.slice(3) };
}
