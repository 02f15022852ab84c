// The published JavaScript: one file for each entry of package.json, and a few shared chunks. Importing a file costs
// Node nearly a millisecond, and src has more than a hundred files. There are no source maps: the files are not minified,
// and maps took 115 kB of the package.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, relative, resolve } from 'node:path';
import { hideConstructors } from './declarations.mjs';
import { at } from './steps.mjs';

const targetsOf = (entry) =>
  typeof entry === 'string'
    ? [entry]
    : Object.entries(entry).flatMap(([condition, inner]) => (condition === 'types' ? [] : targetsOf(inner)));

/** Every JavaScript file in dist that package.json names, without "./". */
export function entriesOf({ exports, bin }) {
  const targets = [...Object.values(exports).flatMap(targetsOf), ...Object.values(bin)];
  return [...new Set(targets)].filter((path) => /^\.\/dist\/.*\.js$/.test(path)).map((path) => path.slice(2));
}

const isBrowserEntry = (entry) => entry.endsWith('.browser.js');
/** An entry with native code for bundlers, which find the addons because it imports addon.cjs. Bun, too. */
const isBundleEntry = (entry) => entry.endsWith('.bundle.js');
const forNode = (entry) => entry.replace('.bundle.js', '.js');
/** The entry for pages without a bundler, which imports no other file. */
const oneFile = 'dist/browser.js';
const sourceOf = (entry) => entry.replace(/^dist/, 'src').replace(/\.js$/, '.ts');

/**
 * The text of an entry with native code. An entry for Node requires addon.cjs at the first use, because importing a
 * CommonJS file takes 2.5 ms. Nothing calls its `trace`: the tools that copy the files of a server (@vercel/nft,
 * Turbopack) follow the `import` in it.
 */
function nativeEntry(entry) {
  const addon = relative(dirname(entry), 'dist/native/addon.cjs').replaceAll('\\', '/');
  const specifier = addon.startsWith('.') ? addon : `./${addon}`;
  const load = isBundleEntry(entry)
    ? `import addons from '${specifier}';
shipped.load = () => addons;`
    : `shipped.load = () => process.getBuiltinModule('node:module').createRequire(import.meta.url)('${specifier}');
shipped.trace = () => import('${specifier}');`;
  return `import { shipped } from './native/load/shipped.js';
${load}
export * from '${forNode(entry).replace(/^dist/, '.')}';`;
}

/**
 * The lowest layers get their own chunk. A bundler omits a chunk as a whole or keeps every statement with an effect in
 * it, and the classes above have such statements. Programs that need only dtypes would otherwise include them all.
 */
const basics = ['errors', 'dtype', 'device', 'layout'];

/**
 * Modules of a few lines that not all entries use. They become part of the chunk of the core or of native memory, because
 * a chunk of their own costs more than their lines.
 */
const small = {
  'index.ts': [
    'storage/debug',
    'storage/memory-sources',
    'mdspan/driver',
    'adapters/gpu-buffers',
    'files/formats/crc32',
  ],
  'index.node.ts': ['native/exchange/external'],
};

/** Resolves imports in src. All files count as having side effects; package.json names those in dist without any. */
const sources = {
  name: 'src',
  setup(build) {
    build.onResolve({ filter: /^native-entry:/ }, ({ path }) => ({ path: path.slice(13), namespace: 'native-entry' }));
    build.onLoad({ filter: /^/, namespace: 'native-entry' }, ({ path }) => ({
      contents: nativeEntry(path),
      resolveDir: at('src'),
    }));
    build.onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) =>
      path.endsWith('.cjs')
        ? { path, external: true } // relative to the entry
        : { path: resolve(resolveDir, path).replace(/\.js$/, '.ts'), sideEffects: true },
    );
    // Each pure entry imports the whole core, so that the core above the basics becomes one chunk instead of one for
    // each set of entries.
    build.onLoad({ filter: /(index(\.node)?|register)\.ts$/ }, ({ path }) => {
      const name = relative(at('src'), path);
      const added =
        small[name]?.map((module) => `./${module}.js`) ?? (/^\w+[\\/]\w+\.ts$/.test(name) ? ['../index.js'] : []);
      const imports = added.map((specifier) => `\nimport '${specifier}';`).join('');
      return { contents: readFileSync(path, 'utf8') + imports, loader: 'ts' };
    });
  },
};

