/** Reads the declarations in dist: what each entry of the package exports, and which types its declarations name. */

import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const dist = join(root, 'dist');

/** A name in a file, where it is declared: `storage/descriptor.d.ts#Descriptor`. */
export type Origin = string;

interface File {
  /** The text of each declaration at the top level; overloads and merged declarations together. */
  readonly declared: Map<string, string>;
  /** Names that the file imports, or exports from another file: where to look for them. */
  readonly imported: Map<string, Origin>;
  /** The names that the file exports, and their names in the file. */
  readonly exported: Map<string, string>;
  /** The files of which it exports everything. */
  readonly stars: string[];
}

const files = new Map<string, File>();
/** The declarations of classes, interfaces and types. Others are values, which users name by their own names. */
const isType = (text: string) => /^\s*(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|enum) /.test(text);
const declaration =
  /^(?:export )?(?:declare )?(?:default )?(?:abstract )?(?:class|interface|type|function|const|let|enum|namespace) (?:type )?([\w$]+)/;

function read(path: string): File {
  const known = files.get(path);
  if (known !== undefined) return known;
  const file: File = { declared: new Map(), imported: new Map(), exported: new Map(), stars: [] };
  files.set(path, file);
  const text = readFileSync(path, 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/^\s*\/\/.*$/gm, '');
  const at = (specifier: string) => join(dirname(path), specifier).replace(/\.js$/, '.d.ts');
  const names = (list: string) =>
    list
      .split(',')
      .map((item) => item.trim().replace(/^type /, ''))
      .filter((item) => item !== '')
      .map((item) => item.split(' as ') as [string, string?]);
  // A statement begins at the margin. What is indented, and the line of a closing bracket, belongs to it.
  for (const statement of text.split(/\n(?=[a-z])/)) {
    const from = /^(import|export) (?:type )?\{([^}]*)\} from ['"](\.[^'"]+)['"]/.exec(statement);
    const star = /^export \* from ['"](\.[^'"]+)['"]/.exec(statement);
    const own = /^export (?:type )?\{([^}]*)\};/.exec(statement);
    const name = declaration.exec(statement)?.[1];
    if (from !== null) {
      for (const [there, here = there] of names(from[2] as string)) {
        file.imported.set(here, `${at(from[3] as string)}#${there}`);
        if (from[1] === 'export') file.exported.set(here, here);
      }
    } else if (star !== null) file.stars.push(at(star[1] as string));
    else if (own !== null) for (const [here, there = here] of names(own[1] as string)) file.exported.set(there, here);
    else if (name !== undefined) {
      file.declared.set(name, `${file.declared.get(name) ?? ''}\n${statement}`);
      if (statement.startsWith('export ')) file.exported.set(name, name);
    }
  }
  return file;
}

/** Where a name of a file is declared; null for names of other packages. */
function originOf(path: string, name: string): Origin | null {
  const { declared, imported } = read(path);
  if (declared.has(name)) return `${relative(dist, path)}#${name}`;
  const [next, there] = imported.get(name)?.split('#') ?? [];
  if (next === undefined) return null;
  const { exported } = read(next);
  return originOf(next, exported.get(there as string) ?? (there as string));
}

function exportsOf(path: string): Map<string, Origin> {
  const { exported, stars } = read(path);
  const found = new Map(stars.flatMap((star) => [...exportsOf(star)]));
  for (const [name, here] of exported) {
    const origin = originOf(path, here);
    if (origin !== null) found.set(name, origin);
  }
  return found;
}

/** The names of each subpath, and where they are declared. `dlpack/browser` repeats other subpaths. */
export function entries(): Map<string, Map<string, Origin>> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, { types?: string }>;
  };
  const subpaths = Object.entries(exports).filter(([name, { types }]) => types !== undefined && name !== './browser');
  return new Map(subpaths.map(([name, { types = '' }]) => [name.replace('.', 'dlpack'), exportsOf(join(root, types))]));
}

