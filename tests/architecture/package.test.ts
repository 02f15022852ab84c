import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import * as adapters from 'dlpack/adapters';
import { buildSync } from 'esbuild';
import { publint } from 'publint';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const packageJson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  equal(status, 0, `${command} ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

test('no runtime dependencies, no install scripts, types first', () => {
  for (const key of ['dependencies', 'optionalDependencies', 'gypfile']) equal(packageJson[key], undefined);
  // The owner names all addresses at once. Until then there is none, because an invented one would be wrong.
  const addresses = ['repository', 'homepage', 'bugs'].filter((key) => key in packageJson);
  ok([0, 3].includes(addresses.length), addresses.join(' '));
  for (const script of ['install', 'preinstall', 'postinstall', 'prepare'])
    equal(packageJson.scripts[script], undefined);
  for (const [subpath, entry] of Object.entries(packageJson.exports)) {
    if (typeof entry === 'object') equal(Object.keys(entry as object)[0], 'types', subpath);
  }
});

test('dist has one file for each entry and at most twenty-four chunks', () => {
  const files = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .map((file) => file.replaceAll('\\', '/'));
  const named = JSON.stringify([packageJson.exports, packageJson.bin]);
  const chunks = files.filter((file) => file.startsWith('chunks/'));
  // Names with a hash would change the order of the files in the package, and so its size, with every change of the code.
  for (const chunk of chunks) ok(/^chunks\/(node|pure)(-[a-z]+)+\.js$/.test(chunk), chunk);
  ok(chunks.length > 0 && chunks.length <= 24, chunks.join(' '));
  for (const file of files) ok(chunks.includes(file) || named.includes(`"./dist/${file}"`), file);
  // Babel cannot convert it to CommonJS for Jest, and bundles in CommonJS do not have it. The entries for Node use it, and
  // Jest and bundlers load other entries instead.
  const forNode = (file: string) => file.startsWith('cli/') || files.includes(file.replace('.js', '.bundle.js'));
  for (const file of files) {
    equal(readFileSync(join(root, 'dist', file), 'utf8').includes('import.meta'), forNode(file), file);
  }
  // V8 folds constants into optimised code and constructs classes without declared fields faster.
  for (const chunk of chunks) {
    const text = readFileSync(join(root, 'dist', chunk), 'utf8');
    equal(/^var (\w+|\{[^}]*\}) = .*$/m.exec(text)?.[0], undefined, chunk);
    equal(/ class .*\{\n( {2}static .*\n)* {2}\w+( = .*)?;$/m.exec(text)?.[0], undefined, chunk);
  }
});

test('classes and functions have their own names, whatever else is in a chunk', async () => {
  for (const subpath of Object.keys(packageJson.exports).filter((key) => !/\.(h|json)$/.test(key))) {
    const module: Record<string, unknown> = await import(subpath.replace('.', 'dlpack'));
    for (const [name, value] of Object.entries(module))
      if (typeof value === 'function') equal(value.name, name, subpath);
  }
});

test('one literal require for each target, in a CommonJS file that bundlers follow', () => {
  const text = readFileSync(join(root, 'dist/native/addon.cjs'), 'utf8');
  const linux = ['linux-x64', 'linux-arm64', 'linux-x64-musl', 'linux-arm64-musl'];
  const targets = [...linux, 'darwin-x64', 'darwin-arm64', 'win32-x64', 'win32-arm64'];
  equal(
    [...text.matchAll(/require\("([^"]+)"\)/g)].map(([, path]) => path),
    targets.map((target) => `../../prebuilds/${target}/dlpack.node`),
  );
});

test('entries for bundlers import addon.cjs, and have the names of the entries for Node, which do not', async () => {
  const targets = JSON.stringify(packageJson.exports).match(/dist\/[^"]*\.bundle\.js/g) ?? [];
  equal(new Set(targets).size, 10);
  for (const bundle of new Set(targets)) {
    const entry = bundle.replace('.bundle.js', '.js');
    const importsAddon = (file: string) => /^import .*addon\.cjs";$/m.test(readFileSync(join(root, file), 'utf8'));
    equal([importsAddon(bundle), importsAddon(entry)], [true, false], entry);
    const [forBundlers, forNode] = [await import(join(root, bundle)), await import(join(root, entry))];
    equal(Object.keys(forBundlers), Object.keys(forNode), entry);
    for (const name of Object.keys(forNode)) ok(forBundlers[name] === forNode[name], `${entry}: ${name}`);
  }
  for (const chunk of readdirSync(join(root, 'dist/chunks'))) {
    ok(!readFileSync(join(root, 'dist/chunks', chunk), 'utf8').includes('addon.cjs'), chunk);
  }
});

test('the files without native code have no static blocks, which the Babel preset of React Native refuses', () => {
  const files = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' });
  const pure = files.filter((file) => /\.js$/.test(file) && !/node|bundle|cli/.test(file));
  ok(pure.some((file) => file.includes('pure-view')));
  equal(
    pure.filter((file) => /\bstatic ?\{/.test(readFileSync(join(root, 'dist', file), 'utf8'))),
    [],
  );
});

test('a browser bundle exports every name of the native part, and each throws a LoadError', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-browser-'));
  try {
    for (const [subpath, entry] of Object.entries(packageJson.exports as Record<string, { browser?: string }>)) {
      if (!entry.browser?.endsWith('.browser.js')) continue;
      const outfile = join(folder, `${subpath.slice(2)}.mjs`);
      const contents = `export * from '${subpath.replace('.', 'dlpack')}'; export { isDLPackError } from 'dlpack';`;
      buildSync({ stdin: { contents, resolveDir: root }, bundle: true, format: 'esm', platform: 'browser', outfile });
      const { isDLPackError, ...bundled } = await import(outfile);
      const real = await import(subpath.replace('.', 'dlpack'));
      equal(Object.keys(bundled).sort(), Object.keys(real).sort(), subpath);
      for (const [name, value] of Object.entries(bundled)) {
        try {
          (value as () => void)();
          ok(false, `${subpath}: ${name} returned`);
        } catch (error) {
          ok(isDLPackError(error, 'LoadError') && (error as Error).message.includes(name), String(error));
        }
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('publint finds nothing', async () => {
  const { messages } = await publint({ pkgDir: root, strict: true, pack: 'npm' });
  equal(
    messages.map(({ code, path }) => `${code} ${path.join('.')}`),
    [],
  );
});

/** Pages that npm shows and that people read in the repository. They may link to files that only the repository has. */
const repositoryPages = ['README.md', 'CHANGELOG.md'];

/** Other pages are read in the package, too, so the files that they link to must be in it. */
function checkLinks(paths: readonly string[]): void {
  for (const page of paths.filter((path) => path.endsWith('.md'))) {
    const text = readFileSync(join(root, page), 'utf8').replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '');
    for (const [, link = ''] of text.matchAll(/\]\(([^)#\s]+)/g)) {
      if (/^https?:/.test(link)) continue;
      const target = posix.join(posix.dirname(page), link).replace(/\/$/, '');
      const isThere = repositoryPages.includes(page)
        ? existsSync(join(root, target))
        : paths.some((path) => path === target || path.startsWith(`${target}/`));
      ok(isThere, `${page} links to ${link}`);
    }
  }
}

test('the packed tarball installs into an empty folder and works there', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-'));
  try {
    const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], root));
    const paths: string[] = packed.files.map(({ path }: { path: string }) => path);
    ok(paths.includes('dist/index.node.js') && paths.includes('include/dlpack_napi.h') && paths.includes('LICENSE'));
    ok(paths.some((path) => path.endsWith('dlpack.node')));
    equal(
      paths.filter((path) =>
        /^(src|tests|scripts|bench|build|docs\/design|ARCHITECTURE|CONTRIBUTING)|binding\.gyp|\.venv/.test(path),
      ),
      [],
    );
    checkLinks(paths);
    // The sources are in the package because npx dlpack build compiles them.
    ok(readFileSync(join(root, 'src/cli/build.ts'), 'utf8').includes('native') && paths.includes('native/addon.cc'));
    const project = join(folder, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }');
    run('npm', ['install', '--no-audit', '--no-fund', '--offline', join(folder, packed.filename)], project);
    writeFileSync(
      join(project, 'main.js'),
      `import { Tensor, fromDLPack } from 'dlpack';
       import { addressOf, exportManaged, importManaged } from 'dlpack/native';
       import { DLTensor, layoutOf, lp64 } from 'dlpack/abi';
       const x = Tensor.from([[1, 2], [3, 4]], { dtype: 'float32' });
       const y = importManaged(exportManaged(fromDLPack(x).transpose()));
       if (addressOf(x) !== addressOf(y) || y.get(0, 1) !== 3 || layoutOf(DLTensor, lp64).size !== 48) throw 1;
       console.log('works');`,
    );
    equal(run(process.execPath, ['main.js'], project).trim(), 'works');
    equal(
      readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.')),
      ['dlpack'],
    );
    writeFileSync(
      join(project, 'main.ts'),
      `import { Tensor } from 'dlpack';
       import { exportManaged } from 'dlpack/native';
       const x: Float32Array = Tensor.from([1, 2], { dtype: 'float32' }).data;
       const address: bigint = exportManaged(Tensor.wrap(x));
       export { address };`,
    );
    const tsc = join(root, 'node_modules/.bin/tsc');
    const flags = [
      '--strict',
      '--noEmit',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--types',
      '',
      '--skipLibCheck',
      'false',
    ];
    run(tsc, [...flags, 'main.ts'], project);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('the core loads no addon and no node module until it needs memory', () => {
  const graph = buildSync({
    entryPoints: [join(root, 'dist/index.js')],
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    metafile: true,
  });
  const inputs = Object.keys(graph.metafile.inputs);
  ok(inputs.length <= 3, inputs.join(' '));
  for (const input of inputs) ok(!/native|node/.test(input), input);
  const script = `
    const { Tensor, parseDType } = await import('dlpack');
    parseDType('float32');
    const files = Object.keys(process.getBuiltinModule('node:module').createRequire(process.execPath).cache);
    if (files.length > 0) throw new Error('CommonJS: ' + files);
    const loaded = () => process.report.getReport().sharedObjects.some((path) => path.endsWith('dlpack.node'));
    if (loaded()) throw new Error('loaded by import');
    Tensor.wrap(new Float32Array(2)).get(0);
    if (loaded()) throw new Error('loaded by wrap');
    Tensor.empty([1], 'float32');
    if (!loaded()) throw new Error('not loaded by empty');`;
  run(process.execPath, ['--input-type=module', '-e', script], root);
});

test('without the addon tensors live in JavaScript memory, and errors of native exchange suggest what to do', () => {
  const script = `
    const { Tensor, fromDLPack, isDLPackError } = await import('dlpack');
    const { exportManaged } = await import('dlpack/native');
    const x = Tensor.from([[1, 2], [3, 4]], { dtype: 'float32' });
    if (fromDLPack(x.transpose()).get(0, 1) !== 3 || Tensor.adopt(new Int8Array(3)).size !== 3) throw new Error('core');
    try { exportManaged(x); } catch (error) {
      if (!isDLPackError(error, 'LoadError') || !error.message.includes('--no-addons')) throw error;
      if (error.message.includes('Deno')) throw new Error('advice for another runtime');
      console.log('said so');
    }
    const errors = [1, 2].map(function here() { try { exportManaged(x); } catch (error) { return error; } });
    if (errors[0] === errors[1] || !errors[1].stack.includes('here')) throw new Error('the stack of an earlier call');`;
  equal(run(process.execPath, ['--no-addons', '--input-type=module', '-e', script], root).trim(), 'said so');
});

function bundleSize(code: string): number {
  const { outputFiles } = buildSync({
    stdin: { contents: code, resolveDir: root },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    logLevel: 'error', // the entries import the whole core, and esbuild reports that it omits it
  });
  return gzipSync(outputFiles[0]?.contents ?? new Uint8Array(), { level: 9 }).length;
}

test('the core is at most 32 KB minified and gzipped, and tree-shakes', () => {
  const whole = bundleSize(`export * from './dist/index.js'`);
  const part = bundleSize(`import { parseDType } from 'dlpack'; console.log(parseDType('float32'));`);
  console.log(`  core ${whole} bytes, parseDType alone ${part} bytes`);
  ok(whole <= 32_000, `${whole} bytes`);
  ok(part < whole / 3, `${part} of ${whole} bytes`);
});

test('each adapter adds at most 2 KB to a bundle of the core', () => {
  const core = `export * from './dist/index.js';`;
  const before = bundleSize(core);
  const added = Object.keys(adapters)
    .filter((name) => name.startsWith('from'))
    .map((name): [string, number] => {
      const pair = `${name}, ${name.replace('from', 'to')}`;
      return [name, bundleSize(`${core} export { ${pair} } from './dist/adapters/index.js';`) - before];
    });
  console.log(`  adapters: ${added.map(([name, bytes]) => `${name} ${bytes}`).join(', ')}`);
  for (const [name, bytes] of added) ok(bytes <= 2048, `${name}: ${bytes} bytes`);
});

test('dist/browser.js is one file with everything that works in a page', async () => {
  const text = readFileSync(join(root, 'dist/browser.js'), 'utf8');
  equal(/(^|[;}])(import|export)\b[^;]*\bfrom\b|\bimport\(/.exec(text)?.[0], undefined, 'it imports');
  const all = await Promise.all(
    ['dlpack', 'abi', 'adapters', 'debug', 'files', 'mdspan', 'pyodide', 'wasm', 'webgpu'].map(async (name) =>
      Object.keys(await import(name === 'dlpack' ? name : `dlpack/${name}`)),
    ),
  );
  equal(Object.keys(await import('dlpack/browser')).sort(), all.flat().sort());
  const size = gzipSync(text, { level: 9 }).length;
  console.log(`  browser.js ${text.length} bytes, ${size} gzipped`);
  ok(size < 110_000, `${size} bytes`);
});

test('README, CHANGELOG and the other usual documents exist', () => {
  for (const file of ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'LICENSE', 'docs/spec.md']) {
    ok(existsSync(join(root, file)), file);
  }
});
