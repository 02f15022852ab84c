import { readFileSync } from 'node:fs';
import { equal } from '../assert.js';
import { test } from '../harness.js';

const root = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

interface Package {
  version?: string;
  resolved?: string;
  integrity?: string;
  optionalDependencies?: Record<string, string>;
}

for (const folder of ['', 'site/']) {
  const { packages } = JSON.parse(read(`${folder}package-lock.json`)) as { packages: Record<string, Package> };
  const { '': own, ...others } = packages;

  test(`${folder}package-lock.json has a version and a checksum for each package, and the address of none`, () => {
    equal(own?.version, (JSON.parse(read(`${folder}package.json`)) as Package).version);
    for (const [path, { version, resolved, integrity }] of Object.entries(others)) {
      equal([typeof version, resolved, integrity?.startsWith('sha512-')], ['string', undefined, true], path);
    }
  });

  test(`${folder}package-lock.json has the packages of every platform, without which npm ci fails on the others`, () => {
    const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies),
    );
    equal(
      wanted.filter((name) => !(`node_modules/${name}` in packages)),
      [],
    );
  });
}
