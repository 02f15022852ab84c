import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { equal, ok } from '../assert.js';
import { runtimeArgs } from '../child.js';
import { runtime, test, testWith } from '../harness.js';
import { makeModel } from '../interop/libraries/model.js';
import { marked, type Program, programsOf, unlike } from './programs.js';
import { env, makeProject, removeProject, root } from './project.js';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const pages = [
  'examples/README.md',
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true })
    .map((path) => `docs/${path}`)
    .filter((path) => path.endsWith('.md')),
];

/** Mistakes that the tests below must detect. */
const broken = programsOf(
  'broken.md',
  `
\`\`\`ts
import { Tensor } from 'dlpack';
Tensor.vanished([1]);
\`\`\`
\`\`\`ts
import { Tensor } from 'dlpack';
console.log(Tensor.from([1, 2]).shape); // [3]
\`\`\`
\`\`\`ts
import { Tensor } from 'dlpack';
Tensor.from([1]).get(1);
\`\`\`
`,
);

const fileOf = ({ at, language }: Program): string => `${at.replace(/[^\w]+/g, '-')}.${language}`;
const scriptOf = (program: Program): string => fileOf(program).replace(/\.\w+$/, '.run.js');

/** Writes and compiles all programs. Returns the compiler's messages for each file. */
function compile(folder: string, programs: readonly Program[]): Map<string, string[]> {
  const said = new Map<string, string[]>();
  for (const language of ['ts', 'js'] as const) {
    const files = programs
      .filter((program) => program.language === language)
      .flatMap((program) => {
        const script = scriptOf(program).replace(/js$/, language);
        writeFileSync(join(folder, fileOf(program)), `${program.text}\nexport {};\n`);
        writeFileSync(join(folder, script), `${marked(program.runnable).text}\nexport {};\n`);
        return language === 'ts' ? [fileOf(program), script] : [fileOf(program)];
      });
    const flags = language === 'ts' ? ['--strict'] : ['--allowJs', '--checkJs', '--strict', 'false', '--noEmit'];
    const common = ['--module', 'nodenext', '--target', 'es2022', '--types', 'node', '--pretty', 'false'];
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout, stderr } = spawnSync('node', [tsc, ...common, ...flags, ...files], {
      cwd: folder,
      encoding: 'utf8',
    });
    for (const line of `${stdout}${stderr}`.split('\n').filter((text) => text !== '')) {
      const [, file = 'elsewhere'] = /^([^(\s]+)\(/.exec(line) ?? [];
      said.set(file, [...(said.get(file) ?? []), line]);
    }
  }
  return said;
}

/** The problems of a program: compiler messages, its exit, its output. */
function faultsOf(program: Program, folder: string, compiled: ReadonlyMap<string, string[]>): string[] {
  const faults = compiled.get(fileOf(program)) ?? [];
  if (program.runnable.trim() === '' || faults.length > 0) return faults;
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [...runtimeArgs[runtime], scriptOf(program)], {
    cwd: folder,
    encoding: 'utf8',
    env,
    timeout: 600_000,
  });
  if (status !== 0) return [`ended with ${signal ?? status}\n${stdout}${stderr}`];
  return unlike(marked(program.runnable).prints, stdout);
}

/** The missing libraries of a program. */
function missingFor({ text }: Program): string | false {
  const needs: [RegExp, string][] = [
    [/'dlpack\/python'/, '.venv/pyvenv.cfg'],
    [/'dlpack\/cuda'/, 'build/native/fake_cuda.node'],
    [/'dlpack\/tvm-ffi'/, 'build/kernels/kernels.so'],
    [/libxgrammar_bindings/, 'build/xgrammar/xgrammar/libxgrammar_bindings.so'],
    [/from '(onnxruntime-node|ndarray|apache-arrow|sharp|@tensorflow\/tfjs-core)'/, '.libraries/package.json'],
  ];
  const missing = needs.find(([pattern, path]) => pattern.test(text) && !existsSync(join(root, path)));
  return missing === undefined ? false : missing[1];
}

/** Examples with libraries that only this repository installs: whole programs. */
const examples = readdirSync(join(root, 'examples/libraries')).map((name): Program => {
  const at = `examples/libraries/${name}`;
  return { at, language: 'ts', text: read(at), runnable: read(at) };
});

const programs = [...pages.flatMap((path) => programsOf(path, read(path))), ...examples];
const folder = makeProject();
writeFileSync(join(folder, 'model.onnx'), makeModel('Add', 2, 'float32'));
process.on('exit', () => removeProject(folder));
const compiled = compile(folder, [...programs, ...broken]);

for (const program of programs) {
  testWith(missingFor(program), program.at, () => equal(faultsOf(program, folder, compiled), []));
}

test('a name that does not exist, a wrong comment and an exception are found', () => {
  const [name, comment, exception] = broken.map((program) => faultsOf(program, folder, compiled).join());
  ok(name?.includes("Property 'vanished' does not exist"), name);
  ok(comment?.includes('"[3]" but it prints [ 2 ]'), comment);
  ok(exception?.includes('IndexError'), exception);
});

/** What a pattern finds in all files of the source. */
const inSource = (pattern: RegExp): Set<string> =>
  new Set(
    ['src', 'native'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((path) => /\.(ts|cc)$/.test(path))
        .flatMap((path) => [...read(`${folder}/${path}`).matchAll(pattern)].map(([, name = '']) => name)),
    ),
  );

test('every error has a remedy in docs/errors.md, and every environment variable a row in docs/runtimes.md', () => {
  const tags = inSource(/readonly tag = '(\w+)'/g);
  const variables = inSource(/(?:variable\('|env\.|getenv\(")(DLPACK_\w+)/g);
  ok(tags.size > 20 && variables.size > 8, `${tags.size} tags, ${variables.size} variables`);
  const rows = (page: string): string => (read(page).match(/^\| `.*?\|/gm) ?? []).join();
  const missing = (names: Set<string>, page: string): string[] =>
    [...names].filter((name) => !rows(page).includes(`\`${name}\``));
  equal([missing(tags, 'docs/errors.md'), missing(variables, 'docs/runtimes.md')], [[], []]);
});

/** The anchors that GitHub makes of a page's headings. */
const anchorsOf = (page: string): string[] =>
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replace(/ /g, '-'),
  );

test('every link leads somewhere', () => {
  const dead = pages.flatMap((path) =>
    [...read(path).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(([link, to = '', anchor]) => {
      const target = to === '' ? path : relative(root, resolve(root, dirname(path), to));
      if (!existsSync(join(root, target))) return [`${path}: ${link}`];
      return anchor === undefined || anchorsOf(read(target)).includes(anchor) ? [] : [`${path}: ${link}`];
    }),
  );
  equal(dead, []);
});
