/** Finds the programs that this package starts by their names. */

import { node } from './node-modules.js';

/** How long a program may take that only answers a question, in milliseconds. */
export const patience = 30_000;

/** What a search needs to know about the system. */
export interface System {
  readonly platform: string;
  readonly path: string;
  isFile(path: string): boolean;
}

const thisSystem = (): System => ({
  platform: process.platform,
  path: process.env.PATH ?? '',
  isFile: (path) => node.fs.statSync(path, { throwIfNoEntry: false })?.isFile() ?? false,
});

/** A drive or a server, so that the path does not depend on the working folder. */
const isFixed = (folder: string) => /^(?:[a-z]:[\\/]|\\\\)/i.test(folder);

/**
 * The command to start for the name or path of a program; null if there is none. Windows searches for a bare name in
 * the working folder before the PATH, and would run a file that somebody has left there, so bare names are looked up
 * here. Other systems search the PATH only.
 */
export function findProgram(name: string, system: System = thisSystem()): string | null {
  if (system.platform !== 'win32' || /[\\/:]/.test(name)) return name;
  const { join } = node.path.win32;
  for (const part of system.path.split(';')) {
    const folder = part.replace(/^"(.*)"$/, '$1');
    if (!isFixed(folder)) continue;
    const names = /\.[^.]+$/.test(name) ? [name, `${name}.exe`] : [`${name}.com`, `${name}.exe`];
    const found = names.map((file) => join(folder, file)).find((path) => system.isFile(path));
    if (found !== undefined) return found;
  }
  return null;
}
