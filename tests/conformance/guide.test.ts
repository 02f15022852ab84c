/** People copy the code of the guides, so it must do what they say. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { casesOf, runCases, type Subject } from 'dlpack/conformance';
import { equal, ok } from '../assert.js';
import { test, testWith } from '../harness.js';
import { fileOf } from './command.js';
import { environment } from './environment.js';
import subject from './subjects/guide.js';

const pageOf = (name: string) => readFileSync(new URL(`../../../docs/guides/${name}`, import.meta.url), 'utf8');
test('the consumer of the guide conforms', async () => {
  const { results } = await runCases(casesOf(subject, environment), { subject: subject.name });
  equal(
    results.filter(({ outcome }) => outcome === 'failed').map(({ id, message }) => `${id}: ${message}`),
    [],
  );
  const asked = results.find(({ id }) => id === 'c.device.checked');
  equal(asked?.outcome, 'skipped', 'a case with an option that it does not have');
});

test('the first subject of the guide on conformance breaks as many rules as the guide says', async () => {
  const guide = pageOf('conformance.md');
  const [code = ''] = (guide.split('```js\n')[1] ?? '').split('```');
  const subject = new Function(code.replace('export default', 'return'))() as Subject;
  const { counts, conforms } = await runCases(casesOf(subject, environment));
  equal(conforms, false);
  ok(guide.includes(`names ${counts.failed} broken rules`) && counts.passed > 30, JSON.stringify(counts));
});

const compiler = process.env.CC ?? 'cc';
const noCompiler = spawnSync(compiler, ['--version']).status !== 0 && 'a C compiler';

/** Compiles C, and runs it if it is a program. */
function runC(text: string, flags: readonly string[], isProgram: boolean): string {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-guide-'));
  try {
    const [source, program] = [join(folder, 'guide.c'), join(folder, 'guide')] as const;
    writeFileSync(source, text);
    const output = isProgram ? ['-o', program] : ['-fsyntax-only'];
    const common = ['-std=c11', '-Wall', '-Wextra', '-Werror'];
    const compiled = spawnSync(compiler, [...common, ...flags, source, ...output], { encoding: 'utf8' });
    equal(compiled.status, 0, compiled.stderr);
    return isProgram ? spawnSync(program, { encoding: 'utf8' }).stdout : '';
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The C of a page. */
const cOf = (page: string): string => pageOf(page).split('```c\n')[1]?.split('```')[0] ?? '';

testWith(noCompiler, 'the check of structs in the guide takes sound ones and refuses all others', () => {
  const ones = Array(65).fill(1).join();
  const calls: readonly [arguments_: string, isSound: boolean][] = [
    ['&memory, 2, AXES(2, 3), AXES(3, 1), 0', true],
    ['&memory, 2, AXES(2, 3), NULL, 0', true],
    ['&memory, 0, NULL, NULL, 0', true],
    ['NULL, 2, AXES(0, 3), AXES(1, 1), 0', true],
    ['&memory, 1, AXES(6), AXES(-1), 20', true],
    ['&memory, 2, AXES(4, 3), AXES(0, 1), 0', true],
    ['NULL, 1, AXES(2), AXES(1), 0', false],
    ['&memory, -1, AXES(2), AXES(1), 0', false],
    [`&memory, 65, AXES(${ones}), AXES(${ones}), 0`, false],
    ['&memory, 1, NULL, NULL, 0', false],
    ['&memory, 2, AXES(2, -3), AXES(3, 1), 0', false],
    ['&memory, 1, AXES(3), AXES(INT64_MAX), 0', false],
    ['&memory, 1, AXES(2), AXES(INT64_MIN), 0', false],
    ['&memory, 1, AXES(2), AXES(INT64_C(1) << 62), 0', false],
    ['&memory, 1, AXES(INT64_MAX), AXES(1), 0', false],
    ['&memory, 1, AXES(2), AXES(1), UINT64_MAX', false],
    ['&memory, 1, AXES(2), AXES(1), UINT64_C(1) << 63', false],
    ['&memory, 3, AXES(INT64_C(1) << 31, INT64_C(1) << 31, 4), NULL, 0', false],
  ];
  const output = runC(
    `#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
typedef struct { int32_t device_type, device_id; } DLDevice;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
typedef struct {
  void* data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t *shape, *strides; uint64_t byte_offset;
} DLTensor;
#define AXES(...) (int64_t[]){__VA_ARGS__}
${cOf('adopt.md')}
static char memory;
static void check(void* data, int32_t ndim, int64_t* shape, int64_t* strides, uint64_t byte_offset) {
  const DLTensor tensor = {data, {1, 0}, ndim, {2, 32, 1}, shape, strides, byte_offset};
  puts(is_sound(&tensor, 4) ? "true" : "false");
}
int main(void) {
${calls.map(([list]) => `  check(${list});`).join('\n')}
}`,
    [],
    true,
  );
  const found = output.trim().split('\n');
  equal(
    calls.map(([list], i) => [list, found[i]]),
    calls.map(([list, isSound]) => [list, String(isSound)]),
  );
});

testWith(noCompiler, 'the call of the method from C in the guide compiles', () => {
  const include = `-I${fileOf('node_modules/node-api-headers/include')}`;
  runC(`#include <node_api.h>\n${cOf('addons.md')}`, [include, '-Wno-unused-function'], false);
});
