/**
 * tests/architecture/api.txt: every name that programs can rely on, of values and types, and the members of classes and
 * interfaces. Adding one is a decision, removing one breaks programs. `UPDATE=1` writes it.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as core from 'dlpack';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { describe, entries } from './declarations.js';

const path = fileURLToPath(new URL('../../../tests/architecture/api.txt', import.meta.url));
const subpaths = [...entries()];

/** The page: for each subpath its names, one in a line, and the members of each below it. */
async function pageOfNames(): Promise<string> {
  const parts = [];
  for (const [subpath, names] of subpaths) {
    const values = Object.keys(await import(subpath));
    const unknown = values.filter((name) => !names.has(name));
    equal(unknown, [], `${subpath} exports values without declarations:`);
    const lines = [...names]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, origin]) => {
        const { kind, members } = describe(origin);
        ok(kind !== '', `${subpath}: ${name} has a declaration`);
        // A class that programs can name but not reach is only a type.
        const words = values.includes(name) ? kind : kind.replace(/^class/, 'type of a class');
        return [`  ${name}: ${words}`, ...members.map((member) => `    ${member}`)];
      });
    parts.push([subpath, ...lines].join('\n'));
  }
  return `${parts.join('\n\n')}\n`;
}

test('the exported names and their members are those of api.txt', async () => {
  const page = await pageOfNames();
  if (process.env.UPDATE) writeFileSync(path, page);
  const committed = readFileSync(path, 'utf8').split('\n');
  const now = page.split('\n');
  const changed = [
    ...now.filter((line) => !committed.includes(line)).map((line) => `+${line}`),
    ...committed.filter((line) => !now.includes(line)).map((line) => `-${line}`),
  ];
  equal(changed, [], 'UPDATE=1 npm test -- public-api writes what changed:');
  ok(page === committed.join('\n'), 'UPDATE=1 npm test -- public-api writes names that moved');
});

test('the members of Tensor are declared, except those that only libraries look for', () => {
  const members = (name: string) => describe(subpaths[0]?.[1].get(name) ?? '').members;
  const declared = [...members('Tensor'), ...members('TensorView')]
    .filter((member) => /^(get )?\w+$/.test(member))
    .map((member) => member.replace('get ', ''));
  const own = [core.Tensor, core.TensorView].flatMap((type) => Object.getOwnPropertyNames(type.prototype));
  const undeclared = ['__cuda_array_interface__', 'constructor'];
  equal([...new Set(own)].sort(), [...new Set([...declared, ...undeclared])].sort());
  const statics = Object.getOwnPropertyNames(core.Tensor).filter(
    (name) => typeof core.Tensor[name as 'from'] === 'function',
  );
  equal(
    statics.sort(),
    members('Tensor').flatMap((member) => /^static (\w+)$/.exec(member)?.[1] ?? []),
  );
});

test('the protocol symbols are registered, so that two copies of the package use the same symbols', () => {
  equal(core.DLPACK, Symbol.for('dlpack'));
  equal(core.DLPACK_DEVICE, Symbol.for('dlpack.device'));
});
