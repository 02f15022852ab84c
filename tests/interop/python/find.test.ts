import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LoadError } from 'dlpack';
import { python } from 'dlpack/python';
import { runExecutable } from '../../../src/python/interpreter/executable.js';
import { equal, ok, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { runtime, test, testWith } from '../../harness.js';
import { py, pythonMissing, value } from './available.js';

const folder = mkdtempSync(join(tmpdir(), 'dlpack-python-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** An executable that behaves like Python. */
function fake(name: string, answer: object | string): string {
  const path = join(folder, name);
  const text = typeof answer === 'string' ? answer : `cat <<'END'\n${JSON.stringify(answer)}\nEND`;
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

const answer = {
  version: [3, 11],
  shared: true,
  candidates: ['/nowhere/libpython3.11.so'],
  prefix: folder,
  base: folder,
  executable: join(folder, 'python3'),
};

/** Each in its own process, because a process has one Python. */
function refused(options: object, ...texts: string[]): void {
  const { code, output } = runChild(import.meta.url, './children/start.js', { args: [JSON.stringify(options)] });
  equal(code, 0, output);
  ok(/(LoadError|Argument\w+Error): /.test(output), output);
  for (const text of texts) ok(output.includes(text), `expected ${text} in\n${output}`);
}

test('no Python: the error says what to install and how to name one', () => {
  refused({ executable: join(folder, 'missing') }, 'ENOENT', 'install Python 3.9 or newer', 'python({ executable:');
  refused({ venv: join(folder, 'no-venv') }, 'no-venv/bin/python', 'install Python 3.9');
  refused({ executable: fake('broken', 'echo "broken pipe" >&2; exit 3') }, 'broken pipe', 'install Python');
  refused({ executable: fake('silent', 'exit 3') }, 'ended with 3', 'install Python');
  refused({ executable: fake('chatty', 'echo "no json"') }, 'no json', 'name a Python');
});

test('a folder .venv without a Python: the error says so; a file of this name is no environment', () => {
  const start = (place: string) => {
    const env = { VIRTUAL_ENV: '', PATH: join(folder, 'nothing') };
    return runChild(import.meta.url, './children/start.js', { args: ['{}'], env, cwd: join(folder, place) }).output;
  };
  mkdirSync(join(folder, 'empty', '.venv'), { recursive: true });
  mkdirSync(join(folder, 'name'));
  writeFileSync(join(folder, 'name', '.venv'), 'work\n');
  const text = start('empty');
  ok(/LoadError: .*\.venv\/bin\/python: .*do: delete the folder \.venv, or make it anew/s.test(text), text);
  ok(/LoadError: .*tried: python3: /s.test(start('name')), start('name'));
});

test('an executable that answers with something else, or never', () => {
  const answers = ['null', '5', '{}', '[]', '{"version":"3.11"}', '{"version":[3,11]}'];
  for (const text of [...answers, '{"version":[3,11],"candidates":[5],"prefix":"","base":"","executable":""}'])
    refused({ executable: fake('other', `echo '${text}'`) }, `said: ${text}`, 'name a Python');
  const executable = fake('hanging', 'exec sleep 1000');
  throws('LoadError', 'no answer in 0.2 seconds', () => runExecutable(executable, ['-c', 'pass'], 200));
});

testWith(pythonMissing, 'a PYTHONHOME of another Python: the error names the variable', () => {
  const { executable } = py.import('sys') as { executable: string };
  const start = (home: string) =>
    runChild(import.meta.url, './children/start.js', {
      args: [JSON.stringify({ executable })],
      env: { PYTHONHOME: home },
    });
  const { code, output } = start('/nowhere');
  equal(code, 0, output);
  for (const text of ['LoadError: ', 'PYTHONHOME=/nowhere', 'unset PYTHONHOME']) ok(output.includes(text), output);
  ok(start(value<string>(py.import('sys').base_prefix)).output.includes('started 3.'));
});

test('the error for a Python that is too old', () => {
  refused({ executable: fake('python2', { ...answer, version: [2, 7] }) }, 'is 2.7', 'use Python 3.9 or newer');
  refused({ executable: fake('python38', { ...answer, version: [3, 8] }) }, 'is 3.8', 'use Python 3.9 or newer');
});

test('the error for a Python without a shared library', () => {
  const executable = fake('static', { ...answer, shared: false });
  refused({ executable }, '/nowhere/libpython3.11.so', '--enable-shared', 'python({ library:');
  const folderLibrary = join(folder, 'libpython3.11.a');
  writeFileSync(folderLibrary, '');
  refused({ executable: fake('archive', { ...answer, candidates: [folderLibrary] }) }, '--enable-shared');
});

test('a file that is not a library, and a library that is not libpython', () => {
  const broken = join(folder, 'libpython3.11.so');
  writeFileSync(broken, 'text');
  refused({ executable: fake('broken-library', { ...answer, candidates: [broken] }) }, broken, 'use a CPython 3.9');
  mkdirSync(join(folder, 'lib'), { recursive: true });
  const other = process.platform === 'darwin' ? '/usr/lib/libSystem.B.dylib' : 'libc.so.6';
  refused({ executable: fake('other-library', answer), library: other }, 'has no Py_', 'Python 3.9 or newer');
});

testWith(pythonMissing, 'a missing module: the error has the command that installs it', () => {
  let error: unknown;
  try {
    py.import('no_such_module_here.part');
  } catch (thrown) {
    error = thrown;
  }
  ok(error instanceof LoadError, String(error));
  ok(error.suggestions[0]?.includes('-m pip install no_such_module_here'), error.message);
  ok((error.cause as { type?: string }).type === 'ModuleNotFoundError');
});

testWith(pythonMissing, 'a missing module whose package has another name', () => {
  for (const [module, name] of [
    ['cv2', 'opencv-python'],
    ['skimage.io', 'scikit-image'],
    ['bs4', 'beautifulsoup4'],
  ] as const)
    throws('LoadError', `-m pip install ${name}`, () => py.import(module));
});

testWith(pythonMissing, 'a name with a NUL character is no module', () => {
  throws('ValueError', 'without a NUL character', () => py.import('math\0evil'));
});

testWith(pythonMissing, 'an installed module that lacks another module: the error names the missing module', () => {
  const name = `lacking_${process.pid}`;
  writeFileSync(join(folder, `${name}.py`), 'import no_such_module_there\n');
  py.import('sys').path.append(folder);
  let error: unknown;
  try {
    py.import(name);
  } catch (thrown) {
    error = thrown;
  }
  ok(error instanceof LoadError && error.message.includes('no_such_module_there'), String(error));
  ok(error.suggestions[0]?.includes('pip install no_such_module_there'), error.message);
});

testWith(pythonMissing, 'options that make no sense', () => {
  const { code, output } = runChild(import.meta.url, './children/start.js', { args: ['{"threads":0.5}'] });
  equal(code, 0, output);
  ok(output.includes('threads'), output);
});

test('Debian without the package of libpython: the error names the package', () => {
  const executable = fake('debian', { ...answer, base: '/usr', prefix: '/usr', debian: true });
  refused({ executable }, 'apt install libpython3.11', 'python({ library:');
});

testWith(pythonMissing, 'modules in the working folder are not imported', () => {
  const working = mkdtempSync(join(folder, 'cwd-'));
  for (const name of ['json', 'os', 'sysconfig'])
    writeFileSync(join(working, `${name}.py`), 'open("RAN", "w").close()\n');
  const executable = value<string>(py.import('sys').executable);
  const { code, output } = runChild(import.meta.url, './children/start.js', {
    args: [JSON.stringify({ executable })],
    cwd: working,
  });
  equal(code, 0, output);
  ok(output.includes('started 3.'), output);
  equal(existsSync(join(working, 'RAN')), false);
});

/** Flags with which this runtime loads native code and may not start processes. */
const withoutProcesses =
  runtime === 'deno'
    ? ['run', '--no-prompt', '--allow-ffi', '--allow-read', '--allow-env']
    : runtime === 'node' && Number(process.versions.node.split('.')[0]) >= 23
      ? ['--permission', '--allow-fs-read=*', '--allow-addons']
      : null;

if (withoutProcesses !== null) {
  test('no permission to start Python: the error names the permission', () => {
    const { output } = runChild(import.meta.url, './children/start.js', {
      args: ['{}'],
      runtimeArgs: withoutProcesses,
    });
    ok(output.includes('LoadError') && output.includes('may not start processes'), output);
    ok(output.includes('--allow-run') && output.includes('--allow-child-process'), output);
  });
}

testWith(pythonMissing, 'a later call with the same options or without options returns the same Python', () => {
  const { executable } = py.import('sys') as { executable: string };
  equal(python() === py, true);
  equal(python({ executable }) === py, true);
});

testWith(
  pythonMissing,
  'a worker uses the Python that runs, without a search, and throws only if it names another',
  () => {
    const { executable } = py.import('sys') as { executable: string };
    const { code, output } = runChild(import.meta.url, './children/attach.js', {
      args: [JSON.stringify({ executable })],
    });
    equal(code, 0, output);
    const [first, second, third, ...rest] = output.trim().split('\n');
    equal([first, second, rest], ['the same', 'the same', []], output);
    ok(third?.includes('as in the first call for venv but received') && third.includes('/another'), output);
  },
);

testWith(pythonMissing, 'a later call that names another Python throws and says which option differs', () => {
  throws('ValueError', 'as in the first call for executable but received', () =>
    python({ executable: '/nowhere/python3' }),
  );
  throws('ValueError', 'as in the first call for library but received', () =>
    python({ library: '/nowhere/libpython3.so' }),
  );
  throws('ValueError', 'as in the first call for venv but received', () => python({ venv: '/nowhere' }));
  throws('ValueError', 'as in the first call for threads but received', () => python({ threads: 77 }));
});

test('a misspelt option is refused, and the error names the nearest option', () => {
  throws('TypeError', "did you mean 'executable'?", () => python({ executible: '/usr/bin/python3' } as never));
  throws('TypeError', "did you mean 'copy'?", () => py.tensor(null as never, undefined, { cpoy: true } as never));
});

test('options of the wrong type, or out of their range, are refused before Python starts', () => {
  refused({ executable: 3 }, 'TypeError: Expected a path for executable but received 3');
  refused({ threads: 0 }, 'a number from 1 to 128 for threads but received 0');
  refused({ signals: 'none' }, "'javascript' or 'python' for signals");
  refused({ exitTimeout: -1 }, 'milliseconds from 0 to 3600000 for exitTimeout');
});

test('a path in place of options is refused', () => {
  throws('TypeError', '{ executable: "/path/to/python3" } for options', () => python('/usr/bin/python3' as never));
});

testWith(pythonMissing, 'Python starts again after a start that failed', () => {
  const modules = join(folder, 'modules');
  mkdirSync(modules);
  writeFileSync(join(modules, 'signal.py'), 'raise ImportError("as asked")\n');
  const { code, output } = runChild(import.meta.url, './children/start-again.js', { env: { PYTHONPATH: modules } });
  equal([code, output.trim()], [0, 'failed\nnamed 7 <dlpack.Function named>'], output);
});
