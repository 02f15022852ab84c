/**
 * Hermes, the engine of React Native. npm has the compiler of today's React Native, and as a program that runs scripts only
 * Hermes 0.12 of 2022, which knows no classes, WeakRef, FinalizationRegistry or structuredClone. What runs there runs in newer ones.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { equal, ok } from '../assert.js';
import { test, testWith } from '../harness.js';
import { makeProject, pageProgram, pageWorks, root, run, tools } from './project.js';

const require = createRequire(join(tools, 'package.json'));

const folders: Record<string, string> = {
  'linux x64': 'linux64-bin',
  'darwin x64': 'osx-bin',
  'win32 x64': 'win64-bin',
};
const folder = folders[`${process.platform} ${process.arch}`] ?? 'none';
const command = (path: string): string =>
  join(tools, 'node_modules', path, folder, path.endsWith('hermesc') ? 'hermesc' : 'hermes');
const hermes = command('hermes-engine-cli');
const compiler = command('hermes-compiler/hermesc');
const missing = (file: string): string | false =>
  !existsSync(file) && !existsSync(`${file}.exe`) && `${file} in .bundlers`;

/** What React Native defines and the engine does not. */
const reactNative = `
globalThis.console = { log: (...values) => print(...values), warn() {} };
globalThis.queueMicrotask = (callback) => void Promise.resolve().then(callback);`;

/** Bundles a program with the conditions of Metro. */
function bundle(name: string, program: string): string {
  const project = makeProject(`hermes-${name}`, { 'main.js': program });
  const outfile = join(project, 'bundle.js');
  buildSync({
    entryPoints: [join(project, 'main.js')],
    bundle: true,
    platform: 'neutral',
    format: 'iife',
    conditions: ['require', 'react-native'],
    banner: { js: reactNative },
    outfile,
  });
  return outfile;
}

/** Translates a bundle as React Native does: with classes for its Hermes, without for older ones. */
function translate(file: string, profile: 'hermes-stable' | 'default'): string {
  const { transformSync } = require('@babel/core') as {
    transformSync(text: string, options: object): { code: string };
  };
  const preset = require.resolve('@react-native/babel-preset');
  const options = { enableBabelRuntime: false, unstable_transformProfile: profile };
  const { code } = transformSync(readFileSync(file, 'utf8'), {
    filename: file,
    configFile: false,
    babelrc: false,
    compact: true,
    presets: [[preset, options]],
  });
  const translated = file.replace('.js', `.${profile}.js`);
  writeFileSync(translated, code);
  return translated;
}

test('the condition react-native of every module takes no native code', () => {
  const text = readFileSync(bundle('conditions', pageProgram), 'utf8');
  ok(!/\.node["'`]|["'`]node:/.test(text), 'the bundle names native code');
});

testWith(missing(compiler), "React Native's Babel preset and compiler take every module", () => {
  const file = translate(bundle('compiler', pageProgram), 'hermes-stable');
  run(compiler, ['-emit-binary', '-w', '-out', `${file}.hbc`, file], root);
});

testWith(missing(hermes), 'Hermes 0.12 runs every module', () => {
  const output = run(hermes, [translate(bundle('page', pageProgram), 'default')], root);
  ok(output.includes(pageWorks), output);
});

const kit = `
import * as dlpack from 'dlpack';
import { casesOf, formatReport, runCases } from 'dlpack/conformance';
import { packageSubject } from ${JSON.stringify(join(root, 'build/tests/conformance/subjects/package.js'))};
const cases = casesOf(packageSubject('the core', dlpack));
runCases(cases, { subject: 'the core' }).then((report) => console.log(formatReport(report, 'text')));`;

testWith(missing(hermes), 'the core conforms to the specification in Hermes 0.12', () => {
  const output = run(hermes, [translate(bundle('kit', kit), 'default')], root);
  const [, passed, failed, skipped] = /Hermes 0\.12.*: (\d+) passed, (\d+) failed, (\d+) skipped/.exec(output) ?? [];
  equal([Number(passed) >= 300, failed, skipped], [true, '0', '22'], output);
});
