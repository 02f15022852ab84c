/**
 * Selects the addon for this process.
 *
 * @module
 */

import { readFileSync } from 'node:fs';

/**
 * Detects the C library from the files that the process has mapped. This takes 0.2 ms; Node's report, which works
 * without `/proc`, takes 5 to 95 ms. Alpine lists the loader, Debian the library to which the loader is a link.
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
