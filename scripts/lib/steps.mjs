// Steps of a set-up. Each prints one line with its time, runs only when its inputs changed, and reports what is
// missing.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
export const at = (...parts) => join(root, ...parts);

/** Something that the user must provide. */
export class Missing extends Error {}

/** How many steps a script makes, and how many have ended; null where it is not known before. */
let plan = null;
export const planSteps = (count) => {
  plan = { count, done: 0 };
};

/** The start of a step's line: a bar if the number of steps is known. */
function lead() {
  if (plan === null) return '-';
  const full = Math.round((plan.done / plan.count) * 20);
  return `[${'█'.repeat(full)}${'░'.repeat(20 - full)}] ${plan.done + 1}/${plan.count}`;
}

/** Prints a step and its seconds: on a terminal while it runs, elsewhere at its end. */
export async function step(title, action) {
  const start = performance.now();
  const seconds = (digits) => `${((performance.now() - start) / 1000).toFixed(digits)} s`;
  const line = `${lead()} ${title} ...`;
  const isLive = process.stdout.isTTY === true;
  process.stdout.write(`${line} `);
  const tick = () => process.stdout.write(`\r${line} ${seconds(0)} `);
  const timer = isLive ? setInterval(tick, 1000) : undefined;
  const end = (note) => process.stdout.write(`${isLive ? `\r${line} ` : ''}${note}\n`);
  try {
    const note = await action();
    end(`${note ?? 'done'} (${seconds(1)})`);
  } catch (error) {
    end('failed');
    throw error;
  } finally {
    clearInterval(timer);
    if (plan !== null) plan.done++;
  }
}

/**
 * Runs a command until it ends. Its output is kept and shown only if the command fails, or passed through with `show`.
 * It goes through a pipe, or through the file `into`. After `minutes` the command is killed; processes that it started may
 * hold its pipe open, so nobody waits for that.
 */
export function run(command, args, { cwd = root, env = {}, show = false, allowFailure = false, into, minutes } = {}) {
  return new Promise((resolve, reject) => {
    const target = into === undefined ? (show ? 'inherit' : 'pipe') : openSync(into, 'w');
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', target, target],
      shell: process.platform === 'win32',
    });
    let output = '';
    child.stdout?.on('data', (chunk) => (output += chunk));
    child.stderr?.on('data', (chunk) => (output += chunk));
    child.on('error', reject);
    const limit =
      minutes &&
      setTimeout(() => {
        child.kill('SIGKILL');
        for (const pipe of [child.stdout, child.stderr]) pipe?.destroy();
        output += `\nstill running after ${minutes} minutes: killed`;
      }, minutes * 60_000);
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      if (into !== undefined) {
        closeSync(target);
        output = readFileSync(into, 'utf8');
      }
      if (code === 0 || allowFailure) resolve({ code, signal, output });
      else reject(new Error(`${command} ${args.join(' ')} ended with ${signal ?? code}\n${output}`));
    });
  });
}

/** Runs an action that downloads, three times at most, because a server or the network may fail once. */
export async function online(action) {
  for (let left = 2; ; left--) {
    try {
      return await action();
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 3000));
    }
  }
}

/** Runs `action` for every item, in parallel on all processors. */
export async function inParallel(items, action) {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await action(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
}

function filesBelow(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => filesBelow(join(path, entry.name)));
}

const stampOf = (name) => at('.cache', `${name}.stamp`);

function digestOf(inputs) {
  const hash = createHash('sha256');
  for (const input of inputs) {
    for (const file of filesBelow(at(input))) hash.update(relative(root, file)).update(readFileSync(file));
  }
  return hash.update(process.platform + process.arch).digest('hex');
}

/** Whether the outputs of `whenChanged` exist and were made from the inputs as they are now. */
export function isFresh(name, inputs, outputs, digest = digestOf(inputs)) {
  const stamp = stampOf(name);
  return (
    outputs.every((output) => existsSync(at(output))) && existsSync(stamp) && readFileSync(stamp, 'utf8') === digest
  );
}

/** Runs `action` unless its inputs are unchanged since the last time and its outputs exist. */
export async function whenChanged(name, inputs, outputs, action) {
  const digest = digestOf(inputs);
  if (isFresh(name, inputs, outputs, digest)) return 'up to date';
  const note = await action();
  mkdirSync(at('.cache'), { recursive: true });
  writeFileSync(stampOf(name), digest);
  return note;
}

/** Runs a script's main function. A missing tool gives one clear message instead of a stack. */
export async function main(action) {
  try {
    process.exitCode = (await action()) ?? 0;
  } catch (error) {
    console.error(error instanceof Missing ? `\nMissing: ${error.message}` : error);
    process.exitCode = 1;
  }
}
