/** Packages for other platforms come from the mirror that the system's apt uses. */

import { readFileSync } from 'node:fs';
import { equal } from '../assert.js';
import { test } from '../harness.js';

const module = new URL('../../../scripts/lib/debian.mjs', import.meta.url);
const { mirrorAmong } = (await import(module.href)) as { mirrorAmong(lines: string[]): string | undefined };

test('the mirror of Debian is found by its label, or by its path where apt has no labels yet', () => {
  const others = ['Debian-Security|http://a.example/debian-security/', 'Node|https://b.example/node'];
  equal(mirrorAmong([...others, 'Debian|http://c.example/mirror/']), 'http://c.example/mirror');
  equal(mirrorAmong(['|http://a.example/debian-security/', '|http://c.example/debian/']), 'http://c.example/debian');
  equal(mirrorAmong([...others, 'Ubuntu|http://d.example/ubuntu/']), undefined);
  equal(mirrorAmong(['']), undefined);
});

test('no host is written into the script', () => {
  equal(/https?:\/\//.test(readFileSync(module, 'utf8')), false);
});
