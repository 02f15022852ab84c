// Debian packages of any architecture, checked against the index of their suite.
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { Missing, online } from './steps.mjs';

const base = 'http://deb.debian.org/debian';
const indices = new Map();

const fetchBytes = (path) =>
  online(async () => {
    const answer = await fetch(`${base}/${path}`);
    if (!answer.ok) throw new Missing(`${base}/${path}: ${answer.status}`);
    return Buffer.from(await answer.arrayBuffer());
  });

/** The entries of all packages of a suite. */
async function indexOf(arch, suite) {
  const path = `dists/${suite}/main/binary-${arch}/Packages.gz`;
  if (!indices.has(path))
    indices.set(
      path,
      gunzipSync(await fetchBytes(path))
        .toString('utf8')
        .split('\n\n'),
    );
  return indices.get(path);
}

/** The bytes of a package. */
export async function fetchDebian(name, arch, suite) {
  const entry = (await indexOf(arch, suite)).find((text) => text.startsWith(`Package: ${name}\n`)) ?? '';
  const field = (key) => entry.match(new RegExp(`^${key}: (.*)$`, 'm'))?.[1];
  const bytes = await fetchBytes(field('Filename') ?? '');
  if (createHash('sha256').update(bytes).digest('hex') !== field('SHA256'))
    throw new Error(`${name}: another checksum`);
  return bytes;
}
