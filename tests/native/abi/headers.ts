/** The headers in the installed apache-tvm-ffi, and those of this repository. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const library = `${root}.venv/lib`;

/** A file or folder of a package in .venv; undefined if it is not installed. */
export const installed = (path: string): string | undefined =>
  (existsSync(library) ? readdirSync(library) : [])
    .map((version) => `${library}/${version}/site-packages/${path}`)
    .find(existsSync);

/** The folder with `dlpack/dlpack.h` and `tvm/ffi/c_api.h`; undefined if it is not installed. */
export const include = installed('tvm_ffi/include/dlpack/dlpack.h') && installed('tvm_ffi/include');

/** Names what is missing, for `testWith`. */
export const includeMissing = include === undefined ? 'the headers of apache-tvm-ffi in .venv' : false;

/** Every enumerator with a number in the text of a header: `kName = 3`, `kName = 1 << 3`. */
export function enumeratorsOf(path: string): Map<string, number> {
  const text = readFileSync(path, 'utf8');
  const found = new Map<string, number>();
  for (const [, name = '', value = '', shift] of text.matchAll(/^ *(k\w+) *= *(-?\d+)U? *(?:<< *(\d+))?,?/gm)) {
    found.set(name, Number(value) << Number(shift ?? 0));
  }
  return found;
}

/** Every struct in the text of a header: `struct Name {` in C++, `} Name;` in C, where that is also the end of an enum. */
export function structsOf(path: string): Set<string> {
  const text = readFileSync(path, 'utf8');
  const enums = new Set([...text.matchAll(/^typedef enum\b[^}]*} (\w+);/gm)].map(([, name]) => name as string));
  const found = [...text.matchAll(/^(?:struct (\w+) {|} (\w+);)/gm)].map(([, cpp, c]) => (cpp ?? c) as string);
  return new Set(found.filter((name) => !enums.has(name)));
}

/** A header of this repository. */
export function ownHeader(name: string): string {
  return `${root}native/abi/${name}`;
}
