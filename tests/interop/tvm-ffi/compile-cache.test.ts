/** The cache of compiled kernels: what is built again, processes that build at once, and who can write to it. */

import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CompileOptions, compile, compileLibrary } from 'dlpack/tvm-ffi';
import { equal, notEqual, ok, rejects } from '../../assert.js';
import { runtimeArgs } from '../../child.js';
import { runtime, testWith } from '../../harness.js';
import { add, type Iota, standIn, withFolder } from './compilers.js';
import { kernelsMissing } from './peer.js';

const windows = process.platform === 'win32' ? 'modes of files' : false;

testWith(kernelsMissing, 'a library is built once, and again when an included file or the library changes', () =>
  withFolder(async (folder) => {
    const { compiler, header, lines } = standIn(folder);
    const options: CompileOptions = { cpp: add, includes: [folder], compiler, cache: folder };
    const first = await compileLibrary(options);
    equal([await compileLibrary(options), lines().length], [first, 2]);
    equal((await compile<Iota>(options)).iota(2).toArray(), [0, 1]);
    equal(lines().length, 2);
    writeFileSync(header, '#define STEP 5\n');
    const path = await compileLibrary(options);
    notEqual(path, first);
    equal([await compileLibrary(options), lines().length], [path, 4]);
    const whole = readFileSync(path);
    writeFileSync(path, whole.subarray(0, 100));
    equal([await compileLibrary(options), lines().length], [path, 6]);
    ok(readFileSync(path).equals(whole), 'the damaged library was replaced');
    const kernels = join(folder, 'kernels');
    for (const name of readdirSync(kernels)) {
      if (name.endsWith('.json')) writeFileSync(join(kernels, name), '{"library":');
    }
    equal([await compileLibrary(options), lines().length], [path, 8]);
    // Each part of the request is a part of the key.
    const others = [{ cpp: `${add}\n` }, { functions: ['add'] }, { flags: ['-O3'] }, { linkFlags: ['-lm'] }];
    for (const [i, other] of others.entries()) {
      await compileLibrary({ ...options, ...other });
      equal(lines().length, 10 + 2 * i, Object.keys(other)[0]);
    }
    equal(
      readdirSync(kernels).filter((name) => !/^[0-9a-f]{64}\.(so|json)$/.test(name)),
      [],
    );
  }),
);

testWith(kernelsMissing, 'a file that changes while it is compiled is compiled again', () =>
  withFolder(async (folder) => {
    // The first compiler changes the header after it has started.
    const first = `if [ ! -e '${folder}/changed' ]; then
  touch '${folder}/changed'
  while [ ! '${folder}/my constants.h' -nt cpp.cc ]; do echo '#define STEP 2' > '${folder}/my constants.h'; done
fi`;
    const { compiler, lines } = standIn(folder, { first });
    const options: CompileOptions = { cpp: add, compiler, cache: folder };
    await compileLibrary(options);
    const path = await compileLibrary(options);
    equal([await compileLibrary(options), lines().length], [path, 4]);
  }),
);

testWith(kernelsMissing, 'variables and processors that change the result are parts of the key', () =>
  withFolder(async (folder) => {
    const { compiler, lines } = standIn(folder);
    const options: CompileOptions = { cpp: add, compiler, cache: folder };
    const { CPATH } = process.env;
    try {
      process.env.CPATH = folder;
      await compileLibrary(options);
      process.env.CPATH = join(folder, 'other');
      await compileLibrary(options);
    } finally {
      if (CPATH === undefined) delete process.env.CPATH;
      else process.env.CPATH = CPATH;
    }
    equal(lines().length, 4);
  }),
);

testWith(kernelsMissing || windows, 'a cache that others can write to is refused', () =>
  withFolder(async (folder) => {
    const { compiler, lines } = standIn(folder);
    const options: CompileOptions = { cpp: add, compiler, cache: folder };
    await compileLibrary(options);
    const kernels = join(folder, 'kernels');
    equal(statSync(kernels).mode & 0o777, 0o700);
    const refused = () => rejects('LoadError', 'other users can write to the cache', compileLibrary(options));
    for (const mode of [0o777, 0o720]) {
      chmodSync(kernels, mode);
      await refused(); // one that is found
      await rejects('LoadError', 'chmod go-w', compileLibrary({ ...options, flags: [`-D${mode}`] })); // and a new one
    }
    chmodSync(kernels, 0o700);
    for (const mode of [0o777, 0o775]) {
      chmodSync(folder, mode);
      await refused();
    }
    chmodSync(folder, 0o1777);
    await compileLibrary(options);
    equal(lines().length, 6);
    equal(
      readdirSync(kernels).filter((name) => !/^[0-9a-f]{64}\.(so|json)$/.test(name)),
      [],
    );
  }),
);

