/**
 * Tensors as text: a head line and a body with aligned columns, summarised when large.
 *
 * @module
 */

import type { Descriptor } from './descriptor.js';
import { type ElementValue, elementCodec } from './element.js';
import { isDLPackError } from './errors.js';

const THRESHOLD = 1000;
const EDGE = 3;

/** `Tensor float32 [2, 3] cpu` and the values below it. Reads only the elements it shows. */
export function formatTensor(kind: string, descriptor: Descriptor): string {
  const { dtype, shape, device, isReadOnly } = descriptor;
  const head = `${kind} ${dtype.name} [${shape.join(', ')}] ${device.name}${isReadOnly ? ' read-only' : ''}`;
  if (!device.isHostAccessible) return head;
  try {
    return `${head}\n${formatBody(descriptor)}`;
  } catch (error) {
    if (!isDLPackError(error)) throw error;
    return `${head} (its memory was taken away)`; // printing must not throw
  }
}

type Cell = string | null | Cell[]; // null: left out

function formatBody(descriptor: Descriptor): string {
  const { shape, strides, bitOffset, strideBits, dtype } = descriptor;
  if (descriptor.size === 0) return '[]';
  const codec = elementCodec(dtype);
  const view = descriptor.view();
  const summarise = descriptor.size > THRESHOLD;
  let width = 0;

  const collect = (axis: number, offset: number): Cell => {
    if (axis === shape.length) {
      const text = formatValue(codec.read(view, bitOffset + offset * strideBits));
      width = Math.max(width, text.length);
      return text;
    }
    const length = shape[axis] as number;
    const step = strides[axis] as number;
    const cells: Cell[] = [];
    for (let i = 0; i < length; i++) {
      if (summarise && length > 2 * EDGE && i === EDGE) {
        cells.push(null);
        i = length - EDGE;
      }
      cells.push(collect(axis + 1, offset + i * step));
    }
    return cells;
  };

  const render = (cell: Cell, indent: number): string => {
    if (cell === null) return '...';
    if (typeof cell === 'string') return cell.padStart(width);
    const nested = cell.some(Array.isArray);
    const depth = nested ? depthOf(cell) : 1;
    const separator = nested ? `,${'\n'.repeat(depth - 1)}${' '.repeat(indent + 1)}` : ', ';
    return `[${cell.map((c) => render(c, indent + 1)).join(separator)}]`;
  };
  return render(collect(0, 0), 0);
}

function depthOf(cell: Cell): number {
  return Array.isArray(cell) ? 1 + Math.max(0, ...cell.map(depthOf)) : 0;
}

function formatValue(value: ElementValue): string {
  if (typeof value === 'number') return formatNumber(value);
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value instanceof Uint8Array)
    return `0x${[...value]
      .reverse()
      .map((b) => b.toString(16).padStart(2, '0'))
      .join('')}`;
  if (Array.isArray(value)) return `(${value.map(formatValue).join(', ')})`;
  const { re, im } = value as { re: number; im: number };
  return `${formatNumber(re)}${im < 0 || Object.is(im, -0) ? '-' : '+'}${formatNumber(Math.abs(im))}i`;
}

function formatNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return Object.is(value, -0) ? '-0' : String(value);
  return String(Number(value.toPrecision(6)));
}
