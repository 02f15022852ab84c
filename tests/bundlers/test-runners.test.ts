import { readFileSync } from 'node:fs';
import { equal, ok } from '../assert.js';
import { test, testWith } from '../harness.js';
import { makeProject, modules, node, run, runtimePath, tool } from './project.js';

/** Two files over one addon: a runner evaluates the package for each, in one process. */
const testFile = (name: string, head: string) => `${head}
test('${name}', async () => {
  const x = Tensor.from([[1, 2], [3, 4]], { dtype: 'float32' });
  const t = x.transpose();
  const y = importManaged(exportManaged(t));
  if (addressOf(x) !== addressOf(y) || y.get(0, 1) !== 3 || !nativeStatus().loaded) throw new Error('wrong');
  for (const tensor of [x, t, y]) tensor.dispose();
  while (liveCounts().storages !== 0) await new Promise((resolve) => setTimeout(resolve, 1)); // until the memory of external buffers is freed
});`;
const imports = `${modules.map((name) => `import '${name}';`).join('\n')}
import { nativeStatus, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf, exportManaged, importManaged } from 'dlpack/native';`;

/** Bun has no `addEqualityTesters`, and its `toEqual` sees nothing of a tensor. */
const equalityFile = (head: string) => `${head}
import { Tensor } from 'dlpack';
import { equalityTesters, matchers } from 'dlpack/matchers';
expect.extend(matchers);
expect.addEqualityTesters?.(equalityTesters);
test('tensors', () => {
  const x = Tensor.from([[1, 2], [3, 4]]);
  const others = [x.astype('float32'), x.reshape([4]), x.transpose(), Tensor.from([[1, 2], [3, 4.5]])];
  expect(x).toEqualTensor(x.copy());
  expect(x).toBeCloseToTensor(others[3], { atol: 0.5 });
  expect(() => expect(x).toEqualTensor(x.transpose())).toThrow('2 at [0, 1] instead of 3 at [0, 1]');
  expect(() => expect(x).not.toEqualTensor(x.copy())).toThrow('not equal to');
  expect({ a: [x] }).toEqual({ a: [x.copy()] });
  expect(x).toStrictEqual(x.copy());
  for (const y of others) {
    expect(x).not.toEqualTensor(y);
    if (expect.addEqualityTesters === undefined) continue;
    expect(x).not.toEqual(y);
    expect({ a: [x] }).not.toStrictEqual({ a: [y] });
  }
});`;

/** The runners end a test after five seconds otherwise. */
const patience = ['--testTimeout=600000'];
const jestFlags = ['--runInBand', ...patience];

test('Jest with ES modules: two files over one addon in one process', () => {
  const project = makeProject('jest-esm', {
    'first.test.js': testFile('first', imports),
    'second.test.js': testFile('second', imports),
    'jest.config.js': "export default { testEnvironment: 'node', transform: {} };",
  });
  const output = tool('jest/bin/jest.js', jestFlags, project, { NODE_OPTIONS: '--experimental-vm-modules' });
  ok(output.includes('Tests:       2 passed'), output);
});

test('matchers and equality in Jest and Vitest', () => {
  const jest = makeProject('jest-matchers', {
    'equality.test.js': equalityFile("import { expect, test } from '@jest/globals';"),
    'jest.config.js': "export default { testEnvironment: 'node', transform: {} };",
  });
  const jestOutput = tool('jest/bin/jest.js', jestFlags, jest, { NODE_OPTIONS: '--experimental-vm-modules' });
  ok(jestOutput.includes('Tests:       1 passed'), jestOutput);
  const vitest = makeProject('vitest-matchers', {
    'equality.test.js': equalityFile("import { expect, test } from 'vitest';"),
  });
  const vitestOutput = tool('vitest/vitest.mjs', ['run', ...patience], vitest);
  ok(/Tests +1 passed/.test(vitestOutput), vitestOutput);
});

/** The programs of docs/guides/conformance.md, over a library that follows the protocol. */
const conformanceGuide = readFileSync(new URL('../../../docs/guides/conformance.md', import.meta.url), 'utf8');
const conformanceFile = (runner: string): string =>
  [...conformanceGuide.matchAll(/```js fragment[^\n]*\n([\s\S]*?)```/g)]
    .map(([, program = '']) => program)
    .find((program) => program.includes(`from '${runner}'`)) ?? '';
