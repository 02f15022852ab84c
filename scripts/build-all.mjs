// npm run build:all [-- target ...]: builds the addons of all platforms that the package ships, on one machine. With
// --layer it compiles only native/platform for each target. This checks the parts that differ between systems in
// seconds. With --twice it builds each addon again from a copy of the sources in another folder, and compares the bytes.
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { compileFlags, linkFlags, sources } from '../native/flags.mjs';
import { assertAddon } from './lib/check-addon.mjs';
import { headers, warningFlags } from './lib/native.mjs';
import { checkNode, installPackages } from './lib/setup.mjs';
import { at, inParallel, Missing, main, run, step, whenChanged } from './lib/steps.mjs';
import { addonInputs, linkedOf, prebuildOf, targets } from './lib/targets.mjs';
import { installZig, zig } from './lib/zig.mjs';

const objectOf = (folder, source) => join(folder, `${source.replaceAll('/', '-')}.o`);

/** Zig has GCC's helper functions in its own library, and old C libraries have threads in a second file. */
function zigLinkFlags({ platform }) {
  const flags = linkFlags(platform).filter((flag) => flag !== '-lgcc' && flag !== '-nodefaultlibs');
  // For macOS `-s` leaves the names of local functions. On Windows a hash of the content takes the place of the time.
  const more = { linux: ['-lpthread'], darwin: ['-Wl,-x'], win32: ['-Wl,-Brepro'] }[platform];
  return [...flags, ...more, '-s'];
}

/**
 * Without exceptions nothing needs the tables for unwinding the stack, which took 70 KB of the packed package. Addons of
 * `npm run build` and `dlpack build` have them, for debuggers, and macOS and Windows read them after a crash.
 */
const withoutTables = ({ platform }) =>
  platform === 'linux' ? ['-fno-unwind-tables', '-fno-asynchronous-unwind-tables'] : [];

const isOfLayer = (source) => source.startsWith('platform/');

/** Compiles in `root`, which has the same folders as the repository. */
async function compileInto(folder, target, files, root = at(''), env = {}) {
  rmSync(join(root, folder), { recursive: true, force: true });
  mkdirSync(join(root, folder), { recursive: true });
  const flags = [
    ...warningFlags,
    ...compileFlags(target.platform, headers),
    ...withoutTables(target),
    '-target',
    target.zig,
  ];
  await inParallel(files, (source) =>
    run(zig(), ['c++', ...flags, '-c', `native/${source}`, '-o', objectOf(folder, source)], { cwd: root, env }),
  );
}

/** Compiles and links the addon in `folder` of `root`, and returns its path. */
async function compile(target, folder, root = at(''), env = {}) {
  await compileInto(folder, target, sources(), root, env);
  const objects = sources().map((source) => objectOf(folder, source));
  const linked = join(folder, 'dlpack.node');
  await run(zig(), ['cc', '-target', target.zig, ...objects, '-o', linked, ...zigLinkFlags(target)], { cwd: root });
  return join(root, linked);
}

/**
 * Builds the addon again in another folder. Throws when its bytes differ. Zig must not take objects from its cache, nor the
 * linked file, which it knows by the paths of the objects. It may take the C library of the target.
 */
const buildAgain = (target) =>
  step(`C++: ${target.name} in another folder`, async () => {
    const root = mkdtempSync(join(tmpdir(), 'dlpack-reproducible-'));
    try {
      for (const folder of ['native', 'include', headers]) cpSync(at(folder), join(root, folder), { recursive: true });
      const again = await compile(target, 'again', root, { ZIG_LOCAL_CACHE_DIR: join(root, 'zig-cache') });
      if (!readFileSync(again).equals(readFileSync(at(linkedOf(target.name))))) {
        throw new Error(`${target.name} differs when it is built in another folder`);
      }
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
    return 'the same bytes';
  });

const build = (target) =>
  step(`C++: ${target.name}`, async () => {
    await whenChanged(`native-${target.name}`, addonInputs, [linkedOf(target.name)], () =>
      compile(target, dirname(linkedOf(target.name))),
    );
    const path = at(prebuildOf(target.name));
    mkdirSync(join(path, '..'), { recursive: true });
    copyFileSync(at(linkedOf(target.name)), path);
    assertAddon(target);
    return `${(statSync(path).size / 1024).toFixed(0)} KB, checked`;
  });

const compileLayer = (target) =>
  step(`C++: native/platform for ${target.name}`, () =>
    compileInto(`.cache/objects/layer-${target.name}`, target, sources().filter(isOfLayer)),
  );

await main(async () => {
  const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
  const action = process.argv.includes('--layer') ? compileLayer : build;
  const isTwice = process.argv.includes('--twice');
  const unknown = wanted.filter((name) => !targets.some((target) => target.name === name));
  if (unknown.length > 0) {
    throw new Missing(`a target named ${unknown.join(', ')}; there are ${targets.map(({ name }) => name).join(', ')}.`);
  }
  checkNode();
  await installPackages();
  await installZig();
  for (const target of targets) {
    if (wanted.length > 0 && !wanted.includes(target.name)) continue;
    await action(target);
    if (isTwice) await buildAgain(target);
  }
});
