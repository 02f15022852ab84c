/**
 * Everything that the package exports says what it does, what each parameter means, what it returns and throws, and each
 * function and class has an example. `npm run reference` checks the first with TypeDoc, and types inside of types; this
 * test needs no packages of the site. tests/docs runs the examples.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { entries } from './declarations.js';
import { thrownBy } from './throws.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A declaration or a member: its comments and the parameters of all overloads together. */
interface Documented {
  readonly comment: string;
  readonly parameters: ReadonlySet<string>;
  /** True for a function or a method that returns something other than its own object. */
  readonly hasResult: boolean;
  /** True for a function or a method whose result is, or contains, a tensor. */
  readonly hasTensor: boolean;
  /** True for a property that may be left out. */
  readonly isOptional: boolean;
}

interface Declared extends Documented {
  /** True for a function, or a constant that is one. */
  readonly isFunction: boolean;
  readonly isClass: boolean;
  /** The names of classes and interfaces that it extends or implements, which may document a member for it. */
  readonly parents: readonly string[];
  readonly members: ReadonlyMap<string, Documented>;
}

const declaration = /^(?:export )?(?:declare )?(?:abstract )?(class|interface|type|function|const) ([\w$]+)(.*)$/;
/** A line of the body of a class or interface that begins a member, which TypeScript indents by four spaces. */
const member = /^ {4}(?!private |protected |#)(?:(?:readonly|static|abstract|get|set) )*([\w$]+|\[[\w.]+\])(?=[?(:<])/;
/** The name and the type parameters of a function or a method, up to its parameters. */
const callable = /^\s*(?:(?:export|declare|static|abstract|function) )*(?:[\w$]+|\[[\w.]+\])\??(?=[(<])/;

/** The type of a constant that is a function. */
const functionType = /^: (?:<[^(]*>)?\([^()]*\) =>/;

/** The comment that ends in the line before `i`. */
function commentBefore(lines: readonly string[], i: number): string {
  if (lines[i - 1]?.trimEnd().endsWith('*/') !== true) return '';
  let start = i - 1;
  while (!(lines[start] as string).trimStart().startsWith('/**')) start--;
  return lines.slice(start, i).join('\n');
}

/** Splits a list at the commas outside of its brackets. An arrow has no bracket. */
function partsOf(list: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of list.replaceAll('=>', '→')) {
    if ('([{<'.includes(character)) depth++;
    if (')]}>'.includes(character)) depth--;
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** What is between the brackets that the text begins with, and the rest. */
function bracketed(text: string): [string, string] {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if ('([{<'.includes(text[i] as string)) depth++;
    if (')]}'.includes(text[i] as string) || (text[i] === '>' && text[i - 1] !== '=')) depth--;
    if (depth === 0) return [text.slice(1, i), text.slice(i + 1)];
  }
  return ['', ''];
}

/**
 * The parameters that need words: not those whose type is a named set of options, whose members have their own, and
 * not `this`.
 */
function parametersAt(lines: readonly string[], i: number): string[] {
  const text = lines
    .slice(i, i + 60)
    .join('\n')
    .replace(/^export declare const ([\w$]+): /, '$1');
  const [head] = callable.exec(text) ?? [];
  if (head === undefined) return [];
  let rest = text.slice(head.length);
  if (rest.startsWith('<')) [, rest] = bracketed(rest);
  const [list] = bracketed(rest);
  return partsOf(list.replaceAll(/\/\*\*.*?\*\//gs, '/**')).flatMap((part) => {
    if (part.startsWith('/**')) return []; // a property, with its own comment
    const [, name = '', type = ''] = /^(?:\.\.\.)?([\w$]+|\{[\s\S]*?\})\??:? ?([\s\S]*)$/.exec(part) ?? [];
    return name === 'this' || /^\w*(Options|Settings)\b/.test(type) ? [] : [name];
  });
}

/** The last line of a method, but no accessor; empty for others. It is indented as the first line. */
function methodEnd(lines: readonly string[], i: number): string {
  if (!/^ {4}(?:(?:static|abstract) )*[\w$]+\??[(<]/.test(lines[i] as string)) return '';
  return lines.find((line, at) => at >= i && /^ {4}\S.*;$/.test(line)) ?? '';
}

/** For the last line of a declaration: true if tensors come back. */
const returnsTensor = (end: string): boolean =>
  /\b(?:Tensor|TensorView)\b/.test(/(?:\):|=>) (?!asserts |\w+ is )((?:(?!\): ).)*);$/.exec(end)?.[1] ?? '');

const both = (before: Documented | undefined, { comment, parameters, ...is }: Documented): Documented => ({
  comment: `${before?.comment ?? ''}${comment}`,
  parameters: new Set([...(before?.parameters ?? []), ...parameters]),
  hasResult: is.hasResult || before?.hasResult === true,
  hasTensor: is.hasTensor || before?.hasTensor === true,
  isOptional: is.isOptional,
});

/** The declarations of a file in dist, as TypeScript prints them: a member starts on its own line. */
function declarationsOf(lines: readonly string[]): Map<string, Declared> {
  const found = new Map<string, Declared>();
  lines.forEach((line, start) => {
    const [, kind, name, rest] = declaration.exec(line) ?? [];
    if (name === undefined || rest === undefined) return;
    const members = new Map<string, Documented>();
    const end = kind === 'class' || kind === 'interface' ? lines.indexOf('}', start) : start;
    for (let i = start + 1; i < end; i++) {
      const [, key] = member.exec(lines[i] as string) ?? [];
      if (key === undefined) continue;
      const last = methodEnd(lines, i);
      const one = {
        comment: commentBefore(lines, i),
        parameters: new Set(parametersAt(lines, i)),
        hasResult: last !== '' && !/\): (?:void|this|Promise<void>|asserts .*);$/.test(last),
        hasTensor: returnsTensor(last),
        isOptional: /^[^(<:]*\?:/.test(lines[i] as string),
      };
      members.set(key, both(members.get(key), one));
    }
    const parents = (
      /\b(?:extends|implements) (.*)\{/.exec(rest.replace(/^<[^{]*?> (?=extends|implements|\{)/, ''))?.[1] ?? ''
    )
      .split(/[^\w$]+/)
      .filter((word) => word !== '');
    const isFunction = kind === 'function' || (kind === 'const' && functionType.test(rest));
    const last = lines.find((it, i) => i >= start && /^\S.*;$/.test(it)) ?? '';
    const own = both(found.get(name), {
      comment: commentBefore(lines, start),
      parameters: new Set(isFunction ? parametersAt(lines, start) : []),
      hasResult: isFunction && !/(?:\):|=>) (?:void;|asserts )/.test(last),
      hasTensor: isFunction && returnsTensor(last),
      isOptional: false,
    });
    found.set(name, { ...own, parents, members, isFunction, isClass: kind === 'class' });
  });
  return found;
}

const files = new Map<string, Map<string, Declared>>();
function declaredIn(file: string): Map<string, Declared> {
  const known = files.get(file) ?? declarationsOf(readFileSync(join(root, 'dist', file), 'utf8').split('\n'));
  files.set(file, known);
  return known;
}

/** What every class of its kind has, and what needs no words. */
const plain = ['constructor', 'tag', 'name', 'toString'];

interface Export {
  readonly file: string;
  readonly name: string;
  readonly declared: Declared | undefined;
}

function exportsOf(): Export[] {
  const origins = new Set([...entries().values()].flatMap((names) => [...names.values()]));
  return [...origins].map((origin) => {
    const [file, name] = origin.split('#') as [string, string];
    return { name, file, declared: declaredIn(file).get(name) };
  });
}

function allExports(): Export[] {
  const all = exportsOf();
  ok(
    all.length > 400 && all.filter(({ declared }) => (declared?.members.size ?? 0) > 0).length > 150,
    'reads the declarations',
  );
  return all;
}

/** The comment of a member in a class or interface that the export extends or implements. */
const inherited = (parents: readonly string[], key: string): string =>
  parents
    .flatMap((parent) => [...files.values()].map((file) => file.get(parent)?.members.get(key)?.comment ?? ''))
    .join('');

test('every export and every member of an exported class or interface has a doc comment', () => {
  const missing = allExports().flatMap(({ name, file, declared }) => {
    if (declared === undefined) return [`${file}: ${name} was not found`];
    const members = [...declared.members]
      .filter(([key, { comment }]) => comment === '' && !plain.includes(key) && !inherited(declared.parents, key))
      .map(([key]) => `${file}: ${name}.${key}`);
    return declared.comment !== '' ? members : [`${file}: ${name}`, ...members];
  });
  equal(missing, []);
});

/** The parameters without a word: `@param name - What it is.` */
const unnamed = ({ parameters }: Documented, comment: string): string[] =>
  [...parameters].filter((parameter) => !new RegExp(`@param ${parameter.replace('$', '\\$')} - \\S`).test(comment));

/** A class that programs make with `new`. Errors are made by this package. */
const isMade = ({ name, declared }: Export): boolean =>
  !name.endsWith('Error') &&
  !declared?.comment.includes('@hideconstructor') &&
  !declared?.members.get('constructor')?.comment.includes('For this package only');

test('every parameter of an exported function, method or constructor has a @param, or its type is a documented set of options', () => {
  const all = exportsOf();
  const missing = all.flatMap(({ name, file, declared }) => {
    // What ends in Like describes an object of the platform, which has its own reference.
    if (declared === undefined || name.endsWith('Like')) return [];
    const own = unnamed(declared, declared.comment).map((parameter) => `${file}: ${name}(${parameter})`);
    const members = [...declared.members]
      .filter(([key]) => (key === 'constructor' ? isMade({ name, file, declared }) : !plain.includes(key)))
      .flatMap(([key, documented]) => {
        const words = documented.comment + inherited(declared.parents, key);
        return unnamed(documented, words).map((parameter) => `${file}: ${name}.${key}(${parameter})`);
      });
    return [...own, ...members];
  });
  equal(missing, []);
  const parameters = all.flatMap(({ declared }) => [...(declared?.parameters ?? [])]);
  ok(parameters.length > 200, `reads ${parameters.length} parameters of functions`);
});

/** The functions of the package with their comments, by name. */
function functions(): (Export & { readonly declared: Declared })[] {
  return exportsOf().filter((it): it is Export & { declared: Declared } => it.declared?.isFunction === true);
}

/** The comment, and those of the functions and methods that it names: as {@link other} does, or as `other` does. */
function withReferences(comment: string, members: ReadonlyMap<string, Documented> = new Map()): string {
  const named = [...comment.matchAll(/\b[Aa]s (?:for )?(?:`|\{@link )(\w+)/g)].map(([, name = '']) => name);
  const found = named.map((name) => {
    const declared = [...files.values()].flatMap((file) => file.get(name) ?? []);
    return (members.get(name)?.comment ?? '') + declared.map((it) => it.comment).join('\n');
  });
  return [comment, ...found].join('\n');
}

test('every exported function that returns something says what', () => {
  const missing = functions()
    .filter(({ declared: { hasResult, comment } }) => hasResult && !comment.includes('@returns'))
    .map(({ file, name }) => `${file}: ${name}`);
  equal(missing, []);
});

/** A first sentence that says what comes back. */
const saysResult = /^\s*\/?\*\* ?(?:\n\s*\* )?(?:Returns|Tells|Makes) /;

test('every method of an exported class or interface that returns something says what', () => {
  let count = 0;
  const missing = exportsOf().flatMap(({ name, file, declared }) => {
    if (declared === undefined || name.endsWith('Like')) return [];
    const methods = [...declared.members].filter(([key, { hasResult }]) => hasResult && !plain.includes(key));
    count += methods.length;
    return methods
      .map(([key, { comment }]) => [key, comment + inherited(declared.parents, key)] as const)
      .filter(([, comment]) => !comment.includes('@returns') && !saysResult.test(comment))
      .map(([key]) => `${file}: ${name}.${key}`);
  });
  equal(missing, []);
  ok(count > 100, `reads ${count} methods`);
});

/** Words for memory that is shared, copied or new. */
const saysMemory = /\bshar|\bcop(?:y|ie)|\bmemory\b/i;
const example = /```[\s\S]*?```/g;

test('every function and method that returns a tensor says whether it shares, copies or allocates memory', () => {
  let count = 0;
  const missing = exportsOf().flatMap(({ name, file, declared }) => {
    if (declared === undefined) return [];
    const own: [string, Documented] = [name, declared];
    const members = [...declared.members].map(([key, member]): [string, Documented] => [`${name}.${key}`, member]);
    const returning = [own, ...members].filter(([, { hasTensor }]) => hasTensor);
    count += returning.length;
    return returning
      .filter(([, { comment }]) => !saysMemory.test(withReferences(comment, declared.members).replaceAll(example, '')))
      .map(([key]) => `${file}: ${key}`);
  });
  equal(missing, []);
  ok(count > 60, `reads ${count} functions and methods that return tensors`);
});

/** How comments say what holds without an option: `'cpu' when absent`, `3 by default`, `Without it, …`. */
const saysDefault = /\b(?:[Dd]efault|[Aa]bsent|none)\b|\b[Ww]ithout (?:it|one)\b|\botherwise\./;

test('every option that may be left out says what happens without it', () => {
  let count = 0;
  const missing = allExports().flatMap(({ name, file, declared }) => {
    if (!name.endsWith('Options')) return [];
    const optional = [...(declared?.members ?? [])].filter(([, { isOptional }]) => isOptional);
    count += optional.length;
    return optional.filter(([, { comment }]) => !saysDefault.test(comment)).map(([key]) => `${file}: ${name}.${key}`);
  });
  equal(missing, []);
  ok(count > 150, `reads ${count} options`);
});

test('every exported function and class has an example, or says that it works as one that has', () => {
  const all = exportsOf();
  const without = (isWanted: (declared: Declared) => boolean): string[] => {
    const wanted = all.filter(({ declared }) => declared !== undefined && isWanted(declared));
    ok(wanted.length > 60, `reads ${wanted.length} declarations`);
    return wanted
      .filter(({ declared }) => !withReferences(declared?.comment ?? '').includes('@example'))
      .map(({ file, name }) => `${file}: ${name}`);
  };
  equal(
    without(({ isFunction }) => isFunction),
    [],
  );
  equal(
    without(({ isClass }) => isClass),
    [],
  );
});

/** The errors that nothing behind `@throws` names. */
const unsaid = (thrown: Iterable<string>, comment: string): string[] => {
  const words = comment
    .split(/@throws/)
    .slice(1)
    .map((part) => part.split(/^\s*\* @(?!throws)/m)[0])
    .join();
  return [...thrown].filter((error) => !words.includes(error));
};

test('an exported function or method names the errors that it and the functions of its file throw', () => {
  let count = 0;
  const missing = exportsOf().flatMap(({ name, file, declared }) => {
    if (declared === undefined) return [];
    const said = (key: string, comment: string, thrown: ReadonlySet<string>): string[] => {
      count += thrown.size;
      return unsaid(thrown, withReferences(comment, declared.members)).map(
        (error) => `${file}: ${key} throws ${error}`,
      );
    };
    const own = declared.isFunction ? said(name, declared.comment, thrownBy(file, name)) : [];
    const members = [...declared.members]
      .filter(([key]) => !plain.includes(key))
      .flatMap(([key, { comment }]) =>
        said(`${name}.${key}`, comment + inherited(declared.parents, key), thrownBy(file, name, key)),
      );
    return [...own, ...members];
  });
  equal(missing, []);
  ok(count > 150, `finds ${count} errors that functions throw`);
});
