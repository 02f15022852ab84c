/** The table of strided copies, for the pages of results. */

import type { PageResult } from './timing.js';

/** The least bandwidth on a GPU, beside `copyBufferToBuffer`. */
const LEAST = 0.4;

export const short = (value: number): string => String(Number(value.toPrecision(2)));
export const formatTime = (us: number): string => (us < 1000 ? `${short(us)} µs` : `${short(us / 1000)} ms`);

export function stridedTable({ rows }: PageResult): string {
  const layouts = Object.keys(rows).filter((name) => !/(copyBufferToBuffer|shader)$/.test(name));
  const lines = layouts.map((name) => {
    const [ours, copy] = [rows[name] as number, rows[`${name}, copyBufferToBuffer`] as number];
    const generic = rows[`${name}, generic shader`];
    const against = generic === undefined ? '| |' : `| ${formatTime(generic)} | ${short(generic / ours)} |`;
    return `| ${name} | ${formatTime(ours)} | ${formatTime(copy)} | ${(copy / ours).toFixed(2)} ${against} ${LEAST} | ${copy / ours >= LEAST ? 'yes' : '**no**'} |`;
  });
  return `| layout | time | \`copyBufferToBuffer\` | bandwidth | generic shader | times faster than that | at least | holds |
|---|---|---|---|---|---|---|---|
${lines.join('\n')}`;
}
