/** The check before `npm publish`, and the parts of npm run release, which no test runs: it would publish. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
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

interface Field {
  readonly file: string;
  readonly field: string;
  readonly isThere: boolean;
}

interface Release {
  readonly version: string;
  readonly fields: readonly Field[];
  readonly cited: string | undefined;
  readonly locked: string;
  readonly changelog: string;
  readonly changes: string | null;
  readonly isDistFresh: boolean;
  readonly addons: readonly Addon[];
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const urlOf = (path: string) => pathToFileURL(join(root, path)).href;
const { earlyProblems, ownerFields, publishArguments, releaseProblems } = (await import(
  urlOf('scripts/lib/release.mjs')
)) as {
  earlyProblems(release: Release): string[];
  ownerFields(manifest: object, citation: string, security: string): Field[];
  publishArguments(file: string, env: Readonly<Record<string, string>>): string[];
  releaseProblems(release: Release): string[];
};

const { scripts, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
  version: string;
};

const addon: Addon = { name: 'linux-x64', isThere: true, isFresh: true, problems: [] };
const ready: Release = {
  version: '1.2.3',
  fields: [{ file: 'package.json', field: 'bugs', isThere: true }],
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
  [
    'a field of the owner',
    { fields: [...ready.fields, { file: 'CITATION.cff', field: 'authors', isThere: false }] },
    '"authors" of the owner in CITATION.cff but it is missing; see docs/design/release.md',
  ],
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

test('release: npm publish runs the check', () => equal(scripts.prepublishOnly, 'node scripts/check-release.mjs'));

test('release: the list of native components names the package and each addon with its digest', async () => {
  const { sbomOf } = (await import(urlOf('scripts/lib/sbom.mjs'))) as {
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

test('release: before it builds anything, the command asks for all that it does not build', () => {
  const unbuilt = { ...ready, isDistFresh: false, addons: [{ ...addon, isThere: false }] };
  equal(earlyProblems(unbuilt), []);
  const fields = [{ file: 'package.json', field: 'bugs', isThere: false }];
  equal(earlyProblems({ ...unbuilt, fields }), releaseProblems({ ...ready, fields }));
});

test('release: every field that the page lists is asked for, and the owner can fill in each', () => {
  const page = readFileSync(join(root, 'docs/design/release.md'), 'utf8');
  const places = (fields: readonly Field[]) => fields.map(({ file, field }) => [file, field]);
  const empty = ownerFields({}, 'authors:\n  - name: The dlpack contributors\n', '## Reporting\n\nA form.\n');
  equal(
    [...page.matchAll(/^\| `(.*?)` \| `(.*?)` \|/gm)].map(([, file, field]) => [file, field]),
    places(empty.filter(({ isThere }) => !isThere)),
  );
  const address = 'https://host.example/dlpack';
  const full = ownerFields(
    { repository: address, homepage: address, bugs: address },
    `authors:\n  - name: A. Name\nrepository-code: ${address}\n`,
    `## Reporting\n\nUse [the form](${address}).\n`,
  );
  equal(places(full), places(empty));
  ok(full.every(({ isThere }) => isThere));
});

test('release: npm makes provenance where a workflow can sign it, and nowhere else', () => {
  equal(publishArguments('x.tgz', {}), ['publish', 'x.tgz', '--access', 'public']);
  const workflow = { ACTIONS_ID_TOKEN_REQUEST_URL: 'https://host.example' };
  equal(publishArguments('x.tgz', workflow), ['publish', 'x.tgz', '--provenance', '--access', 'public']);
});

test('release: the packed file is found, whatever npm prints beside its name', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-'));
  try {
    const code = `import { pack } from ${JSON.stringify(urlOf('scripts/lib/pack.mjs'))};
      console.log(await pack(${JSON.stringify(folder)}));`;
    const notice = `data:text/javascript,process.on('exit',()=>console.error('[notice]'))`;
    const env = { ...process.env, NODE_OPTIONS: `--import="${notice}"` };
    const { stdout, stderr } = spawnSync('node', ['--input-type=module', '-e', code], { encoding: 'utf8', env });
    equal(stdout, `dlpack-${version}.tgz\n`, stderr);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
