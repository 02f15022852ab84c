// The explorer: one HTML file with its style, its program and the package's browser core inside, so that it also opens
// without a server. The program is no module, because browsers refuse modules there. It is compressed, because a file has
// no server that would do it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { deflateRawSync } from 'node:zlib';
import { at } from './steps.mjs';

/** A program that unpacks another one and runs it. */
const unpacking = (program) => `(async () => {
  const packed = Uint8Array.from(atob('${deflateRawSync(program, { level: 9 }).toString('base64')}'), (c) => c.charCodeAt());
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  const script = document.createElement('script');
  script.textContent = await new Response(stream).text();
  document.body.append(script);
})();`;

/** Builds build/explorer/index.html. Returns its number of bytes. */
export async function buildExplorer() {
  const { build, transform } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: [at('explorer/page.ts')],
    bundle: true,
    minify: true,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    write: false,
    logLevel: 'error',
  });
  const read = (name) => readFileSync(at('explorer', name), 'utf8');
  const style = await transform(read('style.css'), { loader: 'css', minify: true });
  const page = read('index.html')
    .replace('/*style*/', () => style.code.trim())
    .replace('/*script*/', () => unpacking(outputFiles[0].text));
  mkdirSync(at('build/explorer'), { recursive: true });
  writeFileSync(at('build/explorer/index.html'), page);
  return Buffer.byteLength(page);
}
