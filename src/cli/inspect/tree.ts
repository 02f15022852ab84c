/** Tensors as a tree of their names. Layers that look alike stand once. */

import { printable } from '../../base/printable.js';
import type { Listed } from './listed.js';
import { bytesText } from './text.js';

interface Branch {
  readonly children: Map<string, Branch>;
  tensor: Listed | null;
}

const newBranch = (): Branch => ({ children: new Map(), tensor: null });

/** More levels than a model has. A longer name of a forged file keeps the rest in its last part. */
const MOST_LEVELS = 16;

/** The parts of a name. A slash stays at the end of its part, so that `a/b` and `a.b` remain two names. */
function partsOf(name: string): string[] {
  const parts = printable(name).split(/\.|(?<=\/)/);
  const rest = parts.slice(MOST_LEVELS - 1);
  return [...parts.slice(0, MOST_LEVELS - 1), ...(rest.length === 0 ? [] : [rest.reduce(joined)])];
}

const joined = (first: string, second: string): string => `${first}${first.endsWith('/') ? '' : '.'}${second}`;

function grow(tensors: readonly Listed[]): Branch {
  const root = newBranch();
  for (const tensor of tensors) {
    let branch = root;
    for (const part of partsOf(tensor.name)) {
      const next = branch.children.get(part) ?? newBranch();
      branch.children.set(part, next);
      branch = next;
    }
    branch.tensor = tensor;
  }
  return root;
}

const describe = ({ dtype, shape }: Listed): string => printable(`${dtype} [${shape.join(', ')}]`);

/** Equal for branches whose tensors have the same names, dtypes and shapes. */
function formOf(branch: Branch): string {
  const own = branch.tensor === null ? '' : describe(branch.tensor);
  return `${own}{${Array.from(branch.children, ([name, child]) => JSON.stringify(name) + formOf(child)).join()}}`;
}

/** A line of the tree: the branch drawn before it, its name, and the tensor there. */
interface Line {
  readonly label: string;
  readonly tensor: Listed | null;
}

interface Named {
  readonly name: string;
  readonly branch: Branch;
}

/** The children. Numbers in a row with branches of the same form become one, such as `0…31`. */
function childrenOf(branch: Branch, isWhole: boolean): Named[] {
  const groups: { first: string; last: string; count: number; form: string | null; branch: Branch }[] = [];
  for (const [name, child] of branch.children) {
    const form = isWhole || !/^\d+\/?$/.test(name) ? null : formOf(child);
    const group = groups.at(-1);
    if (
      group !== undefined &&
      form !== null &&
      group.form === form &&
      Number.parseInt(name, 10) === Number.parseInt(group.last, 10) + 1
    ) {
      group.last = name;
      group.count++;
    } else {
      groups.push({ first: name, last: name, count: 1, form, branch: child });
    }
  }
  return groups.map(({ first, last, count, branch: only }) => ({
    name: count === 1 ? first : `${first.replace('/', '')}…${last.replace(/\/?$/, ` (${count} alike)$&`)}`,
    branch: only,
  }));
}

function linesOf(branch: Branch, indent: string, isWhole: boolean): Line[] {
  const children = childrenOf(branch, isWhole);
  return children.flatMap((child, i) => {
    const isLast = i === children.length - 1;
    let { name, branch: at } = child;
    // A branch with one child needs no line of its own.
    while (at.tensor === null && at.children.size === 1) {
      const [only] = childrenOf(at, isWhole) as [Named];
      name = joined(name, only.name);
      at = only.branch;
    }
    const line = { label: `${indent}${isLast ? '└─ ' : '├─ '}${name}`, tensor: at.tensor };
    return [line, ...linesOf(at, `${indent}${isLast ? '   ' : '│  '}`, isWhole)];
  });
}

const longest = (texts: readonly string[]): number => texts.reduce((most, { length }) => Math.max(most, length), 0);

/** The tree as text. `more` adds to the line of a tensor. */
export function treeText(tensors: readonly Listed[], isWhole: boolean, more: (tensor: Listed) => string): string {
  const lines = linesOf(grow(tensors), '', isWhole);
  const width = longest(lines.map(({ label, tensor }) => (tensor === null ? '' : label)));
  const texts = lines.map(({ tensor }) => (tensor === null ? '' : describe(tensor)));
  const typeWidth = longest(texts);
  return lines
    .map(({ label, tensor }, i) => {
      if (tensor === null) return `${label}\n`;
      const size = tensor.nbytes === null ? '' : bytesText(tensor.nbytes);
      return `${`${label.padEnd(width)}  ${(texts[i] as string).padEnd(typeWidth)}  ${size.padStart(8)}`.trimEnd()}${more(tensor)}\n`;
    })
    .join('');
}