testWith(kernelsMissing || windows, 'every folder above the cache counts, behind links, too', () =>
  withFolder(async (folder) => {
    const { compiler } = standIn(folder);
    const outer = join(folder, 'outer');
    const cache = join(outer, 'inner', 'cache');
    const link = join(folder, 'link');
    mkdirSync(cache, { recursive: true });
    symlinkSync(cache, link);
    const options: CompileOptions = { cpp: add, compiler };
    const first = await compileLibrary({ ...options, cache: link });
    equal(first.startsWith(realpathSync(cache)), true, 'the real path is returned');
    for (const [at, mode] of [
      [outer, 0o777],
      [outer, 0o775],
      [join(outer, 'inner'), 0o757],
    ] as const) {
      chmodSync(at, mode);
      for (const given of [cache, link]) await rejects('LoadError', at, compileLibrary({ ...options, cache: given }));
      chmodSync(at, 0o755);
    }
    equal(await compileLibrary({ ...options, cache }), first);
  }),
);

const notRoot = process.geteuid?.() === 0 ? false : 'root, to make a folder of another user';

testWith(
  kernelsMissing || notRoot,
  'a sticky folder of another user is refused, because its owner can replace files',
  () =>
    withFolder(async (folder) => {
      const { compiler } = standIn(folder);
      const theirs = join(folder, 'theirs');
      mkdirSync(theirs);
      chownSync(theirs, 65534, 65534);
      chmodSync(theirs, 0o1777);
      const options: CompileOptions = { cpp: add, compiler };
      await rejects('LoadError', 'owner 65534 and mode 1777', compileLibrary({ ...options, cache: theirs }));
      // The same holds for the folder in which the compiler works.
      await withTemporary(theirs, () =>
        rejects(
          'LoadError',
          'other users can write to the temporary folder',
          compileLibrary({ ...options, cache: folder }),
        ),
      );
      equal(
        readdirSync(theirs).filter((name) => name !== 'kernels'),
        [],
      );
    }),
);

/** Runs an action with another folder for temporary files. */
async function withTemporary(folder: string, action: () => Promise<unknown>): Promise<void> {
  const { TMPDIR } = process.env;
  process.env.TMPDIR = folder;
  try {
    await action();
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
}

testWith(kernelsMissing || windows, 'a temporary folder that cannot be used is a typed error', () =>
  withFolder(async (folder) => {
    const { compiler } = standIn(folder);
    const refused = (text: string, cpp: string) => () =>
      rejects('LoadError', text, compileLibrary({ cpp, compiler, cache: folder }));
    await withTemporary(join(folder, 'missing'), refused('ENOENT', `${add}\n`));
    await withTemporary('/proc', refused('the temporary folder cannot be written', `${add}\n\n`));
    const small = join(folder, 'small');
    mkdirSync(small);
    // Only root can mount, and not everywhere.
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4k,mode=700', 'tmpfs', small]).status !== 0) return;
    try {
      await withTemporary(small, refused('ENOSPC', `${add} // ${'x'.repeat(100_000)}`));
      equal(spawnSync('mount', ['-o', 'remount,ro', small]).status, 0);
      await withTemporary(small, refused('EROFS', `${add}\n\n\n`));
    } finally {
      spawnSync('umount', [small]);
    }
  }),
);

testWith(kernelsMissing, 'two processes that build at once both succeed', () =>
  withFolder(async (folder) => {
    // Each compiler waits until the other one runs, too.
    const first = `touch '${folder}'/at.$$; i=0
while [ $(ls '${folder}' | grep -c '^at\\.') -lt 2 ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done`;
    const { compiler, lines } = standIn(folder, { first });
    const options = { cpp: add, compiler, cache: folder };
    const script = fileURLToPath(new URL('./children/compile.js', import.meta.url));
    const run = () =>
      new Promise<string>((resolve) => {
        const child = spawn(process.execPath, [...runtimeArgs[runtime], script, JSON.stringify(options)]);
        let output = '';
        const collect = (chunk: unknown) => {
          output += String(chunk);
        };
        child.stdout.on('data', collect);
        child.stderr.on('data', collect);
        child.on('close', () => resolve(output));
      });
    const results = await Promise.all([run(), run()]);
    for (const result of results) ok(result.startsWith('{'), result);
    const [one, other] = results.map((result) => JSON.parse(result) as { path: string; values: number[] });
    equal([one?.values, other?.values, lines().length], [[0, 1, 2], [0, 1, 2], 4]);
    equal(one?.path, other?.path);
  }),
);

testWith(kernelsMissing, 'two builds of the same source in one process run the compiler once', () =>
  withFolder(async (folder) => {
    const { compiler, lines } = standIn(folder);
    const options = { cpp: add, compiler: compiler.join(' '), cache: folder };
    const modules = await Promise.all([compile<Iota>(options), compile<Iota>(options)]);
    equal([...modules.map(({ iota }) => iota(1).toArray()), lines().length], [[0], [0], 2]);
  }),
);
