/** The same picture as a file. */

import { hex, type Model, valueAt } from './model.js';

const WIDTH = 720;
const hues = ['#b6d7ff', '#ffd8a8', '#b5e8c3', '#f3c4e4', '#ffe58f', '#cfd0ff'];

const safe = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** A box with a text. */
function box(x: number, y: number, width: number, text: string, fill: string): string {
  return (
    `<rect x="${x}" y="${y}" width="${width}" height="26" fill="${fill}" stroke="#8c959f"/>` +
    `<text x="${x + width / 2}" y="${y + 17.5}" text-anchor="middle">${safe(text)}</text>`
  );
}

/** The elements in rows of the last axis, and under them the bytes. Opaque, so that it reads on any page. */
export function toSVG({ tensor, indices, places, bytes, step, dtype }: Model, title: string): string {
  const parts: string[] = [];
  const hueOf = (i: number): string => hues[(indices[i]?.[0] ?? 0) % hues.length] as string;
  const values = indices.map((index) => valueAt(tensor, index));
  const cell = Math.max(34, ...values.map((value) => value.length * 8 + 14));
  const across = Math.min(tensor.shape.at(-1) ?? 1, Math.floor((WIDTH - 32) / cell)) || 1;
  let y = 72;
  values.forEach((value, i) => {
    const column = i % (tensor.shape.at(-1) || 1);
    if (i > 0 && column % across === 0) y += 26 + (column === 0 && (indices[i]?.at(-2) ?? 1) === 0 ? 10 : 0);
    parts.push(box(16 + (column % across) * cell, y, cell, value, hueOf(i)));
  });
  y += 56;
  parts.push(`<text x="16" y="${y}" class="small">memory: ${bytes.length} bytes</text>`);
  const owners = new Map<number, number>();
  places.forEach((place, i) => {
    for (let bit = place * step; bit < place * step + dtype.itemBits; bit += 8) {
      if (!owners.has(bit >> 3)) owners.set(bit >> 3, i);
    }
  });
  bytes.forEach((byte, i) => {
    if (i % 16 === 0) y += i === 0 ? 10 : 34;
    const owner = owners.get(i);
    parts.push(box(16 + (i % 16) * 43, y, 43, hex(byte), owner === undefined ? '#e3e6ea' : hueOf(owner)));
  });
  const height = y + 42;
  const layout = `shape [${tensor.shape.join(', ')}]  strides [${tensor.strides.join(', ')}]  byteOffset ${tensor.byteOffset}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>${safe(title)}</title>
<style>text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}.strong{font-weight:600}.small{font-size:12px}</style>
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
<text x="16" y="28" class="strong">${safe(title)}</text>
<text x="16" y="52" class="small">${safe(layout)}</text>
${parts.join('\n')}
</svg>
`;
}
