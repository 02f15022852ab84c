/** The check of prebuilt addons, and the built addons. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

interface Target {
  readonly name: string;
  readonly platform: string;
  readonly arch: string;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const load = (path: string) => import(pathToFileURL(join(root, path)).href);
const { targets, prebuildOf, sizes } = (await load('scripts/lib/targets.mjs')) as {
  targets: Target[];
  prebuildOf(name: string): string;
  sizes: { least: number; most: number };
};
const { problemsOf } = (await load('scripts/lib/check-addon.mjs')) as {
  problemsOf(target: Target, bytes: Buffer): string[];
};

const isHost = ({ platform, arch, name }: Target) =>
  platform === process.platform && arch === process.arch && !name.endsWith('-musl');
const built = targets.filter(({ name }) => existsSync(join(root, prebuildOf(name))));
const bytesOf = ({ name }: Target) => readFileSync(join(root, prebuildOf(name)));

/** A Linux library without one of its protections. */
function softened(bytes: Buffer, what: 'bindNow' | 'relro' | 'stack'): Buffer {
  const changed = Buffer.from(bytes);
  const headers = Array.from({ length: bytes.readUInt16LE(56) }, (_, i) => 64 + 56 * i);
  for (const at of headers) {
    const type = bytes.readUInt32LE(at);
    if (what === 'relro' && type === 0x6474e552) changed.writeUInt32LE(0, at); // an unused entry
    if (what === 'stack' && type === 0x6474e551) changed.writeUInt32LE(7, at + 4); // read, write, execute
    if (what !== 'bindNow' || type !== 2) continue;
    const start = Number(bytes.readBigUInt64LE(at + 8));
    for (let entry = start; bytes.readBigUInt64LE(entry) !== 0n; entry += 16) {
      // DT_BIND_NOW, DT_FLAGS and DT_FLAGS_1 become another tag.
      if ([24n, 30n, 0x6ffffffbn].includes(bytes.readBigUInt64LE(entry))) changed.writeBigUInt64LE(21n, entry);
    }
  }
  return changed;
}

test('prebuilds: eight targets, each in its own folder', () => {
  equal(
    targets.map(({ name }) => name),
    [
      'linux-x64',
      'linux-arm64',
      'linux-x64-musl',
      'linux-arm64-musl',
      'darwin-x64',
      'darwin-arm64',
      'win32-x64',
      'win32-arm64',
    ],
  );
});

test('prebuilds: every built addon fits its platform', () => {
  ok(built.some(isHost), 'the addon of this machine');
  for (const target of built) {
    const problems = problemsOf(target, bytesOf(target));
    // An addon that `npm run build` made has debug symbols.
    equal(isHost(target) ? problems.filter((problem) => !problem.startsWith('its size')) : problems, [], target.name);
  }
});

test('prebuilds: the check finds addons that were linked wrongly', () => {
  const [host] = built.filter(isHost) as [Target];
  const bytes = bytesOf(host);
  const refused = (target: Target, changed: Buffer) => problemsOf(target, changed).join('; ');
  equal(refused(host, Buffer.alloc(sizes.least)), 'not a library of Linux, macOS or Windows');
  for (const other of targets.filter(({ platform }) => platform !== host.platform)) {
    ok(refused(other, bytes).startsWith('a library for '), other.name);
  }
  const replaced = (from: string, to: string) => {
    equal(from.length, to.length);
    return Buffer.from(bytes.toString('latin1').replaceAll(from, to), 'latin1');
  };
  ok(refused(host, replaced('napi_register_module_v1', 'napi_register_module_v2')).includes('napi_register_module_v1'));
  ok(refused(host, Buffer.concat([bytes, Buffer.from(root)])).includes('path of the build'));
  ok(refused(host, replaced('.visible .entry', '.visible .other')).includes('no kernels for CUDA'));
  ok(refused({ ...host, hasCuda: false } as Target, bytes).includes('has kernels for CUDA'));
  ok(refused(host, Buffer.concat([bytes, Buffer.alloc(sizes.most)])).includes('its size'));
  if (host.platform !== 'linux') return;
  ok(refused(host, replaced('__stack_chk_fail', '__stack_chk_fall')).includes('do not guard the stack'));
  const unchecked = Buffer.from(bytes.toString('latin1').replace(/(__\w+)_chk\0/g, '$1_chx\0'), 'latin1');
  ok(refused(host, unchecked).includes('do not check sizes'));
  for (const [what, problem] of [
    ['bindNow', 'table of imports stays writable'],
    ['relro', 'table of imports stays writable'],
    ['stack', 'makes the stack executable'],
  ] as const) {
    ok(refused(host, softened(bytes, what)).includes(problem), what);
  }
  ok(refused(host, replaced('libc.so.6', 'libx.so.6')).includes('it needs libx.so.6'));
  ok(refused(host, replaced('GLIBC_2.17', 'GLIBC_2.34')).includes('it needs glibc 2.34'));
  ok(refused(host, replaced('napi_create_function', 'napi_create_xunction')).includes('napi_create_xunction'));
});

/** A library of macOS with a table of indirect symbols. */
function machO(symbolCount: number, indirect: readonly number[]): Buffer {
  const bytes = Buffer.alloc(32 + 24 + 80 + 4 * indirect.length + 16 * symbolCount);
  const words: [at: number, word: number][] = [
    [0, 0xfeedfacf],
    [4, 16777228],
    [12, 6],
    [16, 2],
    [32, 2], // the symbols are in the zeros at the end: private ones
    [36, 24],
    [40, 136 + 4 * indirect.length],
    [44, symbolCount],
    [56, 0xb],
    [60, 80],
    [112, 136],
    [116, indirect.length],
    ...indirect.map((symbol, i): [number, number] => [136 + 4 * i, symbol]),
  ];
  for (const [at, word] of words) bytes.writeUInt32LE(word, at);
  return bytes;
}

test('prebuilds: the check finds what the linker for macOS leaves unwritten', () => {
  const target = targets.find(({ name }) => name === 'darwin-arm64') as Target;
  const finds = (indirect: readonly number[]) =>
    problemsOf(target, machO(3, indirect)).some((each) => each.includes('random bytes'));
  equal(finds([0, 2, 0x80000000, 0xc0000000]), false);
  equal(finds([0, 2, 3]), true);
});
