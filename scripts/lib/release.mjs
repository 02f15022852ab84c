// What must be true before the package is published, and how npm publishes it.

/**
 * What only the owner of the project can name, and whether it is there: `{ file, field, isThere }`, from the contents of
 * package.json and the texts of CITATION.cff and SECURITY.md. docs/design/release.md has the same rows.
 */
export const ownerFields = (manifest, citation, security) => [
  ...['repository', 'homepage', 'bugs'].map((field) => ({ file: 'package.json', field, isThere: field in manifest })),
  { file: 'CITATION.cff', field: 'repository-code', isThere: /^repository-code: ./m.test(citation) },
  { file: 'CITATION.cff', field: 'authors', isThere: !citation.includes('The dlpack contributors') },
  { file: 'SECURITY.md', field: 'Reporting', isThere: /^## Reporting\n[\s\S]*https:\/\//m.test(security) },
];

/** What stops a release before anything is built: the command builds dist and the addons later. */
export const earlyProblems = (release) => releaseProblems({ ...release, isDistFresh: true, addons: [] });

/** The arguments with which npm publishes a packed file. Only a workflow with `id-token: write` can sign provenance. */
export const publishArguments = (file, env) => [
  'publish',
  file,
  ...(env.ACTIONS_ID_TOKEN_REQUEST_URL === undefined ? [] : ['--provenance']),
  '--access',
  'public',
];

/**
 * Everything that is missing for a release, each with what to do; empty when the package can be published.
 *
 * `version` is that of package.json, `fields` those of `ownerFields`, `cited` the version of CITATION.cff, `locked` that of
 * package-lock.json, `changelog` the text of CHANGELOG.md, `changes` what `git status --porcelain` prints, or null if it
 * does not run. An addon is `{ name, isThere, isFresh, problems }`.
 */
export function releaseProblems({ version, fields, cited, locked, changelog, changes, isDistFresh, addons }) {
  const problems = fields
    .filter(({ isThere }) => !isThere)
    .map(
      ({ file, field }) => `Expected "${field}" of the owner in ${file} but it is missing; see docs/design/release.md`,
    );
  if (cited !== version)
    problems.push(`Expected the version ${version} in CITATION.cff but found ${cited}; write the same version`);
  if (changes === null) problems.push('Expected a git repository but git status fails; publish from a clone');
  else if (changes !== '')
    problems.push(`Expected a clean tree but git lists changes; commit or remove them:\n${changes}`);
  const heading = /^## (.*)$/m.exec(changelog)?.[1];
  const [named, note] = heading?.split(' ') ?? [];
  if (named !== version || note === '(unreleased)') {
    problems.push(
      `Expected "## ${version} (date)" as the first version in CHANGELOG.md, as in package.json, but found "## ${heading}"; ` +
        'write the same version in both, and the date',
    );
  }
  if (locked !== version)
    problems.push(`Expected the version ${version} in package-lock.json but found ${locked}; run npm install`);
  if (!isDistFresh) problems.push('Expected a dist of this source but it is missing or older; run npm run build');
  for (const { name, isThere, isFresh, problems: found } of addons) {
    const place = `prebuilds/${name}/dlpack.node`;
    if (!isThere) problems.push(`Expected ${place} but it is missing; run npm run build:all`);
    else if (!isFresh)
      problems.push(
        `Expected ${place} of npm run build:all and of this source but it is another; run npm run build:all`,
      );
    else if (found.length > 0) problems.push(`Expected a good addon in ${place} but ${found.join('; ')}`);
  }
  return problems;
}
