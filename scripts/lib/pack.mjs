// Packs the package as npm publishes it.
import { readdirSync } from 'node:fs';
import { npm } from './setup.mjs';
import { run } from './steps.mjs';

/** Packs the package into a folder that has no packed file yet, and returns the name of the file. */
export async function pack(folder) {
  await run(npm, ['pack', '--pack-destination', folder]);
  // The folder has the name. What npm prints can have notices before and after it.
  return readdirSync(folder).find((name) => name.endsWith('.tgz'));
}
