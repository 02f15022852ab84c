// Runs before npm publish: throws a list of everything that is missing for a release.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { problemsOf } from './lib/check-addon.mjs';
import { ownerFields, releaseProblems } from './lib/release.mjs';
import { distInputs } from './lib/setup.mjs';
import { at, isFresh, Missing, main, root } from './lib/steps.mjs';
import { addonInputs, linkedOf, prebuildOf, targets } from './lib/targets.mjs';

const textOf = (path) => readFileSync(at(path), 'utf8');

function changesInTree() {
  try {
    return execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' }).trimEnd();
  } catch {
    return null;
  }
}

function inspect(target) {
  const [path, linked] = [prebuildOf(target.name), linkedOf(target.name)];
  if (!existsSync(at(path))) return { name: target.name, isThere: false, isFresh: false, problems: [] };
  const bytes = readFileSync(at(path));
  // `npm run build` writes this machine's addon to the same place, with debug symbols.
  const isOfAll = isFresh(`native-${target.name}`, addonInputs, [linked]) && readFileSync(at(linked)).equals(bytes);
  return { name: target.name, isThere: true, isFresh: isOfAll, problems: problemsOf(target, bytes) };
}

/** What is there now, for `releaseProblems`. */
export function releaseState() {
  const manifest = JSON.parse(textOf('package.json'));
  const citation = textOf('CITATION.cff');
  return {
    version: manifest.version,
    fields: ownerFields(manifest, citation, textOf('SECURITY.md')),
    cited: /^version: (.*)$/m.exec(citation)?.[1],
    locked: JSON.parse(textOf('package-lock.json')).version,
    changelog: textOf('CHANGELOG.md'),
    changes: changesInTree(),
    isDistFresh: isFresh('dist', distInputs, ['dist/index.js']),
    addons: targets.map(inspect),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(() => {
    const problems = releaseProblems(releaseState());
    if (problems.length > 0) throw new Missing(`a package that can be published.\n- ${problems.join('\n- ')}`);
  });
}
