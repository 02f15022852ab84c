/**
 * Tensors as text: a head line and a body laid out as NumPy lays it out, summarised when large.
 *
 * @module
 */

import type { Descriptor } from './descriptor.js';
import { type ElementValue, elementCodec } from './element.js';
import { isDLPackError } from './errors.js';
import { formatFor } from './values/format.js';

/** Larger tensors show {@link EDGE} items at both ends of each axis. */
const THRESHOLD = 1000;
const EDGE = 3;
const LINE = 75;

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

type Shown = ElementValue | null | { readonly items: readonly Shown[] }; // null: left out

function formatBody(descriptor: Descriptor): string {
  if (descriptor.size === 0) return '[]';
  const values: ElementValue[] = [];
  const shown = collectShown(descriptor, values);
  const format = formatFor(values, descriptor.dtype);
  const ndim = descriptor.shape.length;
  const render = (cell: Shown, axis: number): string => {
    if (cell === null) return '...';
    if (axis === ndim) return format(cell as ElementValue);
    const texts = (cell as { items: readonly Shown[] }).items.map((item) => render(item, axis + 1));
    const indent = ' '.repeat(axis + 1);
    return axis === ndim - 1
      ? `[${wrap(texts, indent, LINE - axis)}]`
      : `[${texts.join(`,${'\n'.repeat(ndim - axis - 1)}${indent}`)}]`;
  };
  return render(shown, 0);
}

function collectShown(descriptor: Descriptor, values: ElementValue[]): Shown {
  const { shape, strides, bitOffset, strideBits } = descriptor;
  const codec = elementCodec(descriptor.dtype);
  const view = descriptor.view();
  const summarise = descriptor.size > THRESHOLD;
  const collect = (axis: number, offset: number): Shown => {
    if (axis === shape.length) {
      const value = codec.read(view, bitOffset + offset * strideBits);
      values.push(value);
      return value;
    }
    const length = shape[axis] as number;
    const items: Shown[] = [];
    for (let i = 0; i < length; i++) {
      if (summarise && length > 2 * EDGE && i === EDGE) {
        items.push(null);
        i = length - EDGE;
      }
      items.push(collect(axis + 1, offset + i * (strides[axis] as number)));
    }
    return { items };
  };
  return collect(0, 0);
}

/** One row, broken into lines of at most `width` characters with the bracket or comma behind them. */
function wrap(texts: readonly string[], indent: string, width: number): string {
  const lines: string[] = [];
  let line = indent;
  for (const text of texts) {
    if (line.length + text.length > width - 1 && line.length > indent.length) {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${text}, `;
  }
  return [...lines, line.slice(0, -2)].join('\n').slice(indent.length);
}
