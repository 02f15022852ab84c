import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const source = fileURLToPath(new URL('../../../src', import.meta.url));

/**
 * The allowed imports: each module may import modules of earlier rows. A module is a file, or a folder of src. Later rows
 * may import earlier ones, and what `also` names; never the other way round.
 */
const layers: readonly (readonly string[])[] = [
  ['errors'],
  ['base'],
  ['dtype-table'],
  ['dtype', 'device', 'layout'],
  ['view-layout'],
  ['storage'],
  ['values'],
  ['protocol'],
  ['content'],
  ['view'],
  ['join', 'out'],
  ['tensor'],
  ['spec', 'scope'],
  ['from-dlpack'],
  ['abi', 'mdspan', 'files', 'adapters', 'matchers', 'conformance', 'debug', 'index'],
  ['webgpu'],
  ['native', 'wasm'],
  ['pyodide'],
  ['index.node', 'browser'],
  ['mdspan.node', 'files/node'],
  ['shared', 'python', 'tvm-ffi', 'cuda', 'onnxruntime'],
  ['ray'],
  ['cli'],
];
/** A subpath with native code loads the entry that gives the core native memory. */
const allowed = new Set(['native/index > index.node']);

/** The only module that loads modules of the runtime. `cli` imports them, because no program waits for its start. */
const nodeModules = 'native/load/node-modules';

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isType: boolean;
}

function files(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const from = relative(source, file).replace(/\.ts$/, '');
  const statement = /^(?:import|export)\s(type\s)?(?:\{[^}]*\}|\*(?:\sas\s\w+)?)\sfrom\s'([^']+)'|^import\s'([^']+)'/gm;
  return [...text.matchAll(statement)].map((match) => {
    const path = (match[2] ?? match[3]) as string;
    const to = path.startsWith('.') ? relative(source, join(dirname(file), path)).replace(/\.js$/, '') : path;
    return { from, to, isType: match[1] !== undefined };
  });
}

const imports = files(source).flatMap(importsOf);
const modules = new Set(layers.flat());
/** The folder inside a folder where the table names it, else the folder, or the file itself. */
const moduleOf = (file: string) => {
  const [first, second] = file.split('/') as [string, string?];
  return modules.has(`${first}/${second}`) ? `${first}/${second}` : first;
};
const levelOf = (module: string) => layers.findIndex((row) => row.includes(module));

test('the table names every module', () => {
  ok(imports.length > 100, `${imports.length} imports found`);
  for (const { from } of imports) ok(levelOf(moduleOf(from)) >= 0, `${from} is in no layer`);
});

test('imports point down', () => {
  for (const { from, to, isType } of imports) {
    if (to.startsWith('node:')) {
      ok(isType || moduleOf(from) === 'cli', `${from} imports ${to}`);
      continue;
    }
    ok(levelOf(moduleOf(to)) >= 0, `${from} imports ${to}, which is no module of this package`);
    if (moduleOf(from) === moduleOf(to) || allowed.has(`${from} > ${to}`)) continue;
    ok(levelOf(moduleOf(to)) < levelOf(moduleOf(from)), `${from} imports ${to}`);
  }
});

test('an export that changes after its module was loaded is used in its own folder', () => {
  for (const file of files(source)) {
    const text = readFileSync(file, 'utf8');
    const later = text.replaceAll(/^ {2}static \{\n.*?^ {2}\}\n/gms, ''); // a static block runs while the module is loaded
    const from = relative(source, file).replace(/\.ts$/, '');
    for (const [, name] of text.matchAll(/^export let (\w+)/gm)) {
      if (!new RegExp(`\\b${name} = `).test(later)) continue;
      const users = imports.filter(({ to }) => to === from).map((found) => found.from);
      for (const user of users) equal(moduleOf(user), moduleOf(from), `${user} imports ${name} of ${from}`);
    }
  }
});

test('modules of the runtime are loaded when they are used', () => {
  for (const file of files(source)) {
    const name = relative(source, file).replace(/\.ts$/, '');
    ok(name === nodeModules || !readFileSync(file, 'utf8').includes('getBuiltinModule'), name);
  }
});

test('no cycles between files, types included', () => {
  const edges = new Map<string, string[]>();
  for (const { from, to } of imports) edges.set(from, [...(edges.get(from) ?? []), to]);
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    equal(path.includes(file), false, `cycle: ${[...path, file].join(' > ')}`);
    if (done.has(file)) return;
    for (const to of edges.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of edges.keys()) visit(file, []);
});

/** The names that a file imports from another file of its own module. */
function ownImports(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const from = relative(source, file).replace(/\.ts$/, '');
  const statement = /^import\s\{([^}]*)\}\sfrom\s'(\.[^']+)'/gm;
  return [...text.matchAll(statement)].flatMap(([, names = '', path = '']) => {
    if (moduleOf(relative(source, join(dirname(file), path))) !== moduleOf(from)) return [];
    return names.split(',').map((name) =>
      (
        name
          .trim()
          .split(/\s+as\s+/)
          .at(-1) as string
      ).trim(),
    );
  });
}

