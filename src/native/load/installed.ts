/** Packages of the program. */

import { node } from './node-modules.js';

/** The main file of a package, as a file of the program finds it; null if the package is not installed. */
export function findInstalled(name: string, from: string): string | null {
  // Where no folder above has node_modules, Bun would install the package.
  if ('bun' in process.versions && !isBeside(name, from)) return null;
  try {
    return node.module.createRequire(from).resolve(name);
  } catch {
    return null;
  }
}

function isBeside(name: string, from: string): boolean {
  const { dirname, join } = node.path;
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    if (node.fs.existsSync(join(folder, 'node_modules', name))) return true;
    if (folder === dirname(folder)) return false;
  }
}
