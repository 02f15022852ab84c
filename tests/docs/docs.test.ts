import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { equal, ok } from '../assert.js';
import { runtimeArgs } from '../child.js';
import { freePort } from '../free-port.js';
import { runtime, test, testWith } from '../harness.js';
import { makeModel } from '../interop/libraries/model.js';
import { marked, type Program, programsOf, unlike } from './programs.js';
import { env, makeProject, removeProject, root } from './project.js';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const home = 'site/home.md';
const pages = [
  'examples/README.md',
  home,
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

/** A green PNG of one pixel. */
const image = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M/wHwAEBgIApD5fRAAAAABJRU5ErkJggg==',
  'base64',
);

/** What a server answers to a request without an image: it reads any bytes, or says that this was wrong. It never ends. */
const statusWithoutImage = (program: Program): number => (/from 'sharp'/.test(program.text) ? 400 : 200);

/** The problems of a server: compiler messages, or its answers to an image, which has to be JSON, and to nothing. */
async function askServer(program: Program, folder: string, compiled: ReadonlyMap<string, string[]>): Promise<string[]> {
  const faults = compiled.get(fileOf(program)) ?? [];
  if (faults.length > 0) return faults;
  const port = await freePort();
  const server = spawn(process.execPath, [...runtimeArgs[runtime], scriptOf(program)], {
    cwd: folder,
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  server.stderr.on('data', (chunk) => (said += chunk));
  const ended = once(server, 'exit');
  try {
    for (;;) {
      const ask = (body: Buffer<ArrayBuffer>) =>
        fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body }).catch(() => null);
      const answer = await ask(image);
      if (answer !== null) {
        if (!answer.ok) return [`it answers ${answer.status}: ${await answer.text()}`];
        if ((await answer.json()) === null) return ['it answers null'];
        const statuses = [await ask(Buffer.from('no image')), await ask(Buffer.alloc(0)), await ask(image)];
        const given = statuses.map((each) => each?.status).join();
        const status = statusWithoutImage(program);
        if (given !== `${status},${status},200`) return [`it answers ${given} to text, nothing and an image: ${said}`];
        return /Warning/.test(said) ? [`it works with a warning, such as that Python gets a copy: ${said}`] : [];
      }
      if (server.exitCode !== null || server.signalCode !== null) return [`the server ended: ${said}`];
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  } finally {
    server.kill('SIGKILL');
    await ended;
  }
}

/** The missing libraries of a program. */
function missingFor({ text }: Program): string | false {
  const needs: [RegExp, string][] = [
    [/'dlpack\/python'/, '.venv/pyvenv.cfg'],
    [/'dlpack\/cuda'/, 'build/native/fake_cuda.node'],
    [/'dlpack\/tvm-ffi'/, 'build/kernels/kernels.so'],
    [/libxgrammar_bindings/, 'build/xgrammar/xgrammar/libxgrammar_bindings.so'],
    [
      /from '(onnxruntime-node|dlpack\/onnxruntime|ndarray|apache-arrow|sharp|@huggingface\/transformers|@tensorflow\/tfjs-core|@stdlib\/ndarray-ctor|@duckdb\/node-api|numpy-ts)'/,
      '.libraries/package.json',
    ],
  ];
  const missing = needs.find(([pattern, path]) => pattern.test(text) && !existsSync(join(root, path)));
  return missing === undefined ? false : missing[1];
}

/** Examples with libraries that only this repository installs: whole programs. */
const examples = readdirSync(join(root, 'examples/libraries')).map((name): Program => {
  const at = `examples/libraries/${name}`;
  return { at, language: 'ts', text: read(at), runnable: read(at), isServer: false };
});

/** The doc comments of a source file, without their stars and in their lines, so that its examples are those of a page. */
const commentsOf = (text: string): string =>
  text
    .split('\n')
    .map((line) => /^\s*\* ?(.*)$/.exec(line)?.[1] ?? '')
    .join('\n');

/** The examples of doc comments. One without imports is a part of a program that only a reader has. */
const commented = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .map((path) => `src/${path.replaceAll('\\', '/')}`)
  .filter((path) => path.endsWith('.ts'))
  .flatMap((path) => programsOf(path, commentsOf(read(path))))
  .filter(({ text }) => /^import /m.test(text));

const programs = [...pages.flatMap((path) => programsOf(path, read(path))), ...examples, ...commented];
const folder = makeProject();
writeFileSync(join(folder, 'model.onnx'), makeModel('Add', 2, 'float32'));
process.on('exit', () => removeProject(folder));
const compiled = compile(folder, [...programs, ...broken]);

for (const program of programs) {
  const faults = () => (program.isServer ? askServer : faultsOf)(program, folder, compiled);
  testWith(missingFor(program), program.at, async () => equal(await faults(), []));
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

test('every error class has a section in docs/errors.md, which names its tag if that is another word', () => {
  const classes = [...inSource(/export class (\w+ extends \w*Error \{\s+(?:readonly tag = '\w+'|override get name))/g)];
  ok(classes.length > 20, `${classes.length} classes`);
  const sections = read('docs/errors.md').split(/^###? /m);
  const missing = classes.flatMap((declaration) => {
    const [, name = '', parent = '', own] =
      /^(\w+) extends (\w+) \{\s+(?:readonly tag = '(\w+)')?/.exec(declaration) ?? [];
    const tag = own ?? parent;
    const section = sections.find((text) => text.startsWith(`${name}\n`)) ?? '';
    return section !== '' && (tag === name || section.includes(`Its tag is \`'${tag}'\``)) ? [] : [name];
  });
  equal(missing, []);
});

test('every environment variable has a row in docs/runtimes.md', () => {
  const variables = inSource(/(?:variable\('|env\.|getenv\(")(DLPACK_\w+)/g);
  ok(variables.size > 8, `${variables.size} variables`);
  const rows = (page: string): string => (read(page).match(/^\| `.*?\|/gm) ?? []).join();
  equal(
    [...variables].filter((name) => !rows('docs/runtimes.md').includes(`\`${name}\``)),
    [],
  );
});

/** The anchor that GitHub makes of a heading. */
const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replace(/ /g, '-');
const anchorsOf = (page: string): string[] =>
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => anchorOf(title));
/** The site gives the rows of libraries an anchor, too: site/lib/verdicts.mjs. */
const rowAnchorsOf = (page: string): string[] =>
  [...page.matchAll(/^\| (.*?) \|/gm)].map(([, name = '']) => anchorOf(name));

/** The links of a page. The home page has the addresses of the site, without `.md`, and more of them before its text. */
function linksOf(path: string): { link: string; target: string; anchor: string | undefined }[] {
  const found = [...read(path).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
  if (path === home) found.push(...read(path).matchAll(/^ +(?:link|src): '?([^'#\s]*)(?:#([^'\s]+))?/gm));
  return found.map(([link, to = '', anchor]) => {
    const local = path === home ? to.replace(/^\//, '../') : to;
    const target = to === '' ? path : relative(root, resolve(root, dirname(path), local));
    const isPage = path === home && existsSync(join(root, `${target}.md`));
    return { link, target: isPage ? `${target}.md` : target, anchor };
  });
}

test('every link leads somewhere', () => {
  const dead = pages.flatMap((path) =>
    linksOf(path).flatMap(({ link, target, anchor }) => {
      if (!existsSync(join(root, target))) return [`${path}: ${link}`];
      if (anchor === undefined || anchorsOf(read(target)).includes(anchor)) return [];
      return path === home && rowAnchorsOf(read(target)).includes(anchor) ? [] : [`${path}: ${link}`];
    }),
  );
  equal(dead, []);
});
