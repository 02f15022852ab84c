/** The commands of a clone install what they need, so nothing may be missing when they are loaded. */

import { readdirSync, readFileSync } from 'node:fs';
import { equal } from '../assert.js';
import { test } from '../harness.js';

const scripts = new URL('../../../scripts/', import.meta.url);

test('scripts import packages only where they run, because a fresh clone has none when they are loaded', () => {
  const needing = readdirSync(scripts, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.mjs'))
    .filter((path) => {
      const text = readFileSync(new URL(path.replaceAll('\\', '/'), scripts), 'utf8');
      return /^(import|export) [^;]*?from '(?!node:|[.$])|^import '(?!node:|[.$])|^\S.*(\brequire|createRequire\(.*\))\('/m.test(
        text,
      );
    });
  equal(needing, []);
});
