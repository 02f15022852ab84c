/** npx dlpack: help, exit codes and output of its commands. */
import { spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { equal, ok } from '../assert.js';
import { runtime, test } from '../harness.js';
import { dlpack, root } from './dlpack.js';

/** Tests that need flags of Node or a shell. The commands are the same on other runtimes. */
const testOnNode = (name: string, body: () => void | Promise<void>) => {
  if (runtime === 'node' && process.platform !== 'win32') test(name, body);
};

interface Report {
  schema: number;
  ok: boolean;
  checks: { name: string; state: string; text: string; remedies: string[]; advice: string[] }[];
}

test('dlpack: help and version go to the output, for each command', () => {
  for (const args of [
    ['--help'],
    ['-h'],
    ['help', 'types'],
    ['demo', '--help'],
    ['doctor', '--help'],
    ['build', '--help'],
    ['inspect', '--help'],
    ['types', '-h'],
  ]) {
    const { status, stdout, stderr } = dlpack(args);
    equal([status, stderr], [0, ''], args.join(' '));
    ok(stdout.startsWith('Usage: dlpack '), stdout);
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  equal(dlpack(['--version']).stdout, `${version}\n`);
});

test('dlpack: wrong usage exits with 2 and prints the help without a stack trace', () => {
  for (const [args, text] of [
    [[], 'Usage: dlpack <command>'],
    [['frobnicate'], 'unknown command "frobnicate"'],
    [['toString'], 'unknown command "toString"'],
    [['doctor', '--wrong'], "Unknown option '--wrong'"],
    [['doctor', '--json', '--markdown'], 'received both'],
    [['doctor', 'extra'], 'received "extra"'],
    [['build', '--out'], '--out'],
    [['build', '--out='], 'the path of a file for --out'],
    [['build', '--out', root], 'is a folder'],
    [['help', 'frobnicate'], 'unknown command "frobnicate"'],
    [['types'], 'expected the path of a library, or names of Python modules'],
  ] as const) {
    const { status, stdout, stderr } = dlpack([...args]);
    equal([status, stdout], [2, ''], `${args.join(' ')}: ${stderr}`);
    ok(stderr.includes(text) && stderr.includes('Usage: dlpack'), stderr);
    ok(!/\n\s+at /.test(stderr), stderr);
  }
});

test('dlpack types: a missing library is reported without a stack trace', () => {
  const { status, stderr } = dlpack(['types', '/no/such.so']);
  equal([status, /\n\s+at /.test(stderr)], [1, false], stderr);
});

test('dlpack doctor: every installed library exchanges, and a missing library is not a failure', () => {
  const { status, stdout } = dlpack(['doctor', '--json']);
  const report = JSON.parse(stdout) as Report;
  equal([report.schema, report.ok, status], [1, true, 0], stdout);
  const states = new Map(report.checks.map(({ name, state }) => [name, state]));
  for (const name of ['runtime', 'platform', 'addon', 'exchange']) equal(states.get(name), 'ok', stdout);
  ok(states.has('python') && states.has('tvm-ffi'), stdout);
  for (const { state, remedies, name } of report.checks) ok(state === 'ok' || remedies.length > 0, name);
  checkRemedies(report);
});

/** Each remedy is a command of a shell: it parses, and its first word is a program or a path. */
function checkRemedies({ checks }: Report): void {
  if (process.platform === 'win32') return;
  const program = /^(\w+=\S+ )*(apt|nvm|npm|npx|nvidia-smi|pyenv|unset|uv|'?\S*(python3?|node|bun|deno)[\d.]*'?)( |$)/;
  for (const remedy of checks.flatMap(({ remedies }) => remedies)) {
    equal([spawnSync('sh', ['-n', '-c', remedy]).status, program.test(remedy)], [0, true], remedy);
  }
}

test('dlpack doctor: without Python or a driver it prints the commands to run', () => {
  const empty = mkdtempSync(join(tmpdir(), 'dlpack-doctor-'));
  try {
    const env = { PATH: empty, VIRTUAL_ENV: '', TVM_FFI_LIBDIR: '', DLPACK_CUDA_DRIVER: join(empty, 'none.so') };
    const { status, stdout } = dlpack(['doctor', '--markdown'], { cwd: empty, env });
    equal(status, 0, stdout);
    checkRemedies(JSON.parse(dlpack(['doctor', '--json'], { cwd: empty, env }).stdout));
    ok(stdout.includes('| check | state | found |') && /\| python \| absent \|.*→ `/.test(stdout), stdout);
    ok(
      /\| tvm-ffi \| absent \|.*pip install apache-tvm-ffi/.test(stdout) && /\| cuda \| absent \|/.test(stdout),
      stdout,
    );
  } finally {
    rmSync(empty, { recursive: true });
  }
});

testOnNode('dlpack doctor: a Python without its library, or without pip, has a remedy of its own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack doctor '));
  try {
    const answer = {
      version: [3, 11],
      candidates: ['/none/libpython3.11.so'],
      prefix: '/usr',
      base: '/usr',
      executable: '/usr/bin/python3',
      debian: true,
    };
    const python = join(folder, 'python3');
    const remedies = (base: string): string[] => {
      writeFileSync(python, `#!/bin/sh\ncat <<'END'\n${JSON.stringify({ ...answer, base })}\nEND\n`, { mode: 0o755 });
      const env = { PATH: `${folder}:${process.env.PATH}`, VIRTUAL_ENV: '' };
      const report = JSON.parse(dlpack(['doctor', '--json'], { cwd: folder, env }).stdout) as Report;
      checkRemedies(report);
      return report.checks.find(({ name }) => name === 'python')?.remedies as string[];
    };
    equal(remedies('/usr'), ['apt install libpython3.11']);
    equal(remedies('/opt/python'), ['PYTHON_CONFIGURE_OPTS="--enable-shared" pyenv install --force 3.11']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

testOnNode('dlpack doctor: a broken environment, an old Python and a wrong variable are problems', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-doctor-'));
  try {
    const found = (env: Record<string, string>) => {
      const { status, stdout } = dlpack(['doctor', '--json'], { cwd: folder, env });
      const report = JSON.parse(stdout) as Report;
      equal([status, report.ok], [1, false], stdout);
      checkRemedies(report);
      return JSON.stringify(report.checks.find(({ name }) => name === 'python'));
    };
    const broken = found({ VIRTUAL_ENV: join(folder, 'none') });
    ok(broken.includes('problem') && broken.includes('unset VIRTUAL_ENV'), broken);
    const home = found({ VIRTUAL_ENV: join(root, '.venv'), PYTHONHOME: '/nowhere' });
    ok(home.includes('problem') && home.includes('PYTHONHOME=/nowhere'), home);
    const answer = { version: [3, 8], candidates: [], prefix: '/', base: '/', executable: '/python3' };
    writeFileSync(join(folder, 'python3'), `#!/bin/sh\ncat <<'END'\n${JSON.stringify(answer)}\nEND\n`, { mode: 0o755 });
    const old = found({ VIRTUAL_ENV: '', PATH: `${folder}:${process.env.PATH}` });
    ok(old.includes('problem') && old.includes('is 3.8'), old);
    mkdirSync(join(folder, '.venv'));
    const environment = (text: string) => {
      const shown = found({ VIRTUAL_ENV: '' });
      ok(shown.includes('problem') && shown.includes(text) && shown.includes('uv venv --clear'), shown);
    };
    environment('.venv/bin/python');
    const inside = join(folder, '.venv/bin/python');
    mkdirSync(inside, { recursive: true });
    environment('EACCES');
    rmSync(inside, { recursive: true });
    for (const [code, text] of [
      ['kill -SEGV $$', 'ended with SIGSEGV'],
      ['echo nonsense', 'said: nonsense'],
    ] as const) {
      writeFileSync(inside, `#!/bin/sh\n${code}\n`, { mode: 0o755 });
      environment(text);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

testOnNode('dlpack doctor: a library that hangs is ended, and the others are still tried', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-doctor-'));
  try {
    mkdirSync(join(folder, 'torch'));
    writeFileSync(join(folder, 'torch/__init__.py'), 'import time, signal\ntime.sleep(1000)\n');
    const env = { PYTHONPATH: folder, VIRTUAL_ENV: join(root, '.venv') };
    const { status, stdout } = dlpack(['doctor', '--json', '--timeout', '20'], { env });
    const report = JSON.parse(stdout) as Report;
    equal(status, 1, stdout);
    const named = (name: string) => report.checks.find((check) => check.name === name);
    ok(named('python')?.text.includes(`PYTHONPATH=${folder}`), stdout);
    equal(named('torch')?.state, 'problem', stdout);
    ok(named('torch')?.text.includes('took longer than 20 seconds and was ended'), stdout);
    // On a busy machine a library that does not hang may take longer, too.
    ok(named('jax') !== undefined && named('tvm-ffi') !== undefined, stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** A folder for PYTHONPATH with a package of this name. */
function fakePackage(name: string, code: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-doctor-'));
  mkdirSync(join(folder, name));
  writeFileSync(join(folder, name, '__init__.py'), code);
  return folder;
}

testOnNode('dlpack doctor: a library that aborts or is broken is a problem of its own', () => {
  for (const [name, code] of [
    ['torch', 'import os\nos.abort()\n'],
    ['numpy', 'raise ImportError("numpy is broken on purpose")\n'],
  ] as const) {
    const folder = fakePackage(name, code);
    try {
      const env = { PYTHONPATH: folder, VIRTUAL_ENV: join(root, '.venv') };
      const { status, stdout } = dlpack(['doctor', '--json'], { env });
      const report = JSON.parse(stdout) as Report;
      equal([status, report.ok], [1, false], stdout);
      const check = (named: string) => report.checks.find((it) => it.name === named);
      equal([check('python')?.state, check(name)?.state], ['ok', 'problem'], stdout);
      if (name === 'torch') equal(check('numpy')?.state, 'ok', stdout);
      else ok(check('numpy')?.text.includes('broken on purpose'), stdout);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
});

testOnNode('dlpack doctor: lines are printed as they come', async () => {
  // The library waits until this test has seen the line of NumPy, which is tried before.
  const seen = join(mkdtempSync(join(tmpdir(), 'dlpack-doctor-')), 'seen');
  const wait = `import os, time\nwhile not os.path.exists(${JSON.stringify(seen)}): time.sleep(0.05)\nraise ImportError("seen")\n`;
  const folder = fakePackage('torch', wait);
  try {
    const env = { ...process.env, PYTHONPATH: folder, VIRTUAL_ENV: join(root, '.venv') };
    const child = spawn(process.execPath, [join(root, 'dist/cli/main.js'), 'doctor', '--timeout', '600'], {
      env,
      cwd: folder,
    });
    let output = '';
    for await (const chunk of child.stdout) {
      output += chunk;
      if (/✓ numpy .*\n/.test(output) && !existsSync(seen)) {
        ok(!output.includes(' torch '), output);
        writeFileSync(seen, '');
      }
    }
    ok(existsSync(seen) && /✗ torch .*seen/.test(output), output);
  } finally {
    rmSync(folder, { recursive: true });
    rmSync(dirname(seen), { recursive: true });
  }
});

testOnNode('dlpack doctor: libraries of JavaScript in the working folder', () => {
  const { stdout } = dlpack(['doctor', '--json'], {
    cwd: join(root, '.libraries'),
    env: { VIRTUAL_ENV: join(root, '.venv') },
  });
  const { checks } = JSON.parse(stdout) as Report;
  const found = checks.filter(({ name }) => ['onnxruntime-node', 'sharp', '@huggingface/transformers'].includes(name));
  ok(found.length > 0 && found.every(({ state }) => state === 'ok'), stdout);
  const runtime = checks.find(({ name }) => name === 'onnxruntime');
  if (!found.some(({ name }) => name === 'onnxruntime-node')) return;
  equal(runtime?.state, 'ok', stdout);
  ok(/^1\.\d+\.\d+, .*onnxruntime-node.*, from onnxruntime-node, without a copy$/.test(runtime?.text ?? ''), stdout);
});

testOnNode('dlpack doctor: ONNX Runtime is absent, or its variable names no library', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-doctor-'));
  const probe = (variable: string): Report['checks'][number] => {
    const env = { DLPACK_ONNXRUNTIME: variable };
    const { stdout } = dlpack(['doctor', '--probe', 'onnxruntime'], { cwd: folder, env });
    return (JSON.parse(stdout.slice('dlpack-doctor '.length)) as Report['checks'])[0] as never;
  };
  try {
    const absent = probe('');
    equal([absent.state, absent.remedies[0]], ['absent', 'npm install onnxruntime-node']);
    const wrong = probe(join(folder, 'none.so'));
    equal([wrong.state, wrong.remedies], ['problem', ['unset DLPACK_ONNXRUNTIME']]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

testOnNode('dlpack doctor: a probe that crashes or prints is reported', () => {
  const crash = `data:text/javascript,if(process.argv.includes('python'))process.kill(process.pid,'SIGKILL');process.on('exit',()=>console.log('bye'))`;
  const { status, stdout } = dlpack(['doctor', '--json'], { node: ['--import', crash] });
  const report = JSON.parse(stdout.slice(0, stdout.lastIndexOf('}') + 1)) as Report;
  const [found] = report.checks.filter(({ state }) => state === 'problem');
  equal([status, found?.name], [1, 'python'], stdout);
  ok(found?.text.includes('SIGKILL') && found.remedies[0]?.endsWith('doctor --probe python'), stdout);
  checkRemedies(report);
});

testOnNode('dlpack doctor: an addon that does not load is a problem', () => {
  const env = { DLPACK_ADDON: '/no/such/dlpack.node', DLPACK_QUIET: '1' };
  const { status, stdout } = dlpack(['doctor'], { env });
  equal(status, 1, stdout);
  ok(stdout.includes('✗ addon') && stdout.includes('→ unset DLPACK_ADDON'), stdout);
});

testOnNode('dlpack doctor: colours on a terminal, none with NO_COLOR', () => {
  const node = ['--import', 'data:text/javascript,process.stdout.isTTY=true'];
  const env = { DLPACK_ADDON: '/no/such/dlpack.node', NO_COLOR: '' };
  ok(dlpack(['doctor'], { node, env }).stdout.includes('\u001b[31m✗'));
  ok(!dlpack(['doctor'], { node, env: { ...env, NO_COLOR: '1' } }).stdout.includes('\u001b['));
  ok(!dlpack(['doctor'], { env }).stdout.includes('\u001b['));
});

testOnNode('dlpack build: compiles every source, links, tries the addon, and writes it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-build-test-'));
  try {
    // A compiler that records its arguments. Its linked output is the addon of this build.
    const compiler = join(folder, 'c++');
    const addon = join(folder, 'addon.node');
    copyFileSync(join(root, `prebuilds/${process.platform}-${process.arch}/dlpack.node`), addon);
    writeFileSync(
      compiler,
      `#!/bin/sh\necho "$@" >> '${folder}/log'\ncase " $* " in *" --version "*) exit 0;; *" -c "*) exit 0;; esac\n` +
        `ls '${folder}/made' >> '${folder}/drafts'\nwhile [ "$1" != -o ]; do shift; done\ncp '${addon}' "$2"\n`,
      { mode: 0o755 },
    );
    const out = join(folder, 'made/dlpack.node');
    const elsewhere = join(folder, 'elsewhere');
    writeFileSync(elsewhere, 'another file');
    mkdirSync(dirname(out));
    symlinkSync(elsewhere, out);
    const { status, stdout, stderr } = dlpack(['build', '--out', out], { env: { CXX: compiler } });
    equal([status, stdout], [0, `${out}\n`], stderr);
    ok(readFileSync(out).equals(readFileSync(addon)));
    equal(readFileSync(elsewhere, 'utf8'), 'another file', 'the link is replaced, not followed');
    equal(readdirSync(dirname(out)), ['dlpack.node']);
    // The name of the unfinished file cannot be guessed, so that nobody can have put a link there.
    ok(
      /^dlpack\.node\ndlpack\.node\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\n$/.test(
        readFileSync(join(folder, 'drafts'), 'utf8'),
      ),
      readFileSync(join(folder, 'drafts'), 'utf8'),
    );
    const log = readFileSync(join(folder, 'log'), 'utf8').split('\n');
    equal(log.filter((line) => line.includes(' -c platform/posix.cc ')).length, 1);
    ok(log.some((line) => line.includes('-std=c++17') && line.includes(' -c addon.cc ')));
    // A compiler that fails: its output is printed, and nothing is written.
    writeFileSync(compiler, '#!/bin/sh\ncase " $* " in *" --version "*) exit 0;; esac\necho no luck >&2; exit 3\n');
    rmSync(out);
    const broken = dlpack(['build', '--out', out], { env: { CXX: compiler } });
    equal([broken.status, existsSync(out)], [1, false]);
    ok(broken.stderr.includes('no luck') && broken.stderr.includes('ended with exit code 3'), broken.stderr);
    equal(readdirSync(join(folder, 'made')), [], 'nothing is left beside the file');
    // A library that is not an addon is not written.
    writeFileSync(
      compiler,
      '#!/bin/sh\nwhile [ $# -gt 1 ] && [ "$1" != -o ]; do shift; done\n[ $# -gt 1 ] && echo none > "$2"\nexit 0\n',
    );
    const useless = dlpack(['build', '--out', out], { env: { CXX: compiler } });
    equal([useless.status, existsSync(out)], [1, false]);
    ok(useless.stderr.includes('the addon that was compiled'), useless.stderr);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('dlpack build: names a compiler that is missing', () => {
  const { status, stderr } = dlpack(['build', '--out', join(tmpdir(), 'never.node')], { env: { CXX: '/no/such/c++' } });
  equal(status, 1);
  ok(
    stderr.includes('a C++17 compiler') && stderr.includes('/no/such/c++') && stderr.includes('apt install g++'),
    stderr,
  );
});
