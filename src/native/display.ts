/**
 * How a notebook shows a tensor: an image as a picture, a long vector as a plot, a matrix as a table. Deno's Jupyter kernel
 * calls the method. Browsers have no notebooks, so the core does not contain it.
 */

import { shareOf } from '../base/share-of.js';
import { isComplex, TypeCode } from '../dtype.js';
import { Tensor } from '../tensor.js';
import type { ElementValue } from '../values/element.js';
import { formatFor } from '../values/format.js';
import { formatTensorAsync } from '../values/print.js';
import { descriptorOf, TensorView } from '../view.js';
import { node } from './load/node-modules.js';
import { encodePng, isChannels } from './png.js';

/** Texts and pictures by their MIME type. */
type MediaBundle = { [type: string]: string };

/** The longest side of a picture. A larger image shows every second, third, ... pixel. */
const LONGEST = 1024;
/** The fewest elements of a vector that becomes a plot, and the most points of a plot. */
const PLOTTED = 32;
const POINTS = 400;
/** The most rows and columns of a table. */
const ROWS = 20;
const COLUMNS = 12;
/** The most bytes that are copied from a device to show them. */
const COPIED = 2 ** 26;

/** Adds the method to tensors. */
export function registerDisplay(): void {
  const value = function (this: TensorView): Promise<MediaBundle> {
    return display(this);
  };
  Object.defineProperty(TensorView.prototype, Symbol.for('Jupyter.display'), { value, configurable: true });
}

async function display(tensor: TensorView): Promise<MediaBundle> {
  if (tensor.isDisposed) return { 'text/plain': String(tensor) };
  const descriptor = descriptorOf(tensor);
  const isHost = descriptor.device.isHostAccessible;
  const plain = isHost ? String(tensor) : await formatTensorAsync('Tensor', descriptor);
  if (isHost) return { 'text/plain': plain, ...mediaOf(tensor) };
  if (!(tensor instanceof Tensor) || tensor.isDisposed || tensor.nbytes > COPIED) return { 'text/plain': plain };
  const host = await tensor.toAsync('cpu');
  try {
    return { 'text/plain': plain, ...mediaOf(host) };
  } finally {
    host.dispose();
  }
}

function mediaOf(tensor: TensorView): MediaBundle {
  const view = tensor.view(); // its slices own nothing
  if (view.size === 0) return {};
  const pixels = pixelsOf(view);
  if (pixels !== null) return { 'image/png': pictureOf(pixels) };
  if (view.ndim === 1 && view.size >= PLOTTED && isReal(view)) return { 'image/svg+xml': plotOf(view) };
  if (view.ndim === 1 || view.ndim === 2) return { 'text/html': tableOf(view) };
  return {};
}

/** Bytes in rows, columns and channels, or in planes; null for a tensor that is no image. */
function pixelsOf(view: TensorView): TensorView | null {
  const [first, second, last] = view.shape as [number, number, number];
  if (view.dtype !== 'uint8' || view.ndim !== 3 || second < 2) return null;
  if (isChannels(last) && first > 1) return view;
  return isChannels(first) && last > 1 ? view.transpose([1, 2, 0]) : null;
}

function pictureOf(pixels: TensorView): string {
  const step = Math.ceil(Math.max(pixels.shape[0] as number, pixels.shape[1] as number) / LONGEST);
  const shown = pixels.slice([null, null, step], [null, null, step]);
  const [height, width, channels] = shown.shape as [number, number, number];
  const packed = Tensor.from(shown);
  try {
    const png = encodePng(packed.unsafeData() as Uint8Array, height, width, channels);
    return node.buffer.Buffer.from(png).toString('base64');
  } finally {
    packed.dispose();
  }
}

function isReal(view: TensorView): boolean {
  const { dtype } = descriptorOf(view);
  const { code, lanes, bits } = dtype;
  return lanes === 1 && bits < 128 && !isComplex(dtype) && code !== TypeCode.handle && code !== TypeCode.bool;
}

function plotOf(view: TensorView): string {
  const step = Math.ceil(view.size / POINTS);
  const values = Array.from(view.slice([null, null, step]), Number);
  const finite = values.filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const across = (i: number) => ((i / (values.length - 1)) * 400).toFixed(1);
  const down = (value: number) => (110 - shareOf(value, low, high) * 100).toFixed(1);
  const points = values.flatMap((value, i) => (Number.isFinite(value) ? [`${across(i)},${down(value)}`] : []));
  const scale = finite.length === 0 ? '' : `${low.toPrecision(4)} to ${high.toPrecision(4)}`;
  return (
    '<svg xmlns="http://www.w3.org/2000/svg" width="420" height="140" viewBox="-10 0 420 140" font-family="sans-serif">' +
    `<polyline fill="none" stroke="#3366cc" points="${points.join(' ')}"/>` +
    `<text x="0" y="132" font-size="12" fill="#666666">${view.dtype} [${view.size}]: ${scale}</text></svg>`
  );
}

/** The indices of an axis that are shown, with null for those between its two ends. */
function shownOf(length: number, most: number): readonly (number | null)[] {
  if (length <= most) return Array.from({ length }, (_, i) => i);
  const half = most / 2;
  const [start, end] = [0, length - half].map((first) => Array.from({ length: half }, (_, i) => first + i));
  return [...(start as number[]), null, ...(end as number[])];
}

function tableOf(view: TensorView): string {
  const matrix = view.ndim === 1 ? view.expandDims(0) : view;
  const [rows, columns] = [shownOf(matrix.shape[0] as number, ROWS), shownOf(matrix.shape[1] as number, COLUMNS)];
  const cells = rows.map((i) => columns.map((j) => (i === null || j === null ? null : matrix.get(i, j))));
  const values = cells.flat().filter((value) => value !== null) as ElementValue[];
  const format = formatFor(values, descriptorOf(matrix).dtype);
  const row = (tag: string, name: string, texts: readonly string[]) =>
    `<tr><th>${name}</th>${texts.map((text) => `<${tag}>${text}</${tag}>`).join('')}</tr>`;
  const nameOf = (index: number | null) => (index === null ? '…' : String(index));
  const body = cells.map((line, i) =>
    row(
      'td',
      view.ndim === 1 ? '' : nameOf(rows[i] as number | null),
      line.map((value) => (value === null ? '…' : format(value as ElementValue))),
    ),
  );
  const caption = `${view.dtype} [${view.shape.join(', ')}] ${view.device}`;
  return `<table><caption>${caption}</caption>${row('th', '', columns.map(nameOf))}${body.join('')}</table>`;
}
