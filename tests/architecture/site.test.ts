/** The scripts and the site run without a compiler, so nothing else notices an import that leads nowhere. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const modules = ['scripts', 'site', 'site/.vitepress', 'site/lib', 'scripts/lib'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => join(folder, name)),
);

/** The specifiers of a module that are neither a file that exists nor the name of a package. */
const deadIn = (path: string): string[] =>
  [...readFileSync(join(root, path), 'utf8').matchAll(/^(?:import|export) (?:[^'";]* from )?'([^']+)';$/gm)]
    .map(([, specifier]) => specifier as string)
    .filter((specifier) =>
      /^\.{1,2}\//.test(specifier)
        ? !existsSync(join(root, dirname(path), specifier))
        : !/^(node:)?@?[a-z]/.test(specifier),
    );

test('every import of the scripts and the site leads to a file, or names a package', () => {
  ok(modules.length > 50, `${modules.length} modules`);
  equal(
    modules.flatMap((path) => deadIn(path).map((specifier) => `${path}: ${specifier}`)),
    [],
  );
});
