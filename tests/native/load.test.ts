import { copyFileSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nativeStatus } from 'dlpack';
import { equal, ok } from '../assert.js';
import { resultOf, runChild, runtimeArgs } from '../child.js';
import { runtime, test } from '../harness.js';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'dlpack-addon-')));
const copy = join(folder, 'copy.node');
const none = join(folder, 'none.node');
const { path } = nativeStatus();
copyFileSync(path as string, copy);
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

interface Failure {
  readonly tag: string;
  readonly message: string;
  readonly stack: string;
}

/** The result of the case, and everything that the process printed. */
function runCase<T>(
  name: string,
  file = '',
  env: Record<string, string> = {},
  flags = runtimeArgs[runtime],
): { result: T; output: string } {
  const options = { args: [name, file], env, runtimeArgs: flags };
  const { code, signal, output } = runChild(import.meta.url, './children/load.js', options);
  equal(code, 0, `${signal}: ${output}`);
  return { result: resultOf(output), output };
}

test('the status names the file of the package', () => {
  ok(/prebuilds[\\/][^\\/]+[\\/]dlpack\.node$/.test(path as string), String(path));
  const { result, output } = runCase('status');
  equal(result, { loaded: true, path, reason: null });
  ok(!output.includes('DLPACK_NO_ADDON'), output);
});

test('loadAddon and DLPACK_ADDON name another file', () => {
  const expected = { loaded: true, path: copy, reason: null };
  equal(runCase('named', copy).result, { status: expected, isNative: true });
  equal(runCase('status', '', { DLPACK_ADDON: copy }).result, expected);
  equal(runCase('named', copy, { DLPACK_ADDON: none }).result, { status: expected, isNative: true });
});

test('a loaded addon cannot be replaced', () => {
  const { result } = runCase<Failure>('conflict', copy);
  equal(result.tag, 'ValueError');
  ok(result.message.includes(path as string) && result.message.includes(copy), result.message);
});

test('without the addon the core works and warns once', () => {
  interface Fallback {
    status: { loaded: boolean; path: string | null; reason: string };
    sum: number;
    first: Failure;
    second: Failure;
  }
  const { result, output } = runCase<Fallback>('fallback', '', { DLPACK_ADDON: none });
  equal([result.status.loaded, result.status.path, result.sum], [false, null, 4]);
  ok(result.status.reason.includes(none), result.status.reason);
  equal(output.split('Tensors live in JavaScript memory').length, 2, output);
  ok(output.includes('DLPACK_QUIET=1') && output.includes(none), output);
  for (const name of ['first', 'second'] as const) {
    equal(result[name].tag, 'LoadError');
    const advised = ['--no-addons', '--allow-ffi'].map((flag) => result[name].message.includes(flag));
    equal(advised, [runtime === 'node', runtime === 'deno'], 'the flags of this runtime only');
    ok(result[name].stack.includes(`${name} (`) || result[name].stack.includes(`${name}@`), result[name].stack);
  }
  const quiet = runCase('fallback', '', { DLPACK_ADDON: none, DLPACK_QUIET: '1' });
  ok(!quiet.output.includes('Tensors live'), quiet.output);
});

if (runtime === 'deno') {
  test('without permissions the core works', () => {
    // One permission, because Deno gives all of them to a child process that is started without any.
    const flags = ['run', '--no-prompt', '--allow-env=HOME'];
    const { result } = runCase<{ status: { loaded: boolean }; sum: number }>('fallback', '', {}, flags);
    equal([result.status.loaded, result.sum], [false, 4]);
  });
}

test('an addon that is named after a failed load is used from then on', () => {
  const { result } = runCase('recovery', copy, { DLPACK_ADDON: none, DLPACK_QUIET: '1' });
  equal(result, { status: { loaded: true, path: copy, reason: null }, isNative: true });
});

test('a path that is not a string, and a file that does not exist', () => {
  const { result } = runCase<[Failure, Failure]>('mistake', none);
  equal([result[0].tag, result[1].tag], ['TypeError', 'LoadError']);
  ok(result[1].message.includes(none), result[1].message);
});