/** A public member of a class or interface, which starts on a line of its own, indented by four spaces. */
const member = /^ {4}((?:(?:readonly|static|abstract|get|set) )*)([\w$]+|\[[^\]]+\])?(\??)[(<:]/gm;

/** The first line of a class or interface, up to its body, without what is in brackets: `class Tensor extends TensorView`. */
const headOf = (text: string) => {
  let [head = ''] = text.split(/ \{$/m);
  head = head.replaceAll('=>', '');
  for (let before = ''; before !== head; ) [before, head] = [head, head.replaceAll(/<[^<>]*>/g, '')];
  return head;
};

/** What an exported name is, such as `class extends TensorView`, and the names of its members. */
export function describe(origin: Origin): { kind: string; members: string[] } {
  const [file = '', name = ''] = origin.split('#');
  const text = (read(join(dist, file)).declared.get(name) ?? '').replaceAll(/^export /gm, '');
  const all = [...text.matchAll(/^(?:declare )?(?:abstract )?(\w+) /gm)].map(([, kind = '']) => kind);
  const kind = all.includes('class') ? 'class' : (all[0] ?? '');
  if (kind !== 'class' && kind !== 'interface') return { kind, members: [] };
  const start = text.search(new RegExp(`^(?:declare )?(?:abstract )?${kind} `, 'm'));
  const [, parents = ''] = /( (?:extends|implements) .*)/.exec(headOf(text.slice(start))) ?? [];
  const members = [...text.replaceAll(/^ {4}constructor\([\s\S]*?\);$/gm, '').matchAll(member)]
    .filter(([line]) => !/^ {4}(?:private|protected)\b/.test(line))
    .map(([, words = '', key = '()', optional = '']) => `${words.replace('abstract ', '')}${key}${optional}`);
  return { kind: `${kind}${parents}`, members: [...new Set(members)].sort() };
}

/** The names in a declaration that its file declares or imports, except its own and those of private members. */
function namesIn(path: string, name: string): string[] {
  const { declared, imported } = read(path);
  const text = (declared.get(name) ?? '').replaceAll(/^\s*private .*$/gm, '');
  const words = text.match(/(?:typeof )?(?<![.\w$])[A-Za-z_$][\w$]*/g) ?? [];
  // A lower-case word is a value only after `typeof`: it may be the name of a property elsewhere.
  const used = words.filter((word) => /^(?:typeof |[A-Z])/.test(word)).map((word) => word.replace('typeof ', ''));
  return [...new Set(used)].filter((word) => word !== name && (declared.has(word) || imported.has(word)));
}

/** The types that the exports lead to and that no subpath exports, each with the declarations that name it. */
export function unexportedTypes(): Map<Origin, Set<Origin>> {
  const exported = new Set([...entries().values()].flatMap((names) => [...names.values()]));
  const found = new Map<Origin, Set<Origin>>();
  const seen = new Set(exported);
  for (const origin of seen) {
    const [file = '', name = ''] = origin.split('#');
    const path = join(dist, file);
    for (const word of namesIn(path, name)) {
      const target = originOf(path, word);
      if (target === null) continue;
      seen.add(target);
      const [there = '', declared = ''] = target.split('#');
      if (exported.has(target) || !isType(read(join(dist, there)).declared.get(declared) ?? '')) continue;
      found.set(target, (found.get(target) ?? new Set()).add(origin));
    }
  }
  return found;
}

/** The declarations of classes whose doc comment hides the constructor, by the path of the file. */
export function classesWithoutConstructor(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [path] of files) {
    const texts = readFileSync(path, 'utf8').split('@hideconstructor').slice(1);
    const classes = texts.map((text) => text.slice(text.indexOf('*/\n') + 3).split('\n}')[0] as string);
    if (classes.length > 0) found.set(relative(dist, path), classes);
  }
  return found;
}