const conformanceSubject = `import { Tensor } from 'dlpack';
export default {
  name: 'dlpack',
  producer: {
    make: ({ dtype, shape, bytes }) =>
      dtype.code === 2 && dtype.bits === 32 && dtype.lanes === 1
        ? Tensor.wrap(new Float32Array(bytes.slice().buffer), { shape: [...shape] })
        : null,
  },
};`;

test('the cases of dlpack/conformance in node:test, Jest and Vitest, as the guide shows', () => {
  const projectFor = (name: string, runner: string) =>
    makeProject(name, {
      'subject.mjs': conformanceSubject,
      'conformance.test.mjs': conformanceFile(runner),
      'jest.config.js': "export default { testEnvironment: 'node', transform: {}, testMatch: ['**/*.test.mjs'] };",
    });
  const passed = (output: string, pattern: RegExp) => {
    const count = Number(pattern.exec(output)?.[1]);
    ok(count > 60, output.slice(-2000));
  };
  passed(node(['--test', '--test-reporter=tap'], projectFor('kit-node', 'node:test')), /^# pass (\d+)$/m);
  const vitest = projectFor('kit-vitest', 'vitest');
  passed(tool('vitest/vitest.mjs', ['run', ...patience], vitest), /Tests +(\d+) passed/);
  const flags = { NODE_OPTIONS: '--experimental-vm-modules' };
  const jest = projectFor('kit-jest', '@jest/globals');
  passed(tool('jest/bin/jest.js', jestFlags, jest, flags), /Tests: .*?(\d+) passed/);
});

const bun = runtimePath('bun/bin/bun');
testWith(bun === null && 'bun in .runtimes', 'matchers in Bun', () => {
  const project = makeProject('bun-matchers', {
    'equality.test.js': equalityFile("import { expect, test } from 'bun:test';"),
  });
  run(bun as string, ['test'], project);
});

// docs/guides/bundlers.md has this configuration.
const jestConfig = `module.exports = {
  testEnvironment: 'node',
  transform: { '\\\\.js$': ['babel-jest', { plugins: ['@babel/plugin-transform-modules-commonjs'] }] },
  transformIgnorePatterns: ['/node_modules/(?!dlpack/)'],
};`;

test('Jest with CommonJS: Babel converts the package', () => {
  const project = makeProject('jest-cjs', {
    'package.json': '{ "private": true }',
    'first.test.js': testFile('first', imports),
    'second.test.js': testFile('second', imports),
    'jest.config.cjs': jestConfig,
  });
  const output = tool('jest/bin/jest.js', jestFlags, project);
  ok(output.includes('Tests:       2 passed'), output);
});

test('Vitest: two files, in threads and in processes', () => {
  const project = makeProject('vitest', {
    'first.test.js': testFile('first', `import { test } from 'vitest';\n${imports}`),
    'second.test.js': testFile('second', `import { test } from 'vitest';\n${imports}`),
  });
  for (const pool of ['threads', 'forks']) {
    const output = tool('vitest/vitest.mjs', ['run', '--pool', pool, ...patience], project);
    ok(/Tests +2 passed/.test(output), output);
  }
});

const required = `
for (const name of ${JSON.stringify(modules)}) require(name);
const { Tensor, nativeStatus } = require('dlpack');
const { addressOf } = require('dlpack/native');
console.log(nativeStatus().loaded, addressOf(Tensor.from([1])) > 0n, require('dlpack').Tensor === Tensor);`;

test('require() of the package', () => {
  const project = makeProject('require', { 'package.json': '{ "private": true }', 'main.js': required });
  equal(node(['main.js'], project).trim(), 'true true true');
});

for (const name of ['node20', 'node22', 'node24', 'node26']) {
  const path = runtimePath(`${name}/bin/node`);
  testWith(path === null && `${name} in .runtimes`, `require() of the package on ${name}`, () => {
    const project = makeProject(`require-${name}`, { 'package.json': '{ "private": true }', 'main.js': required });
    equal(run(path as string, ['main.js'], project).trim(), 'true true true');
  });
}
