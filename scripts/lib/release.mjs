// What must be true before the package is published.

/**
 * Everything that is missing for a release, each with what to do; empty when the package can be published.
 *
 * `version` is that of package.json, `addresses` its fields with addresses, `cited` the version of CITATION.cff, `locked` that of package-lock.json, `changelog` the text of CHANGELOG.md, `changes` what `git status --porcelain` prints,
 * or null if it does not run. An addon is `{ name, isThere, isFresh, problems }`.
 */
export function releaseProblems({ version, addresses, cited, locked, changelog, changes, isDistFresh, addons }) {
  const problems = [];
  for (const [field, value] of Object.entries(addresses)) {
    if (value === undefined)
      problems.push(`Expected "${field}" in package.json but it is missing; write the address that the project has`);
  }
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
