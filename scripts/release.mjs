// npm run release: everything from a commit to a published version. With --dry-run it stops before it publishes. What it
// packs, lists and signs is in .cache/release. docs/design/release.md describes the steps.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { releaseState } from './check-release.mjs';
import { pack } from './lib/pack.mjs';
import { earlyProblems, publishArguments, releaseProblems } from './lib/release.mjs';
import { sbomOf } from './lib/sbom.mjs';
import { npm } from './lib/setup.mjs';
import { at, Missing, main, planSteps, run, step } from './lib/steps.mjs';
import { prebuildOf, targets } from './lib/targets.mjs';

const folder = '.cache/release';
const manifest = JSON.parse(readFileSync(at('package.json'), 'utf8'));

/** Writes the digest of the packed file beside it. */
function writeDigest(filename) {
  const digest = createHash('sha256')
    .update(readFileSync(at(folder, filename)))
    .digest('hex');
  writeFileSync(at(folder, `${filename}.sha256`), `${digest}  ${filename}\n`);
}

function writeSbom() {
  const files = targets.map(({ name }) => ({ path: prebuildOf(name), bytes: readFileSync(at(prebuildOf(name))) }));
  writeFileSync(at(folder, 'sbom.cdx.json'), `${JSON.stringify(sbomOf(manifest, files), null, 2)}\n`);
}

/** Installs the packed file as a user does, and checks it there. */
async function tryIt(filename) {
  const project = at(folder, 'project');
  mkdirSync(project, { recursive: true });
  writeFileSync(`${project}/package.json`, '{ "private": true, "type": "module" }\n');
  await run(npm, ['install', '--no-audit', '--no-fund', '--offline', at(folder, filename)], { cwd: project });
  for (const command of ['doctor', 'demo']) {
    await run(npm, ['exec', '--offline', '--', 'dlpack', command], { cwd: project });
  }
}

await main(async () => {
  const isTrial = process.argv.includes('--dry-run');
  const unknown = process.argv.slice(2).find((argument) => argument !== '--dry-run');
  if (unknown !== undefined)
    throw new Missing(`an option that exists; "${unknown}" does not. npm run release -- --dry-run`);
  const early = earlyProblems(releaseState());
  if (!isTrial && early.length > 0) throw new Missing(`what a release needs.\n- ${early.join('\n- ')}`);
  rmSync(at(folder), { recursive: true, force: true });
  mkdirSync(at(folder), { recursive: true });
  let packed;
  const steps = [
    ['dist', () => run(npm, ['run', 'build'])],
    ['addons of all platforms, twice', () => run(process.execPath, [at('scripts/build-all.mjs'), '--twice'])],
    ['tests of the package', () => run(process.execPath, [at('scripts/test.mjs'), 'architecture/'])],
    [
      'package',
      async () => {
        packed = await pack(at(folder));
        writeDigest(packed);
      },
    ],
    ['list of addons', writeSbom],
    ['installation in an empty folder', () => tryIt(packed)],
  ];
  planSteps(steps.length);
  for (const [title, action] of steps) await step(title, async () => void (await action()));
  const problems = releaseProblems(releaseState());
  if (problems.length > 0) throw new Missing(`what a release needs.\n- ${problems.join('\n- ')}`);
  console.log(`\n${folder}/${packed} can be published.`);
  if (isTrial) return 0;
  await run(npm, publishArguments(at(folder, packed), process.env), { show: true });
  return 0;
});
