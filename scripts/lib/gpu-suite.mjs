// Runs the compiled tests of tests/gpu, each file in a separate process, and prints a table. Needs only Node: it runs
// from the repository (npm run gpu) and, as a copy, on a machine that has only the output of `npm run gpu -- pack`.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A time limit for tests that hang, longer than the longest test on a busy machine. */
const minutes = 9;

/** The reason why no test of tests/gpu can run here, or null. */
export function gpuMissing() {
  if (process.platform !== 'linux') return `CUDA on ${process.platform}`;
  if (existsSync('/dev/nvidiactl') || existsSync('/dev/dxg')) return null;
  return 'a GPU: there is no /dev/nvidiactl';
}

/** The Python whose packages the tests use: DLPACK_PYTHON, or python3 on the PATH. Empty without one. */
function findPython() {
  if (process.env.DLPACK_PYTHON) return process.env.DLPACK_PYTHON;
  const { stdout } = spawnSync('sh', ['-c', 'command -v python3'], { encoding: 'utf8' });
  return stdout.trim();
}

function runFile(file, env) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--expose-gc', file], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    const timer = setTimeout(() => child.kill('SIGKILL'), minutes * 60_000);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, output });
    });
  });
}

/** The lines that the harness printed for each test, and all other output. */
function readOutput(output) {
  const rows = [];
  const rest = [];
  for (const line of output.trimEnd().split('\n')) {
    const [, result, name, time = ''] = /^(ok|not ok|skip) (.*?)(?: \((\d+ ms)\))?$/.exec(line) ?? [];
    if (result !== undefined) rows.push({ name, result: result === 'not ok' ? 'FAILED' : result, time });
    if (result === undefined || result === 'not ok') rest.push(line);
  }
  return { rows, rest: rest.filter((line) => !line.startsWith('RESULT ')).join('\n') };
}

function printTable(rows) {
  const lines = [['test', 'result', 'time'], ...rows.map(({ name, result, time }) => [name, result, time])];
  const widths = [0, 1, 2].map((column) => Math.max(...lines.map((line) => line[column].length)));
  lines.splice(
    1,
    0,
    widths.map((width) => '-'.repeat(width)),
  );
  for (const line of lines) console.log(`| ${line.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`);
}

/** Runs the files below `root` whose path contains `filter`. Returns the number of failures, crashed files included. */
export async function runGpuSuite(root, filter = '') {
  const folder = join(root, 'build/tests/gpu');
  const files = readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith('.test.js') && file.includes(filter))
    .sort();
  if (files.length === 0) throw new Error(`no test below tests/gpu has "${filter}" in its path`);
  // A missing counterpart fails here as in CI, because this suite should run completely.
  const env = { VERBOSE: '1', CI: process.env.CI ?? '1', DLPACK_PYTHON: findPython() };
  const table = [];
  for (const file of files) {
    const start = performance.now();
    const { code, signal, output } = await runFile(join(folder, file), env);
    const time = `${((performance.now() - start) / 1000).toFixed(1)} s`;
    const { rows, rest } = readOutput(output);
    const name = file.replace('.test.js', '');
    const ended = output.includes('\nRESULT ') || output.startsWith('RESULT ');
    const failed = rows.some(({ result }) => result === 'FAILED');
    const broken = !ended || (code !== 0 && !failed);
    table.push({ name, result: broken ? `FAILED with ${signal ?? code}` : failed ? 'FAILED' : 'ok', time });
    table.push(...rows.map((row) => ({ ...row, name: `  ${row.name}` })));
    if (rest !== '') console.log(`${name}\n${rest}\n`);
  }
  printTable(table);
  const ofTests = table.filter(({ name }) => name.startsWith('  '));
  const count = (wanted) => ofTests.filter(({ result }) => result === wanted).length;
  console.log(`${count('ok')} passed, ${count('FAILED')} failed, ${count('skip')} skipped`);
  return table.filter(({ result }) => result.startsWith('FAILED')).length;
}

// As a copy in a packed folder: node gpu-suite.mjs [filter]
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const failed = await runGpuSuite(fileURLToPath(new URL('.', import.meta.url)), process.argv[2]);
  process.exitCode = failed === 0 ? 0 : 1;
}
