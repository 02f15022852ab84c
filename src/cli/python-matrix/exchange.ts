/** Runs cells: exchanges one tensor and finds out what happened to it. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { liveCounts } from '../../debug/index.js';
import type { DType, Scalar } from '../../dtype.js';
import { isDLPackError } from '../../errors.js';
import { fromDLPack } from '../../from-dlpack.js';
import { addressOf } from '../../native/index.js';
import { DLPACK, type ManagedTensor } from '../../protocol/managed.js';
import { type PyObject, type Python, PythonError } from '../../python/index.js';
import { Tensor } from '../../tensor.js';
import type { TensorView } from '../../view.js';
import blocksCode from './blocks.py';
import type { Cell, PeerRow } from './cells.js';
import type { Outcome } from './lines.js';
import morePeersCode from './more_peers.py';
import peersCode from './peers.py';
import syntheticCode from './synthetic.py';
import {
  type DTypeRow,
  isPacked,
  type LayoutRow,
  LENGTH,
  otherValue,
  type Value,
  valueAt,
  valuesOf,
} from './tables.js';

/** How a peer describes a tensor of its own. */
interface Description {
  readonly address: number;
  readonly dtype: string;
  readonly shape: number[];
  readonly strides: number[];
  readonly readonly: boolean | null;
  readonly values: Value[];
}

const plain = (value: unknown): Value[] => {
  if (Array.isArray(value)) return value.flatMap(plain);
  if (typeof value === 'object' && value !== null) {
    const { re, im } = value as { re: number; im: number };
    return [[re, im]];
  }
  return [Number(value)];
};

const scalar = ({ name, lanes }: DTypeRow, value: Value): Scalar<DType> => {
  if (lanes > 1) return new Array(lanes).fill(value) as unknown as Scalar<DType>;
  if (typeof value !== 'number') return { re: value[0], im: value[1] } as Scalar<DType>;
  if (name === 'bool') return (value === 1) as Scalar<DType>;
  return (/^u?int64$/.test(name) ? BigInt(value) : value) as Scalar<DType>;
};

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Axes that are never stepped along may have any stride. */
const sameStrides = ({ shape, strides }: LayoutRow, found: readonly number[]): boolean =>
  shape.includes(0) || shape.every((length, axis) => length === 1 || strides[axis] === found[axis]);

const asRefused = (error: unknown): Outcome => {
  if (error instanceof PythonError) {
    (error.exception as PyObject)?.[Symbol.dispose]();
    return { outcome: `refused: ${error.type}`, message: error.message };
  }
  if (isDLPackError(error)) return { outcome: `refused: dlpack ${error.tag}`, message: error.message };
  throw error;
};

const absent: Outcome = { outcome: 'absent', message: '' };

/** Python objects are callable. */
const release = (object: PyObject | null): void => {
  if (typeof object === 'function') object[Symbol.dispose]();
};

