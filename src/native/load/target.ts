/** Selects the addon for this process. */
import { node } from './node-modules.js';

/** What Deno was built for; it shows neither `/proc` nor a report without further permissions. */
const deno = (globalThis as { Deno?: { build: { target: string } } }).Deno?.build.target;

/**
 * Finds the C library by the files that the process has mapped, which takes 0.2 ms. Node's report, which works without `/proc`,
 * takes 5 to 95 ms. Alpine names the loader, Debian the library behind the loader's link.
 */
function isMusl(): boolean {
  if (deno !== undefined) return deno.includes('musl');
  try {
    const maps = node.fs.readFileSync('/proc/self/maps', 'latin1');
    return /\/(ld-musl-|libc\.musl-|[^/]*-linux-musl\/libc\.so)/.test(maps);
  } catch {
    const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
    return report?.header !== undefined && report.header.glibcVersionRuntime === undefined;
  }
}

/** The name of a folder of `prebuilds`, such as `linux-x64` or `linux-arm64-musl`. */
export function findTarget(): string {
  const { platform, arch } = process;
  return platform === 'linux' && isMusl() ? `${platform}-${arch}-musl` : `${platform}-${arch}`;
}
