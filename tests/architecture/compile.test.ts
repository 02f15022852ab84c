/** The build of the addon compiles again what a change can affect, and nothing else. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { equal } from '../assert.js';
import { test } from '../harness.js';

interface Compilation {
  compile(pairs: [source: string, object: string][], flags: string[]): Promise<number>;
  link(objects: string[], output: string, flags: string[]): Promise<boolean>;
}
interface Module {
  Compilation: { with(compiler: string, folder: string): Promise<Compilation> };
  findCompiler(): Promise<string>;
  filesOfRule(text: string): string[];
}
const { Compilation, findCompiler, filesOfRule } = (await import(
  new URL('../../../scripts/lib/compile.mjs', import.meta.url).href
)) as Module;

test('a change compiles the files that it can affect', async () => {
  // ccache answers from its memory without looking for files that __has_include did not find before.
  process.env.CCACHE_DISABLE = '1';
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-compile-'));
  try {
    mkdirSync(join(folder, 'a'));
    mkdirSync(join(folder, 'b'));
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
    write('a/one.h', 'static int one() { return 1; }\n');
    write('a/one.cc', '#include "one.h"\nint f() { return one(); }\n');
    write('b/two.cc', '#if __has_include("new.h")\n#include "new.h"\n#endif\nint g() { return 2; }\n');
    const pairs: [string, string][] = [
      ['a/one.cc', 'objects/one.o'],
      ['b/two.cc', 'objects/two.o'],
    ];
    const objects = pairs.map(([, object]) => object);
    /** How many files a build compiles, and whether it links. */
    const build = async (flags: string[] = []) => {
      const compilation = await Compilation.with(await findCompiler(), folder);
      const count = await compilation.compile(pairs, ['-fPIC', ...flags]);
      return [count, await compilation.link(objects, 'out/library', ['-shared'])];
    };
    equal(await build(), [2, true], 'from scratch');
    equal(await build(), [0, false], 'nothing changed');
    write('a/one.h', 'static int one() { return 3; }\n');
    equal(await build(), [1, true], 'a header');
    write('b/two.cc', '#if __has_include("new.h")\n#include "new.h"\n#endif\nint g() { return 4; }\n');
    equal(await build(), [1, true], 'a source');
    write('b/new.h', 'int h();\n');
    equal(await build(), [1, true], 'a header that was not there before');
    write('b/new.h', 'long h();\n');
    equal(await build(), [1, true], 'and that header');
    equal(await build(['-DX']), [2, true], 'a flag');
    rmSync(join(folder, 'objects/one.o'));
    equal(await build(['-DX']), [1, false], 'an object, which is as before');
    rmSync(join(folder, 'out/library'));
    equal(await build(['-DX']), [0, true], 'the library');
    write('a/one.h', 'static int one() { return; }\n');
    const error = await build(['-DX']).catch((reason: Error) => reason);
    equal(error instanceof Error && error.message.includes('one.h'), true, 'a fault is reported');
    write('a/one.h', 'static int one() { return 3; }\n');
    equal(await build(['-DX']), [1, false], 'after the fault');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('the rule that a compiler writes can have spaces in paths and many lines', () => {
  equal(filesOfRule('o/x.o: native/x.cc native/a\\ b.h \\\n native/c.h\n'), [
    'native/x.cc',
    'native/a b.h',
    'native/c.h',
  ]);
  equal(filesOfRule('o/x.o: native\\x.cc \\\r\n C:\\include\\node_api.h\r\n'), [
    'native\\x.cc',
    'C:\\include\\node_api.h',
  ]);
});
