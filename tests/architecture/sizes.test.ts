/** docs/sizes.md: what each subpath adds to a page. `UPDATE=1` writes it; the figures may drift by a tenth. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { browser?: string }>;
};
/** Entries with code that is more than an error in a page. */
const subpaths = Object.entries(exports)
  .filter(([, entry]) => typeof entry === 'object' && !entry.browser?.endsWith('.browser.js'))
  .map(([subpath]) => subpath.replace('.', 'dlpack'));

/** The bytes of a bundle with everything that a subpath exports, minified, and then compressed. */
function sizeOf(subpath: string): [minified: number, compressed: number] {
  const { outputFiles } = buildSync({
    stdin: { contents: `export * from '${subpath}'; import '${subpath}';`, resolveDir: root },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    logLevel: 'error',
  });
  const bytes = outputFiles[0]?.contents ?? new Uint8Array();
  return [bytes.length, gzipSync(bytes, { level: 9 }).length];
}

const kilobytes = (bytes: number): string => (bytes / 1000).toFixed(1);

test('docs/sizes.md has the size of each subpath for pages', () => {
  const sizes = subpaths.map((subpath) => [subpath, ...sizeOf(subpath)] as const);
  const rows = sizes.map(
    ([name, minified, packed]) => `| \`${name}\` | ${kilobytes(minified)} | ${kilobytes(packed)} |`,
  );
  const path = join(root, 'docs/sizes.md');
  if (process.env.UPDATE) {
    writeFileSync(
      path,
      `# Sizes

How much each subpath adds to a page, in KB, with everything that it exports and with the core that it needs. Two subpaths share
their core, and a bundler leaves out what you do not use. A test writes this table.

| subpath | minified | minified and gzipped |
|---|---|---|
${rows.join('\n')}

The packed package, with the native addons of eight platforms, takes about 2.5 MB. Node, Bun and Deno load one of the addons, of 0.4 to
1.1 MB, at the first tensor ([platforms](runtimes.md#platforms)).
`,
    );
  }
  const written = [...readFileSync(path, 'utf8').matchAll(/^\| `(.*)` \| ([\d.]+) \| ([\d.]+) \|$/gm)];
  equal(
    written.map(([, name]) => name),
    subpaths,
    'UPDATE=1 npm test -- architecture/sizes writes the page',
  );
  for (const [i, [, name, , packed]] of written.entries()) {
    const now = (sizes[i]?.[2] ?? 0) / 1000;
    ok(
      Math.abs(now / Number(packed) - 1) < 0.1,
      `${name}: ${packed} KB on the page, ${now} KB now; UPDATE=1 writes it`,
    );
  }
});
