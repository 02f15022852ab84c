/**
 * The text of `toJSONGraph`, checked before the library reads it. A graph is a list of nodes that refer to each other by
 * their indices.
 */

import { ArgumentValueError } from '../errors.js';
import { Type } from './codec/any.js';
import { MAX_DEPTH } from './codec/containers.js';
import { checkGraph } from './nesting.js';
import { describeType, findType } from './objects/types.js';

const OPENING = new Set(['[', '{']);
const CLOSING = new Set([']', '}']);

/** Throws if brackets are nested too deep, because the library parses JSON recursively. */
export function checkText(text: string): void {
  let depth = 0;
  let isString = false;
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    if (isString && character === '\\') i++;
    else if (character === '"') isString = !isString;
    else if (!isString && OPENING.has(character)) depth++;
    else if (!isString && CLOSING.has(character)) depth--;
    if (depth > MAX_DEPTH) {
      throw new ArgumentValueError('text', `JSON nested at most ${MAX_DEPTH} deep`, 'one that is deeper');
    }
  }
}

/** Throws if the nodes of a parsed graph are nested too deep, or form a cycle. */
export function checkNodes(graph: unknown): void {
  if (!(graph instanceof Map)) return; // the library explains what it expects
  const nodes: unknown = graph.get('nodes');
  const root = indexOf(graph.get('root_index'));
  if (!Array.isArray(nodes) || root === null) return;
  checkGraph(
    'text',
    root,
    (index) => childrenOf(nodes[index]),
    (index) => index,
  );
}

/** The library takes booleans for integers. It refuses an index outside of the nodes. */
function indexOf(value: unknown): number | null {
  return typeof value === 'number' || typeof value === 'boolean' ? Number(value) : null;
}

const sequences = ['ffi.Array', 'ffi.List', 'ffi.Map', 'ffi.Dict'];
/** Fields of these types have their value in place of an index. */
const plain: readonly number[] = [Type.none, Type.int, Type.bool, Type.float, Type.dtype];

/** The indices of the nodes that a node refers to. */
function childrenOf(node: unknown): number[] {
  if (!(node instanceof Map)) return [];
  const key: unknown = node.get('type');
  const data: unknown = node.get('data');
  if (typeof key !== 'string') return [];
  const values = sequences.includes(key) && Array.isArray(data) ? data : data instanceof Map ? fieldsOf(key, data) : [];
  return values.map(indexOf).filter((index) => index !== null);
}

function fieldsOf(key: string, data: ReadonlyMap<unknown, unknown>): unknown[] {
  const values: unknown[] = [];
  for (let type = findType(key) ?? -1; type >= 0; type = describeType(type).parent) {
    for (const { name, valueType } of describeType(type).fields)
      if (!plain.includes(valueType)) values.push(data.get(name));
  }
  return values;
}
