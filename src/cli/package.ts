/** The installed package itself: its folder and its version. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LoadError } from '../errors.js';

/** The folder with our package.json, which is above this file in every build. */
export function packageFolder(): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (folder === dirname(folder)) {
      throw new LoadError('package.json of dlpack', [`${start} and the folders above it`], ['npm install dlpack']);
    }
  }
}

export function packageVersion(): string {
  return (JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8')) as { version: string }).version;
}
