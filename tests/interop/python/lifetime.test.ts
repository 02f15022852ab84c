import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../../assert.js';
import { runChild } from '../../child.js';
import { runtime, testWith } from '../../harness.js';
import { probe, pythonMissing } from './available.js';

const missing: Record<string, string | false> = { numpy: probe('numpy').missing, torch: probe('torch').missing };

for (const what of ['sleep', 'spin', 'numpy', 'torch', 'promise', 'calls', 'thread']) {
  testWith(missing[what] ?? pythonMissing, `the process ends cleanly while Python is at work: ${what}`, () => {
    for (const how of ['exit', 'end']) {
      const { code, signal, output } = runChild(import.meta.url, './children/exit.js', { args: [how, what] });
      equal([code, signal, output.trim()], [0, null, 'leaving'], `${how}: ${output}`);
    }
  });
}

/** The output of a child that gets SIGINT once it said it is ready. */
function interrupt(...args: string[]): Promise<{ code: number | null; signal: string | null; output: string }> {
  const script = fileURLToPath(new URL('./children/idle.js', import.meta.url));
  const runtimeArgs = runtime === 'deno' ? ['run', '-A'] : [];
  const child: ChildProcess = spawn(process.execPath, [...runtimeArgs, script, ...args], { stdio: 'pipe' });
  let output = '';
  let sent = false;
  return new Promise((resolve) => {
    const read = (chunk: Buffer) => {
      output += String(chunk);
      if (sent || !output.includes('ready')) return;
      sent = true;
      // Some turns later: the computation is under way.
      setTimeout(() => child.kill('SIGINT'), 300);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.on('close', (code, signal) => resolve({ code, signal, output: output.trim() }));
  });
}

for (const what of ['idle', 'sync', 'async']) {
  testWith(pythonMissing, `Ctrl-C behaves as in JavaScript: ${what}`, async () => {
    const plain = await interrupt(what);
    // A runtime that catches the signal to clean up ends with 128 + 2.
    ok(plain.signal === 'SIGINT' || plain.code === 130, JSON.stringify(plain));
    equal(plain.output, 'ready');
    const handled = await interrupt(what, 'handler');
    equal([handled.code, handled.signal], [7, null], handled.output);
    equal(handled.output, what === 'sync' ? 'ready\ncomputed\nhandled' : 'ready\nhandled');
  });
}
