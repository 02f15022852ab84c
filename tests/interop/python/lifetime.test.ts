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

const workers: Record<string, string> = {
  objects: 'refused\nrefused\n2',
  calls: '2',
  callback: 'refused\n2',
  promise: 'refused\n2',
  thread: 'refused\n2',
};

for (const [how, expected] of Object.entries(workers)) {
  testWith(missing.numpy ?? pythonMissing, `workers end with Python at work for them: ${how}`, () => {
    for (const when of ['before', 'after']) {
      const { code, signal, output } = runChild(import.meta.url, './children/ending-workers.js', { args: [how, when] });
      equal([code, signal, output.trim()], [0, null, expected], `${when}: ${output}`);
    }
  });
}

testWith(pythonMissing, 'a function of another JavaScript thread is called from threads of Python only', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/ending-workers.js', { args: ['foreign'] });
  equal([code, signal, output.trim()], [0, null, 'refused\n1'], output);
});

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
  testWith(pythonMissing, `Ctrl-C behaves as in a program without Python: ${what}`, async () => {
    const plain = await interrupt(what);
    const { code, signal } = await interrupt('none');
    ok(signal === 'SIGINT' || code === 130, `${code} ${signal}`);
    equal([plain.code, plain.signal, plain.output], [code, signal, 'ready']);
    const expected = await interrupt('none', 'handler');
    equal(expected.output, 'ready\nhandled');
    const handled = await interrupt(what, 'handler');
    equal([handled.code, handled.signal], [expected.code, expected.signal], handled.output);
    equal(handled.output, what === 'sync' ? 'ready\ncomputed\nhandled' : 'ready\nhandled');
  });
}