/** Imports peers.py from a folder, so that Python's messages name its lines. */
function importPeers(python: Python): PyObject {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-peers-'));
  try {
    writeFileSync(join(folder, 'blocks.py'), blocksCode);
    writeFileSync(join(folder, 'more_peers.py'), morePeersCode);
    writeFileSync(join(folder, 'peers.py'), peersCode);
    writeFileSync(join(folder, 'synthetic.py'), syntheticCode);
    python.import('sys').path.insert(0, folder);
    return python.import('peers');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The functions of peers.py, and cells run through them. */
export class Exchange {
  readonly #functions: PyObject;
  /** Cells that left something behind. A few are enough to know. */
  #culprits = 0;

  constructor(python: Python) {
    const module = importPeers(python);
    const names = ['make', 'offer', 'witness', 'flip_first', 'first_bytes', 'take', 'describe_taken'];
    // Kept, because each look-up of an attribute would make another object with references.
    this.#functions = Object.fromEntries(
      [...names, 'write', 'itself', 'version', 'load', 'live', 'collect'].map((name) => [name, module[name]]),
    );
  }

  version(peer: string): string {
    return String(this.#functions.version(peer));
  }

  /** Loads peers; the names of those that are not installed. */
  load(names: readonly string[]): string[] {
    return [...this.#functions.load([...names])].map(String);
  }

  /**
   * Cells, one after the other. Afterwards everything that was made for them is released: memory was freed once, on each
   * side. If not, they are run again by halves until the culprit is found; its outcome names what is left.
   */
  async run(peer: PeerRow, cells: readonly Cell[]): Promise<Outcome[]> {
    for (const { dtype } of cells) templateOf(dtype, peer.isPadded === true);
    const before = await this.#settle(null);
    const outcomes = cells.map((cell) => this.#runOne(peer, cell));
    if (this.#culprits >= 3) return outcomes;
    const after = await this.#settle(before);
    if (after === before) return outcomes;
    if (cells.length === 1) {
      this.#culprits++;
      const { outcome, message } = outcomes[0] as Outcome;
      return [{ outcome: `broken: ${after} alive, not ${before}; ${outcome}`, message }];
    }
    const culprits = this.#culprits;
    const middle = cells.length >> 1;
    const again = [...(await this.run(peer, cells.slice(0, middle))), ...(await this.run(peer, cells.slice(middle)))];
    if (this.#culprits > culprits) return again;
    // Only together do they leave something behind.
    this.#culprits++;
    return [
      { outcome: `broken: ${after} alive, not ${before}, after ${cells.length} cells`, message: '' },
      ...again.slice(1),
    ];
  }

  #runOne(peer: PeerRow, cell: Cell): Outcome {
    return cell.direction === 'to JavaScript' ? this.#toJavaScript(peer, cell) : this.#fromJavaScript(peer, cell);
  }

  /** The live counts, once they are `expected` or no longer change. */
  async #settle(expected: string | null): Promise<string> {
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setTimeout(resolve, 0));
    for (let i = 0; i < (expected === null ? 1 : 32) && this.#live() !== expected; i++) {
      this.#functions.collect();
      await new Promise((resolve) => setTimeout(resolve, i * 40));
    }
    return this.#live();
  }

  /** Whether the peer takes its own tensor. */
  itself({ takes, isPadded = false }: PeerRow, cell: Cell): string {
    try {
      return String(this.#functions.itself(cell.peer, describeCase(cell, isPadded), takes[0]));
    } catch (error) {
      return asRefused(error).outcome;
    }
  }

  #live(): string {
    const { storages, imports, exports } = liveCounts();
    return [storages, imports, exports, Number(this.#functions.live())].join(' ');
  }

  #toJavaScript(peer: PeerRow, cell: Cell): Outcome {
    let made: PyObject | null = null;
    let offered: PyObject | null = null;
    let x: Tensor | null = null;
    try {
      made = this.#functions.make(cell.peer, describeCase(cell, peer.isPadded === true));
      if (made === null) return absent;
      offered = this.#functions.offer(made, cell.route);
      x = cell.copy === null ? fromDLPack(offered) : fromDLPack(offered, { copy: cell.copy });
      return { outcome: this.#look(peer, cell, made, x), message: '' };
    } catch (error) {
      return asRefused(error);
    } finally {
      x?.dispose();
      release(offered);
      release(made);
    }
  }

  /** The result of importing a peer's tensor. */
  #look(peer: PeerRow, cell: Cell, made: PyObject, x: Tensor): string {
    const { dtype, layout } = cell;
    const values = valuesOf(dtype, layout);
    const notes = describeDifferences(cell, x.dtype, x.shape, [...x].flatMap(plain), values);
    if (layout.shape.includes(0)) return ['empty', ...notes].join('; ');
    const index = layout.shape.map(() => 0);
    const before = plain(x.get(...index));
    const isSame = addressOf(x) === BigInt(Number(this.#functions.witness(made)));
    this.#functions.flip_first(made);
    const isSeen = !same(plain(x.get(...index)), before);
    if (isSame !== isSeen) return `broken: address ${isSame}, write seen ${isSeen}`;
    if (isSame && !sameStrides(layout, x.strides)) notes.push(`strides ${x.strides}`);
    const isReadOnly = cell.readonly || peer.isImmutable;
    if (x.isReadOnly !== (isSame && isReadOnly)) notes.push(x.isReadOnly ? 'read-only imposed' : 'read-only lost');
    // The values before the flip, not the current values.
    const first = scalar({ ...dtype, name: x.dtype }, values[0] as Value);
    if (x.isReadOnly) {
      if (!refusesWrite(() => x.set(...index, first))) notes.push('broken: a read-only tensor was written');
    } else {
      const bytes = String(this.#functions.first_bytes(made));
      x.set(...index, first);
      const isWritten = String(this.#functions.first_bytes(made)) !== bytes;
      if (isWritten !== isSame) notes.push(`broken: JavaScript's write seen ${isWritten}`);
    }
    return [isSame ? 'shared' : 'copied', ...notes].join('; ');
  }

  #fromJavaScript(peer: PeerRow, cell: Cell): Outcome {
    const { base, x } = makeTensor(cell, peer.isPadded === true);
    let taken: PyObject | null = null;
    try {
      taken = this.#functions.take(cell.peer, x, cell.route, cell.copy, cell.dtype.name);
      if (taken === null) return absent;
      if (typeof taken === 'string') return { outcome: `refused: ${taken.split(':')[0]}`, message: taken };
      return { outcome: this.#lookAtTaken(peer, cell, taken, base, x), message: '' };
    } catch (error) {
      return asRefused(error);
    } finally {
      release(taken);
      if (x instanceof Tensor) x.dispose();
      base.dispose();
    }
  }

  #describe(cell: Cell, taken: PyObject): Description {
    return JSON.parse(String(this.#functions.describe_taken(cell.peer, taken))) as Description;
  }

  /** The result of a peer that imports JavaScript's tensor. */
  #lookAtTaken(peer: PeerRow, cell: Cell, taken: PyObject, base: Tensor, x: TensorView): string {
    const { dtype, layout } = cell;
    const values = valuesOf(dtype, layout);
    const found = this.#describe(cell, taken);
    const notes = describeDifferences(cell, found.dtype, found.shape, found.values, values);
    if (layout.shape.includes(0)) return ['empty', ...notes].join('; ');
    const isSame = BigInt(found.address) === addressOf(x);
    const index = layout.shape.map(() => 0);
    base.set(layout.offset, scalar(dtype, otherValue(dtype, values[0] as Value)));
    const after = this.#describe(cell, taken).values;
    const isSeen = !same(after[0], found.values[0]);
    if (isSame !== isSeen) return `broken: address ${isSame}, write seen ${isSeen}`;
    if (isSame && !sameStrides(layout, found.strides)) notes.push(`strides ${found.strides}`);
    if (found.readonly !== null && found.readonly !== (isSame && cell.readonly)) {
      notes.push(found.readonly ? 'read-only imposed' : 'read-only lost');
    } else if (found.readonly === null && isSame && cell.readonly && !peer.isImmutable) {
      notes.push('read-only lost');
    }
    const first = plain(base.get(layout.offset));
    const wanted = values[0] as Value;
    let canWrite: boolean;
    try {
      canWrite = Boolean(this.#functions.write(cell.peer, taken, index, wanted));
    } catch (error) {
      if (found.readonly !== true) return `broken: not writable; ${asRefused(error).message}`;
      asRefused(error);
      canWrite = false;
    }
    if (canWrite && found.readonly === true) notes.push('broken: a read-only tensor was written');
    if (canWrite && same(plain(base.get(layout.offset)), first) === isSame) notes.push("broken: the peer's write");
    return [isSame ? 'shared' : 'copied', ...notes].join('; ');
  }
}

function describeDifferences(
  { dtype, layout }: Cell,
  foundDType: string,
  foundShape: readonly number[],
  found: readonly Value[],
  values: readonly Value[],
): string[] {
  const notes: string[] = [];
  if (foundDType !== dtype.name) notes.push(`as ${foundDType}`);
  if (!same([...foundShape], layout.shape)) notes.push(`broken: shape ${foundShape}`);
  if (!same(found, values)) notes.push(`broken: values ${JSON.stringify(found)}`);
  return notes;
}

function refusesWrite(write: () => void): boolean {
  try {
    write();
    return false;
  } catch (error) {
    return isDLPackError(error, 'ReadOnlyError');
  }
}

/** A cell for peers.py. The same text for the same tensor: peers.py remembers it. */
function describeCase({ dtype, layout, readonly }: Cell, isPadded: boolean): string {
  const key = `${dtype.name} ${layout.name} ${readonly} ${isPadded}`;
  const made = cases.get(key);
  if (made !== undefined) return made;
  const values = Array.from({ length: LENGTH * dtype.lanes }, (_, place) => valueAt(dtype, place));
  const { name, bits, code, lanes } = dtype;
  const { shape, strides, offset } = layout;
  const text = JSON.stringify({
    dtype: name,
    bits,
    code,
    lanes,
    shape,
    strides,
    offset,
    readonly,
    values,
    padded: isPadded,
  });
  cases.set(key, text);
  return text;
}

const cases = new Map<string, string>();
const templates = new Map<string, Tensor>();

/** The values of a dtype, one after the other. Kept, because only copies of it are exchanged. */
function templateOf(dtype: DTypeRow, isPadded: boolean): Tensor {
  const key = `${dtype.name} ${isPadded}`;
  const made = templates.get(key);
  if (made !== undefined) return made;
  const base: Tensor = Tensor.zeros([LENGTH], dtype.name, { padded: isPadded && isPacked(dtype) });
  for (let place = 0; place < LENGTH; place++) {
    const lanes = Array.from({ length: dtype.lanes }, (_, lane) => valueAt(dtype, place * dtype.lanes + lane));
    base.set(place, (dtype.lanes > 1 ? lanes : scalar(dtype, lanes[0] as Value)) as Scalar<DType>);
  }
  templates.set(key, base);
  return base;
}

/** JavaScript's tensor of a cell, and the flat writable one under it. */
function makeTensor({ dtype, layout, readonly }: Cell, isPadded: boolean): { base: Tensor; x: TensorView } {
  const base = templateOf(dtype, isPadded).copy();
  if (!readonly && layout.derive !== undefined) return { base, x: layout.derive(base.view()) };
  return { base, x: fromDLPack({ [DLPACK]: () => overAddress(base, dtype, layout, readonly) }) };
}

/** A view of the same memory that no method of Tensor makes, so another producer makes it. */
function overAddress(base: Tensor, dtype: DTypeRow, layout: LayoutRow, readonly: boolean): ManagedTensor {
  const { code, bits, lanes } = dtype;
  const item = base.isPadded ? 1 : (bits * lanes) / 8;
  return {
    version: [1, 3],
    flags: (readonly ? 1 : 0) | (base.isPadded ? 4 : 0),
    data: addressOf(base) + BigInt(Math.floor(layout.offset * item)),
    byteOffset: 0,
    shape: layout.shape,
    strides: layout.strides,
    dtype: { code, bits, lanes },
    device: { type: 1, id: 0 },
    deleter: null,
  };
}
