/** The check before `npm publish`. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

interface Addon {
  readonly name: string;
  readonly isThere: boolean;
  readonly isFresh: boolean;
  readonly problems: readonly string[];
}

interface Release {
  readonly version: string;
  readonly addresses: Readonly<Record<string, unknown>>;
  readonly cited: string | undefined;
  readonly locked: string;
  readonly changelog: string;
  readonly changes: string | null;
  readonly isDistFresh: boolean;
  readonly addons: readonly Addon[];
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const { releaseProblems } = (await import(pathToFileURL(join(root, 'scripts/lib/release.mjs')).href)) as {
  releaseProblems(release: Release): string[];
};

const addon: Addon = { name: 'linux-x64', isThere: true, isFresh: true, problems: [] };
const ready: Release = {
  version: '1.2.3',
  addresses: { repository: 'there', homepage: 'there', bugs: 'there' },
  cited: '1.2.3',
  locked: '1.2.3',
  changelog: '# Changes\n\n## 1.2.3 (2030-01-31)\n\nText.\n\n## 1.2.2\n',
  changes: '',
  isDistFresh: true,
  addons: [addon, { ...addon, name: 'win32-x64' }],
};

test('release: a package that has everything can be published', () => equal(releaseProblems(ready), []));

for (const [what, change, expected] of [
  [
    'changes in the tree',
    { changes: ' M src/index.ts' },
    'clean tree but git lists changes; commit or remove them:\n M src/',
  ],
  ['no repository', { changes: null }, 'a git repository but git status fails'],
  ['no address', { addresses: { repository: undefined, homepage: 'there' } }, '"repository" in package.json'],
  ['another version in CITATION.cff', { cited: '1.2.2' }, 'the version 1.2.3 in CITATION.cff but found 1.2.2'],
  [
    'another version',
    { version: '1.2.4', locked: '1.2.4', cited: '1.2.4' },
    '"## 1.2.4 (date)" as the first version in CHANGELOG.md',
  ],
  ['an unreleased version', { changelog: '## 1.2.3 (unreleased)' }, 'found "## 1.2.3 (unreleased)"'],
  ['another version in the lock file', { locked: '1.2.2' }, 'the version 1.2.3 in package-lock.json but found 1.2.2'],
  ['an old dist', { isDistFresh: false }, 'dist of this source but it is missing or older; run npm run build'],
  ['a missing addon', { addons: [{ ...addon, isThere: false }] }, 'prebuilds/linux-x64/dlpack.node but it is missing'],
  ['an old addon', { addons: [addon, { ...addon, isFresh: false }] }, 'run npm run build:all'],
  ['a wrong addon', { addons: [{ ...addon, problems: ['it needs libx.so'] }] }, 'a good addon in prebuilds/linux-x64'],
] as const) {
  test(`release: ${what}`, () => {
    const problems = releaseProblems({ ...ready, ...change });
    equal(problems.length, 1);
    ok(problems[0]?.startsWith('Expected ') && problems[0].includes(expected), problems[0]);
  });
}

test('release: npm publish runs the check', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  equal(scripts.prepublishOnly, 'node scripts/check-release.mjs');
});

test('release: the list of contents names the package and each file with its digest', async () => {
  const { sbomOf } = (await import(pathToFileURL(join(root, 'scripts/lib/sbom.mjs')).href)) as {
    sbomOf(
      manifest: object,
      files: readonly { path: string; bytes: Uint8Array }[],
    ): {
      metadata: { component: { purl: string } };
      components: { name: string; hashes: { content: string }[] }[];
    };
  };
  const manifest = { name: 'dlpack', version: '1.2.3', license: 'Apache-2.0', description: 'text' };
  const { metadata, components } = sbomOf(manifest, [{ path: 'prebuilds/x/dlpack.node', bytes: new Uint8Array() }]);
  equal(metadata.component.purl, 'pkg:npm/dlpack@1.2.3');
  equal(
    components.map(({ name, hashes }) => [name, hashes[0]?.content]),
    [['prebuilds/x/dlpack.node', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855']],
  );
});

test('release: without an address the command refuses before it builds anything', () => {
  const { status, stdout, stderr } = spawnSync('node', [join(root, 'scripts/release.mjs')], {
    encoding: 'utf8',
  });
  equal(status, 1, stdout);
  for (const field of ['repository', 'homepage', 'bugs'])
    ok(stderr.includes(`Expected "${field}" in package.json`), stderr);
  equal(stdout, '');
});
