// Debian packages of any architecture, from the mirror of this system's apt, and through it: apt knows the proxies and
// passwords. Each package is checked against the index of its suite.
import { mkdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { at, Missing, online, run } from './steps.mjs';

const place = '.cache/debian';
const indices = new Map();

/** The mirror of Debian among "label|address" lines. Before the first `apt-get update` apt knows no labels. */
export function mirrorAmong(lines) {
  const sources = lines.map((line) => line.split('|'));
  const found =
    sources.find(([label]) => label === 'Debian') ??
    sources.find(([label, address]) => label === '' && /\/debian\/?$/.test(address ?? ''));
  return found?.[1].replace(/\/$/, '');
}

async function findMirror() {
  const format = ['--format', '$(LABEL)|$(REPO_URI)', 'Created-By: Packages'];
  const answer = await run('apt-get', ['indextargets', ...format]).catch(() => ({ output: '' })); // no apt here
  const found = mirrorAmong(answer.output.trim().split('\n'));
  if (found === undefined)
    throw new Missing('apt with a mirror of Debian among its sources (see /etc/apt/sources.list.d).');
  return found;
}

let mirror;

/** The bytes of a file of the mirror. apt compares them with `sum`, if it is given. */
async function fetchBytes(path, sum) {
  mirror ??= await findMirror();
  mkdirSync(at(place), { recursive: true });
  const file = at(place, path.replaceAll('/', '-'));
  const checked = sum === undefined ? [] : [`SHA256:${sum}`];
  await online(() => run('/usr/lib/apt/apt-helper', ['download-file', `${mirror}/${path}`, file, ...checked]));
  return readFileSync(file);
}

/** The entries of all packages of a suite. */
async function indexOf(arch, suite) {
  const path = `dists/${suite}/main/binary-${arch}/Packages.gz`;
  if (!indices.has(path)) {
    const bytes = await fetchBytes(path);
    indices.set(path, gunzipSync(bytes).toString('utf8').split('\n\n'));
  }
  return indices.get(path);
}

/** The bytes of a package. */
export async function fetchDebian(name, arch, suite) {
  const entry = (await indexOf(arch, suite)).find((text) => text.startsWith(`Package: ${name}\n`));
  if (entry === undefined) throw new Missing(`the package ${name} for ${arch} in Debian's ${suite}`);
  const field = (key) => entry.match(new RegExp(`^${key}: (.*)$`, 'm'))[1];
  return fetchBytes(field('Filename'), field('SHA256'));
}
