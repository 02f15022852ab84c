/**
 * Which addon fits this process.
 *
 * @module
 */

import { readFileSync } from 'node:fs';

/**
 * C's library by the files that the process has mapped: 0.2 ms, where Node's report, which works without `/proc`, takes 5 to 95. Alpine
 * names the loader, Debian the library that it is a link to.
 */
function isMusl(): boolean {
  try {
    return /\/(ld-musl-|libc\.musl-|[^/]*-linux-musl\/libc\.so)/.test(readFileSync('/proc/self/maps', 'latin1'));
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
