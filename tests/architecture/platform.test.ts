/** Code that differs between operating systems is in native/platform; no other native file uses the system. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const root = fileURLToPath(new URL('../../../native/', import.meta.url));
const files = (readdirSync(root, { recursive: true }) as string[])
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => /\.(cc|h)$/.test(file));

const systemHeader =
  /#include <(windows|dlfcn|pthread|unistd|signal|sched|time|malloc|fcntl|sys\/[\w/]+|mach\/[\w/]+|linux\/[\w/]+)\.h>/g;
const systemMacro = /\b(_WIN32|__linux__|__APPLE__|__GLIBC__|_MSC_VER|__MINGW32__)\b/g;

test('platform: only native/platform includes system headers or checks which system it is', () => {
  const found = files
    .filter((file) => !file.startsWith('platform/'))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return [...text.matchAll(systemHeader), ...text.matchAll(systemMacro)].map(([match]) => `${file}: ${match}`);
    });
  equal(found, [], 'call platform.h instead, and extend it where it lacks something');
});

test('platform: the rule finds violations', () => {
  const text = ['posix.cc', 'windows.cc'].map((file) => readFileSync(join(root, 'platform', file), 'utf8')).join('\n');
  const headers = [...text.matchAll(systemHeader)].map(([, name]) => name);
  for (const name of ['windows', 'dlfcn', 'pthread', 'unistd', 'signal', 'sys/mman']) ok(headers.includes(name), name);
});

test('platform: windows_node_api.cc lists the Node-API functions that the addon calls', () => {
  const { symbols } = createRequire(import.meta.url)('node-api-headers') as {
    symbols: { v8: { js_native_api_symbols: string[]; node_api_symbols: string[] } };
  };
  const all = new Set([...symbols.v8.js_native_api_symbols, ...symbols.v8.node_api_symbols]);
  const listed = 'platform/windows_node_api.cc';
  const own = files.filter((file) => file !== listed);
  const calls = [...own, '../include/dlpack_napi.h']
    .flatMap((file) => readFileSync(join(root, file), 'utf8').match(/\bnapi_\w+/g) ?? [])
    .filter((name) => all.has(name));
  equal(
    [...readFileSync(join(root, listed), 'utf8').matchAll(/^ {2}F\((\w+)\)/gm)].map(([, name]) => name),
    [...new Set(calls)].sort(),
  );
});