/**
 * The objects that a text fills when it is loaded, of those with these names. A prototype also counts inside of a function, which
 * may run while the text is loaded: a class is complete where it is written.
 */
function filledAtLoad(text: string, names: readonly string[]): string[] {
  const filled =
    /^(?:Object\.(?:assign|definePropert(?:y|ies)|setPrototypeOf)\((\w+)|(\w+)(?:\.\w+|\[[^\]]*\])*(?:(?:\.\w+|\[[^\]]*\]) = |\.(?:set|push|add)\())/gm;
  const prototype =
    /\bObject\.(?:assign|definePropert(?:y|ies)|setPrototypeOf)\((\w+)\.prototype\b|\b(\w+)\.prototype(?:\.\w+|\[[^\]]*\]) = /g;
  return [...text.matchAll(filled), ...text.matchAll(prototype)]
    .map((match) => (match[1] ?? match[2]) as string)
    .filter((name) => names.includes(name));
}

/** The functions with these names that a text calls when it is loaded, for what they do: `setX(f)` fills X as an assignment would. */
function calledAtLoad(text: string, names: readonly string[]): string[] {
  return [...text.matchAll(/^(?:void )?(\w+)(?:\.\w+)?\(/gm)]
    .map((match) => match[1] as string)
    .filter((name) => names.includes(name));
}

/** Calls at load that give another file of their module nothing of their own. */
const honestCalls = [
  'cuda/index > register', // fills registries of storage/
  'native/wire/wire > WireHeader', // a number on the wire
  'webgpu/index > register', // as of cuda
];

test('no file fills an object of another file of its module when it is loaded, which would hide a cycle', () => {
  equal(filledAtLoad('Object.assign(a, { b });\nc.d = e;\nf[0] = 1;\ng.set(1, 2);\n  h.i = 1;', [...'abcdefgh']), [
    'a',
    'c',
    'f',
    'g',
  ]);
  equal(filledAtLoad('  x(Object.assign(a.prototype, b));\n  c.prototype.d = 1;\n  e.prototype.f();', [...'abcdef']), [
    'a',
    'c',
  ]);
  equal(calledAtLoad('a(f);\nconst b = c(f);\n  d(f);\ne.set(f);\n', [...'abcde']), ['a', 'e']);
  const called = new Set<string>();
  for (const file of files(source)) {
    const from = relative(source, file).replace(/\.ts$/, '');
    const text = readFileSync(file, 'utf8');
    const names = ownImports(file);
    for (const name of filledAtLoad(text, names)) {
      ok(false, `${from} fills ${name}: pass it as a parameter, or make both files one`);
    }
    for (const name of calledAtLoad(text, names)) called.add(`${from} > ${name}`);
  }
  equal([...called].sort(), honestCalls, 'calls at load of functions of the same module');
});

test('no file that people write has more than 400 lines, beside its doc comments', () => {
  for (const file of files(source)) {
    if (file.endsWith('wire-layout.ts')) continue;
    const text = readFileSync(file, 'utf8').replace(/^ *\/\*\*[\s\S]*?\*\/\n/gm, ''); // the reference is written there
    const lines = text.split('\n').length;
    ok(lines <= 400, `${relative(source, file)} has ${lines} lines`);
  }
});

test('a bare Error is never thrown', () => {
  for (const file of files(source)) {
    const text = readFileSync(file, 'utf8');
    equal(/throw new (Error|TypeError|RangeError)\(/.exec(text)?.[0], undefined, relative(source, file));
  }
});
