/**
 * Everything that the package exports says what it does. `npm run reference` checks the same with TypeDoc, and types inside
 * of types; this test needs no packages of the site.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { entries } from './declarations.js';

const dist = fileURLToPath(new URL('../../../dist/', import.meta.url));

interface Declared {
  readonly isDocumented: boolean;
  /** The names of classes and interfaces that it extends or implements, which may document a member for it. */
  readonly parents: readonly string[];
  /** Whether each member has a comment. Of overloads, one is enough. */
  readonly members: ReadonlyMap<string, boolean>;
}

const declaration = /^(?:export )?(?:declare )?(?:abstract )?(class|interface|type|function|const) ([\w$]+)(.*)$/;
/** A line of the body of a class or interface that begins a member, which TypeScript indents by four spaces. */
const member = /^ {4}(?!private |protected |#)(?:(?:readonly|static|abstract|get|set) )*([\w$]+|\[[\w.]+\])(?=[?(:<])/;

/** The declarations of a file in dist, as TypeScript prints them: a member starts on its own line. */
function declarationsOf(lines: readonly string[]): Map<string, Declared> {
  const found = new Map<string, Declared>();
  const isDocumented = (i: number) => lines[i - 1]?.trimEnd().endsWith('*/') === true;
  lines.forEach((line, start) => {
    const [, kind, name, rest] = declaration.exec(line) ?? [];
    if (name === undefined || rest === undefined) return;
    const members = new Map<string, boolean>();
    const end = kind === 'class' || kind === 'interface' ? lines.indexOf('}', start) : start;
    for (let i = start + 1; i < end; i++) {
      const [, key] = member.exec(lines[i] as string) ?? [];
      if (key !== undefined) members.set(key, members.get(key) === true || isDocumented(i));
    }
    const parents = (
      /\b(?:extends|implements) (.*)\{/.exec(rest.replace(/^<[^{]*?> (?=extends|implements|\{)/, ''))?.[1] ?? ''
    )
      .split(/[^\w$]+/)
      .filter((word) => word !== '');
    const before = found.get(name);
    found.set(name, { isDocumented: before?.isDocumented === true || isDocumented(start), parents, members });
  });
  return found;
}

const files = new Map<string, Map<string, Declared>>();
function declaredIn(file: string): Map<string, Declared> {
  const known = files.get(file) ?? declarationsOf(readFileSync(join(dist, file), 'utf8').split('\n'));
  files.set(file, known);
  return known;
}

/** What every class of its kind has, and what needs no words. */
const plain = ['constructor', 'tag', 'name', 'toString'];

function undocumented(): string[] {
  const origins = new Set([...entries().values()].flatMap((names) => [...names.values()]));
  const all = [...origins].map((origin) => {
    const [file, name] = origin.split('#') as [string, string];
    return { name, file, declared: declaredIn(file).get(name) };
  });
  ok(
    all.length > 400 && all.filter(({ declared }) => (declared?.members.size ?? 0) > 0).length > 150,
    'reads the declarations',
  );
  const documents = (parent: string, key: string) =>
    [...files.values()].some((file) => file.get(parent)?.members.get(key) === true);
  return all.flatMap(({ name, file, declared }) => {
    if (declared === undefined) return [`${file}: ${name} was not found`];
    const members = [...declared.members]
      .filter(
        ([key, has]) => !has && !plain.includes(key) && !declared.parents.some((parent) => documents(parent, key)),
      )
      .map(([key]) => `${file}: ${name}.${key}`);
    return declared.isDocumented ? members : [`${file}: ${name}`, ...members];
  });
}

test('every export and every member of an exported class or interface has a doc comment', () => {
  equal(undocumented(), []);
});
