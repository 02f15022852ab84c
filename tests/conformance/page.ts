/** The report of a subject, which is a page of docs/conformance. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { equal } from '../assert.js';
import { hasExternalBuffers, runtime } from '../harness.js';
import { conformance, fileOf } from './command.js';

/** Runs the command on a subject, or only the cases whose ids begin with `only`. It must conform, and compares the report with its page. */
export function checkPage(page: string, module: string, env: Record<string, string> = {}, only = ''): void {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-conformance-'));
  try {
    const written = join(folder, 'report.md');
    const { status, output } = conformance([fileOf(module), '--only', only, '--report', written], env);
    equal(status, 0, output);
    if (runtime !== 'node' || !hasExternalBuffers) return; // elsewhere other cases are skipped
    const text = readFileSync(written, 'utf8');
    const path = fileOf(`docs/conformance/${page}.md`);
    if (process.env.UPDATE) writeFileSync(path, text);
    const committed = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const differs = text.split('\n').findIndex((line, i) => line !== committed.split('\n')[i]);
    const remedy = 'look at it, then run this test with UPDATE=1;';
    equal(differs, -1, `docs/conformance/${page}.md differs from line ${differs + 1} on; ${remedy}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
