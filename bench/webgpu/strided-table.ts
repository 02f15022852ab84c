/** The table of strided copies, for the pages of results. */

import type { PageResult } from './timing.js';

export const short = (value: number): string => String(Number(value.toPrecision(2)));
export const formatTime = (us: number): string => (us < 1000 ? `${short(us)} µs` : `${short(us / 1000)} ms`);

/** Ends the name of a row with several copies before a wait, on a software adapter. */
export const manyCopies = ', many copies';

export function stridedTable({ rows }: PageResult): string {
  const layouts = Object.keys(rows).filter((name) => !/(copyBufferToBuffer|shader|many copies)$/.test(name));
  const ratio = (name: string) => ((rows[`${name}, copyBufferToBuffer`] as number) / (rows[name] as number)).toFixed(2);
  const hasMany = `${layouts[0]}${manyCopies}` in rows;
  const lines = layouts.map((name) => {
    const [ours, copy] = [rows[name] as number, rows[`${name}, copyBufferToBuffer`] as number];
    const generic = rows[`${name}, generic shader`];
    const against = generic === undefined ? '| |' : `| ${formatTime(generic)} | ${short(generic / ours)} |`;
    const many = hasMany ? `| ${ratio(name + manyCopies)} ` : '';
    return `| ${name} | ${formatTime(ours)} | ${formatTime(copy)} | ${ratio(name)} ${many}${against}`;
  });
  const [title, line] = hasMany ? ['many copies | ', '---|'] : ['', ''];
  return `| layout | time | \`copyBufferToBuffer\` | bandwidth | ${title}generic shader | times faster than that |
|---|---|---|---|${line}---|---|
${lines.join('\n')}`;
}
