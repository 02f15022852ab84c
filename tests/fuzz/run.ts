/**
 * One run of a fuzzer in a process of its own: `run.js core --seed 7 --steps 20000 [--seconds 60] [--log file]`. Operations go
 * to the log as they begin, so that a crash leaves the last ones behind.
 */

import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { fuzzFiles } from '../files/fuzz.js';
import { fuzzAdapters } from './adapters.js';
import { fuzzCore } from './core.js';
import { fuzzPython } from './python.js';
import { fuzzTvmFfi } from './tvm-ffi.js';
import { fuzzWorkers } from './workers.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '20000' },
    seconds: { type: 'string', default: '0' },
    log: { type: 'string' },
  },
});
const [suite = 'core'] = positionals;
const seconds = Number(values.seconds);
const end = seconds > 0 ? Date.now() + seconds * 1000 : Number.POSITIVE_INFINITY;

const file = values.log === undefined ? null : openSync(values.log, 'w');
let lines = 0;
function log(line: string): void {
  if (file === null) return;
  if (++lines % 1000 === 0) ftruncateSync(file, 0);
  writeSync(file, `${line}\n`, lines % 1000 === 0 ? 0 : undefined);
}

const fuzzers = {
  core: fuzzCore,
  adapters: fuzzAdapters,
  workers: fuzzWorkers,
  python: fuzzPython,
  'tvm-ffi': fuzzTvmFfi,
  /** Damaged and forged files: every one is opened or refused with a typed error. */
  async files(seed: number, rounds: number, log: (line: string) => void, isOver: () => boolean): Promise<number> {
    const { opened, refused } = await fuzzFiles(seed, rounds, log, isOver);
    return opened + refused;
  },
} as const;
const fuzz = fuzzers[suite as keyof typeof fuzzers];
if (fuzz === undefined) throw new Error(`Expected ${Object.keys(fuzzers).join(' or ')} but received ${suite}`);
const done = await fuzz(Number(values.seed), Number(values.steps), log, () => Date.now() > end);
if (file !== null) closeSync(file);
console.log(`${suite}: seed ${values.seed}, ${done} operations`);
