/** What functions and methods of the source throw, as far as their files show. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../../../src/', import.meta.url));

/** The text of each function at the top level, and of each method, by `function` and by `Class.method`. */
type Bodies = ReadonlyMap<string, string>;

const callable = /^(?:export )?(?:default )?(?:async )?(?:function\*?|const) (?:type )?([\w$]+)/;
const holder = /^(?:export )?(?:abstract )?class ([\w$]+)/;
const method = /^ {2}(?:(?:static|async|override|get|set|public|protected|private) )*\*?(#?[\w$]+|\[[\w.]+\])[(<]/;

/** The lines from `start` to the one that closes its bracket, which is as far to the left. */
function blockAt(lines: readonly string[], start: number, indent: string): string {
  const closing = new RegExp(`^${indent}[)\\]}]`);
  // Overloads end in their own line, and so does a function that is one expression.
  const end = lines.findIndex((line, i) => i >= start && (closing.test(line) || (i === start && /;$/.test(line))));
  return lines.slice(start, end + 1).join('\n');
}

function bodiesOf(file: string): Bodies {
  const lines = readFileSync(join(src, file.replace(/\.d\.ts$/, '.ts')), 'utf8').split('\n');
  const found = new Map<string, string>();
  const add = (name: string, text: string) => found.set(name, `${found.get(name) ?? ''}\n${text}`);
  let owner: string | null = null;
  lines.forEach((line, i) => {
    const [, name] = callable.exec(line) ?? [];
    if (name !== undefined) add(name, blockAt(lines, i, ''));
    const [, own] = holder.exec(line) ?? [];
    if (own !== undefined) owner = own;
    if (/^\}/.test(line)) owner = null;
    const [, key] = owner === null ? [] : (method.exec(line) ?? []);
    if (key !== undefined) add(`${owner}.${key}`, blockAt(lines, i, '  '));
  });
  return found;
}

const files = new Map<string, Bodies>();
function bodiesIn(file: string): Bodies {
  const known = files.get(file) ?? bodiesOf(file);
  files.set(file, known);
  return known;
}

/** The errors of a function, or of a method of a class, and of what it calls in the same file. */
export function thrownBy(file: string, name: string, key?: string): ReadonlySet<string> {
  const bodies = bodiesIn(file);
  const seen = new Set([key === undefined ? name : `${name}.${key}`]);
  const thrown = new Set<string>();
  for (const at of seen) {
    const body = (bodies.get(at) ?? '').replaceAll(/'[^'\n]*'|"[^"\n]*"|\/\/.*$/gm, '');
    for (const [, error = ''] of body.matchAll(/\bthrow new (\w+Error)\(/g)) thrown.add(error);
    for (const [, called = ''] of body.matchAll(/(?<![.\w#])([\w$]+)(?:<[^<>()]*>)?\(/g)) {
      if (bodies.has(called)) seen.add(called);
    }
    for (const [, called = ''] of key === undefined ? [] : body.matchAll(/\bthis\.(#?[\w$]+)\(/g)) {
      if (bodies.has(`${name}.${called}`)) seen.add(`${name}.${called}`);
    }
  }
  return thrown;
}