/** The output files that `start` loads, including itself. */
function loadedBy(start, outputs, found = new Set()) {
  if (found.has(start)) return found;
  found.add(start);
  for (const { path, external } of outputs[start].imports) if (!external) loadedBy(path, outputs, found);
  return found;
}

/**
 * esbuild declares everything at the top level with `var`, but V8 folds only constants into optimised code. With `var`
 * an export took an eighth longer, and a TVM-FFI call a quarter. esbuild itself reports variables that are assigned
 * again.
 */
async function withConstants(transform, text) {
  const constant = text.replaceAll(/^var (?=\{[^}]*\} = |[\w$]+ = )/gm, 'const ');
  const { warnings } = await transform(constant, { format: 'esm', logLevel: 'silent', logLimit: 0 });
  return warnings.reduce((result, warning) => {
    const name = /because "(\S+)" is a constant$/.exec(warning.text)?.[1];
    if (name === undefined) throw new Error(`esbuild: ${warning.text}`);
    return result.replace(new RegExp(`^const ${name.replaceAll('$', '\\$')} =`, 'm'), `let ${name} =`);
  }, constant);
}

/**
 * Binds each import from another chunk to a constant. An imported name costs a load and a check at each use, and V8 does not
 * fold it into optimised code. No export changes after its chunk was evaluated, except within its own chunk.
 */
function withBoundImports(text) {
  const names = [];
  const imports = text.replaceAll(/^import \{\n([^}]+)\} from /gm, (_, list) => {
    const bound = list.replaceAll(/^ {2}([\w$]+)(?: as ([\w$]+))?(?=,?$)/gm, (_, name, local = name) => {
      names.push(local);
      return `  ${name} as import_${local}`;
    });
    return `import {\n${bound}} from `;
  });
  const end = [...imports.matchAll(/^(?:\} from |import )".*";\n/gm)].at(-1);
  if (end === undefined) return text;
  const after = end.index + end[0].length;
  const constants = names.map((name) => `const ${name} = import_${name};\n`).join('');
  return imports.slice(0, after) + constants + imports.slice(after);
}

/** A class that refers to itself becomes `const Tensor = class _Tensor`, and users would see the inner name. */
const withOwnNames = (text) =>
  [...text.matchAll(/\b(\w+) ?= ?class _\1\b/g)].reduce(
    (result, [, name]) => result.replaceAll(new RegExp(`\\b_${name}\\b`, 'g'), name),
    text,
  );

/** The browser version of an entry with native code: the same names, each of which throws when it is called. */
function browserEntry(entry, exports) {
  const subpath = dirname(entry).replace('dist', 'dlpack');
  const lines = exports.map((name) => `export const ${name} = /* @__PURE__ */ unavailable('${name}');`);
  return `import { LoadError } from '../index.js';

const unavailable = (name) =>
  function () {
    throw new LoadError(
      \`the native part of dlpack, which \${name} of ${subpath} needs\`,
      ['this is a bundle for a browser or for React Native, where no addon of Node runs'],
      ['import ${subpath} only in code for Node, Bun or Deno'],
    );
  };
${lines.join('\n')}
`;
}

function trimDeclarations() {
  for (const name of readdirSync(at('dist'), { recursive: true })) {
    if (!name.endsWith('.d.ts')) continue;
    const text = readFileSync(at('dist', name), 'utf8');
    const trimmed = hideConstructors(text);
    if (trimmed !== text) writeFileSync(at('dist', name), trimmed);
  }
}

/** Deletes the declarations that no entry's types lead to, more than a third of all. */
function pruneDeclarations(entries) {
  const reached = new Set();
  const visit = (file) => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from |import |import\()['"](\.[^'"]+)\.js['"]/g))
      visit(resolve(dirname(file), `${path}.d.ts`));
  };
  for (const entry of entries) visit(at(entry.replace(/\.js$/, '.d.ts')));
  for (const name of readdirSync(at('dist'), { recursive: true })) {
    const file = at('dist', name);
    if (/\.d\.c?ts$/.test(name) && !reached.has(file)) rmSync(file);
  }
}

