/** README says how to get the package as long as npm does not have it: until CHANGELOG.md has the date of the version. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { root } from './project.js';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');

test('README: the package is not on npm yet, as long as CHANGELOG.md says that it is unreleased', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const [, named, note] = /^## (\S+) \((.*)\)$/m.exec(read('CHANGELOG.md')) ?? [];
  equal(named, version);
  const lines = read('README.md')
    .split('\n')
    .filter((line) => /not on npm/i.test(line));
  equal(lines.length, note === 'unreleased' ? 1 : 0, lines.join());
  for (const line of lines) ok(line.includes(`\`npm install ../dlpack-${version}.tgz\``), line);
});
