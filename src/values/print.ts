/** Tensors as text: a head line, and the values in NumPy's layout, summarised when there are many. */

import { isDLPackError } from '../errors.js';
import type { Extent } from '../layout.js';
import { allocateLike, filled } from '../storage/allocate.js';
import { type Descriptor, Flag } from '../storage/descriptor.js';
import { getDeviceBackend } from '../storage/device-backend.js';
import { releaseAfter } from '../storage/storage.js';
import { sliceExtent } from '../view-layout.js';
import { convertElements, convertElementsAsync } from './convert.js';
import { type ElementValue, elementCodec } from './element.js';
import { formatFor } from './format.js';

/** Tensors with more elements show {@link EDGE} items at both ends of each axis. */
const THRESHOLD = 1000;
const EDGE = 3;
const LINE = 75;
/** From this size on, some engines cannot show the memory, so the shown elements are copied. */
const LARGEST = 2 ** 32;

/** `Tensor float32 [2, 3] cpu` and the values below it. Reads only the shown elements, also from a device. */
export function formatTensor(kind: string, descriptor: Descriptor): string {
  const { device, storage } = descriptor;
  const head = headOf(kind, descriptor);
  try {
    if (device.isHostAccessible && storage.nbytes < LARGEST) return `${head}\n${formatBody(descriptor, descriptor)}`;
    const shown = fetchShown(descriptor);
    return releaseAfter(shown, () => `${head}\n${formatBody(descriptor, shown)}`);
  } catch (error) {
    if (!isDLPackError(error)) throw error;
    // Printing must not throw.
    return device.isHostAccessible ? `${head} (its memory was taken away)` : head;
  }
}

/** As {@link formatTensor}, for devices whose memory the CPU can read only after a wait, such as WebGPU. */
export async function formatTensorAsync(kind: string, descriptor: Descriptor): Promise<string> {
  const { device, storage } = descriptor;
  if (device.isHostAccessible || getDeviceBackend(device) === null) return formatTensor(kind, descriptor);
  const { shown, parts } = shownParts(descriptor);
  storage.refs++; // the caller may dispose the tensor meanwhile
  try {
    // All of them, because memory in use must not be released when another copy fails.
    const results = await Promise.allSettled(parts.map(([from, to]) => convertElementsAsync(from, to)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return `${headOf(kind, descriptor)}\n${formatBody(descriptor, shown)}`;
  } finally {
    storage.release();
    shown.storage.release();
  }
}

/** A text inside of others, whose lines after the first begin further right. */
export function indented(text: string, columns: number): string {
  return columns > 0 ? text.replaceAll('\n', `\n${' '.repeat(columns)}`) : text;
}

function headOf(kind: string, { dtype, shape, device, isReadOnly }: Descriptor): string {
  return `${kind} ${dtype.name} [${shape.join(', ')}] ${device.name}${isReadOnly ? ' read-only' : ''}`;
}

/** True when an axis shows only its two ends. */
function isCut(descriptor: Descriptor, axis: number): boolean {
  return descriptor.size > THRESHOLD && (descriptor.shape[axis] as number) > 2 * EDGE;
}

interface ShownParts {
  /** Host memory for all shown elements. */
  readonly shown: Descriptor;
  /** The copies that fill it: from the device, to the host. */
  readonly parts: readonly (readonly [from: Descriptor, to: Descriptor])[];
}

/** The elements of a tensor on a device that are shown: the ends of each axis that is cut. */
function shownParts(descriptor: Descriptor): ShownParts {
  const shape = descriptor.shape.map((length, axis) => (isCut(descriptor, axis) ? 2 * EDGE : length));
  const shown = allocateLike(shape, descriptor.dtype, descriptor.flags & Flag.subBytePadded);
  const parts: (readonly [Descriptor, Descriptor])[] = [];
  const add = (axis: number, from: Extent, to: Extent): void => {
    if (axis === shape.length) {
      parts.push([descriptor.derive(from), shown.derive(to)]);
      return;
    }
    const length = descriptor.shape[axis] as number;
    const ends = isCut(descriptor, axis) ? [0, length - EDGE] : [0];
    ends.forEach((start, i) => {
      const count = ends.length === 1 ? length : EDGE;
      const part = (first: number) => [...new Array<null>(axis).fill(null), [first, first + count] as const];
      add(axis + 1, sliceExtent(from, part(start)), sliceExtent(to, part(i * EDGE)));
    });
  };
  if (descriptor.size > 0) add(0, descriptor.extent, shown.extent);
  return { shown, parts };
}

/** Copies the shown elements to the host. */
function fetchShown(descriptor: Descriptor): Descriptor {
  const { shown, parts } = shownParts(descriptor);
  return filled(shown, () => {
    for (const [from, to] of parts) convertElements(from, to);
  });
}

type Shown = ElementValue | null | { readonly items: readonly Shown[] }; // null: omitted elements

/** The values of a tensor, read from `source`: the tensor itself, or the elements that {@link fetchShown} copied. */
function formatBody(descriptor: Descriptor, source: Descriptor): string {
  if (descriptor.size === 0) return '[]';
  const values: ElementValue[] = [];
  const shown = collectShown(descriptor, source, values);
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

function collectShown(descriptor: Descriptor, source: Descriptor, values: ElementValue[]): Shown {
  const { shape } = descriptor;
  const { strides, bitOffset, strideBits } = source;
  const codec = elementCodec(descriptor.dtype);
  const view = source.view();
  const collect = (axis: number, offset: number): Shown => {
    if (axis === shape.length) {
      const value = codec.read(view, bitOffset + offset * strideBits);
      values.push(value);
      return value;
    }
    const length = shape[axis] as number;
    const skipped = length - (source.shape[axis] as number); // a fetched tensor does not include the middle
    const items: Shown[] = [];
    for (let i = 0; i < length; i++) {
      if (isCut(descriptor, axis) && i === EDGE) {
        items.push(null);
        i = length - EDGE;
      }
      const at = i < EDGE || skipped === 0 ? i : i - skipped;
      items.push(collect(axis + 1, offset + at * (strides[axis] as number)));
    }
    return { items };
  };
  return collect(0, 0);
}

/** One row, broken into lines of at most `width` characters, including the bracket or comma after them. */
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
