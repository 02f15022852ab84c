/**
 * Upstream's own Python tests (apache/tvm-ffi 620fece9, `tests/python`), written with this package's names. bench/results/
 * upstream-tvm-ffi.md counts them and gives the reason for each test that is left out; `UPDATE=1` writes that page.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../../assert.js';
import { test, testWith } from '../../harness.js';
import { kernelsMissing } from './peer.js';
import { containers } from './upstream/containers.js';
import { leftOut } from './upstream/left-out.js';
import { accessPaths, metadata, objects } from './upstream/objects.js';
import type { Ports } from './upstream/ports.js';
import { serialization, structural } from './upstream/structure.js';
import { devices, dtypes, errors, functions, shapes, streams, strings, tensors } from './upstream/values.js';

const files: Readonly<Record<string, Ports>> = {
  test_function: functions,
  test_error: errors,
  test_object: objects,
  test_container: containers,
  test_tensor: { ...tensors, ...shapes },
  test_device: devices,
  test_dtype: dtypes,
  test_string: strings,
  test_stream: streams,
  test_structural: structural,
  test_serialization: serialization,
  test_metadata: metadata,
  test_access_path: accessPaths,
};

for (const [file, ports] of Object.entries(files)) {
  for (const [name, body] of Object.entries(ports)) testWith(kernelsMissing, `${file}.py: ${name}`, body);
}

const counts = Object.entries(files).map(([file, ports]) => {
  const held = Object.keys(ports).length;
  const left = Object.keys(leftOut[file] ?? {}).length;
  return { file, held, left };
});
const sum = (key: 'held' | 'left') => counts.reduce((total, count) => total + count[key], 0);
const reasons = Object.entries(leftOut).flatMap(([file, tests]) =>
  Object.entries(tests).map(([name, reason]) => `| ${file}.py | ${name} | ${reason} |`),
);
const page = `# Upstream's own tests of TVM-FFI

\`npm test -- tvm-ffi/upstream\` runs the Python tests of apache/tvm-ffi 620fece9 (August 2026) about functions, values, objects and
containers with this package's names, against the libtvm_ffi and the testing library of the wheel 0.1.15.post2. Of
${sum('held') + sum('left')} tests in ${counts.length} files ${sum('held')} hold, and ${sum('left')} have no counterpart. Where a test also asserts something about Python
itself, such as a docstring or \`sys.getrefcount\`, that assertion is left out.

| file | hold | no counterpart |
|---|---|---|
${counts.map(({ file, held, left }) => `| ${file}.py | ${held} | ${left} |`).join('\n')}

| file | test | reason |
|---|---|---|
${reasons.join('\n')}

The other files of that folder are about Python: dataclasses, type converters, stub generation, Cython's objects, wheels and build
tools.
`;

test('the page with the counts is up to date', () => {
  const path = fileURLToPath(new URL('../../../../bench/results/upstream-tvm-ffi.md', import.meta.url));
  if (process.env.UPDATE !== undefined) writeFileSync(path, page);
  equal(readFileSync(path, 'utf8'), page);
  ok(Object.keys(leftOut).every((file) => file in files));
});