export async function bundleDist() {
  const { build, transform } = await import('esbuild');
  const packageJson = JSON.parse(readFileSync(at('package.json'), 'utf8'));
  const named = entriesOf(packageJson);
  const entries = named.filter((entry) => !isBrowserEntry(entry) && entry !== oneFile);
  const hasNative = (entry) => named.includes(forNode(entry).replace(/\.js$/, '.bundle.js'));
  const tsconfigRaw = readFileSync(at('tsconfig.json'), 'utf8'); // esbuild does not find it for paths that a plugin resolved
  const { outputFiles, metafile } = await build({
    absWorkingDir: at(''),
    entryPoints: entries.map((entry) => ({
      in: hasNative(entry) ? `native-entry:${entry}` : sourceOf(entry),
      out: entry.replace(/^dist\/(.*)\.js$/, '$1'),
    })),
    stdin: { contents: basics.map((name) => `export * from './${name}.js';`).join('\n'), resolveDir: at('src') },
    outbase: 'src',
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    tsconfigRaw,
    chunkNames: 'chunks/pure-[hash]',
    metafile: true,
    write: false,
    loader: { '.py': 'text' },
    plugins: [sources],
  });
  // Chunks that only entries with native code load keep their side effects; package.json names them by their prefix.
  const pureEntries = entries.filter((entry) => !hasNative(entry) && !packageJson.sideEffects.includes(`./${entry}`));
  const pure = new Set(pureEntries.flatMap((entry) => [...loadedBy(entry, metafile.outputs)]));
  // Names by the largest file in each chunk. Names with a hash would change the order of the files in the package, and so
  // its size by hundreds of bytes, with every change of the code.
  const chunkName = (path) => {
    const [largest] = Object.entries(metafile.outputs[path].inputs).sort(
      ([, a], [, b]) => b.bytesInOutput - a.bytesInOutput,
    );
    const file = largest[0].replace(/^.*\bsrc\/(.*)\.(?:ts|py)$/, '$1').replaceAll('/', '-');
    return `${pure.has(path) ? 'pure' : 'node'}-${file}`;
  };
  const renamed = Object.keys(metafile.outputs)
    .filter((path) => /chunks\/pure-\w+\.js$/.test(path) && Object.keys(metafile.outputs[path].inputs).length > 0)
    .map((path) => [/pure-\w+/.exec(path)[0], chunkName(path)]);
  const rename = (text) => renamed.reduce((result, [hashed, name]) => result.replaceAll(hashed, name), text);
  rmSync(at('dist/chunks'), { recursive: true, force: true });
  const emptyChunks = outputFiles.filter(({ text }) => text === '').map(({ path }) => basename(path));
  for (const { path, text } of outputFiles) {
    if (basename(path) === 'stdin.js' || text === '') continue;
    const target = rename(path);
    mkdirSync(dirname(target), { recursive: true });
    const code = emptyChunks.reduce((rest, name) => rest.replace(new RegExp(`^import ".*/${name}";\n`, 'm'), ''), text);
    const constant = withOwnNames(await withConstants(transform, code));
    writeFileSync(target, rename(basename(target).startsWith('node-') ? withBoundImports(constant) : constant));
  }
  for (const entry of named.filter(isBrowserEntry)) {
    const { exports } = metafile.outputs[entry.replace('.browser.js', '.js')];
    writeFileSync(at(entry), browserEntry(entry, exports));
  }
  const [page] = (
    await build({
      absWorkingDir: at(''),
      entryPoints: [sourceOf(oneFile)],
      outfile: oneFile,
      bundle: true,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      minifyWhitespace: true,
      minifySyntax: true, // names stay, because the names of errors are those of their classes
      tsconfigRaw,
      loader: { '.py': 'text' },
      write: false,
      plugins: [sources],
    })
  ).outputFiles;
  writeFileSync(at(oneFile), withOwnNames(page.text));
  trimDeclarations();
  pruneDeclarations([...entries.filter((entry) => !isBundleEntry(entry)), oneFile]);
  const addon = readFileSync(at('src/native/addon.cts'), 'utf8');
  const { code } = await transform(addon, { loader: 'ts', format: 'cjs', tsconfigRaw });
  writeFileSync(at('dist/native/addon.cjs'), code);
}
