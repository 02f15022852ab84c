/** Measures what docs/sizes.md lists, in bytes. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { buildSync, type Platform } from 'esbuild';

export const root = fileURLToPath(new URL('../../../', import.meta.url));
const load = (path: string) => import(pathToFileURL(join(root, path)).href);
const { addonInputs, linkedOf, targets } = (await load('scripts/lib/targets.mjs')) as {
  addonInputs: string[];
  linkedOf(name: string): string;
  targets: { name: string }[];
};
const { isFresh } = (await load('scripts/lib/steps.mjs')) as {
  isFresh(name: string, inputs: string[], outputs: string[]): boolean;
};

/** The name of a row, and its figures. */
export type Row = readonly [name: string, ...bytes: number[]];

const packedSize = (bytes: Uint8Array): number => gzipSync(bytes, { level: 9 }).length;
export const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

/** The size of a bundle with everything that a subpath exports, minified, and then compressed. */
function rowOf(subpath: string, platform: Platform): Row {
  const { outputFiles } = buildSync({
    stdin: { contents: `export * from '${subpath}'; import '${subpath}';`, resolveDir: root },
    bundle: true,
    minify: true,
    format: 'esm',
    platform,
    external: ['*.node'], // the addons, which have rows of their own
    write: false,
    logLevel: 'error',
  });
  const bytes = outputFiles[0]?.contents ?? new Uint8Array();
  return [`\`${subpath}\``, bytes.length, packedSize(bytes)];
}

/** The subpaths for pages, and those for Node, which in a page only throw an error. */
export function subpathRows(): { pages: Row[]; node: Row[] } {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { browser?: string }>;
  };
  const entries = Object.entries(exports).flatMap(([subpath, entry]) =>
    typeof entry === 'object'
      ? [{ name: subpath.replace('.', 'dlpack'), isForNode: entry.browser?.endsWith('.browser.js') }]
      : [],
  );
  return {
    pages: entries.filter(({ isForNode }) => !isForNode).map(({ name }) => rowOf(name, 'browser')),
    node: entries.filter(({ isForNode }) => isForNode).map(({ name }) => rowOf(name, 'node')),
  };
}

/** The eight addons, and their sum, unpacked and packed: as `written` where not all eight of this source are built. */
export function addonRows(written: readonly Row[]): { addons: Row[]; allAddons: Row } {
  const names = targets.map(({ name }) => `\`${name}\``);
  const isBuilt = targets.every(({ name }) => isFresh(`native-${name}`, addonInputs, [linkedOf(name)]));
  console.log(`  the eight addons ${isBuilt ? 'are built here' : 'of this source are not all built here'}`);
  if (!isBuilt) {
    const allAddons = written.find(([name]) => name === 'the eight addons') ?? ['the eight addons'];
    return { addons: written.filter(([name]) => names.includes(name)), allAddons };
  }
  const files = targets.map(({ name }) => readFileSync(join(root, linkedOf(name))));
  const sizes = files.map((file) => file.length);
  return {
    addons: names.map((name, i): Row => [name, sizes[i] as number]),
    allAddons: ['the eight addons', sum(sizes), sum(files.map(packedSize))],
  };
}

/** The package without addons. npm packs those that are here, which are others if `npm run build` made them. */
export function restRow(): Row {
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json'], { cwd: root, encoding: 'utf8' });
  const [{ size, unpackedSize, files }] = JSON.parse(stdout);
  const addons = (files as { path: string }[])
    .filter((file) => file.path.endsWith('dlpack.node'))
    .map((file) => readFileSync(join(root, file.path)));
  const unpacked = unpackedSize - sum(addons.map((addon) => addon.length));
  return ['everything else', unpacked, size - sum(addons.map(packedSize))];
}
