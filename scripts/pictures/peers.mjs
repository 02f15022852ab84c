// Drawn from bench/results/alternatives.md, or from python-peers.md before that has been measured.
import { existsSync, readFileSync } from 'node:fs';
import { line, middle, picture, rect, text } from './svg.mjs';

const result = (name) => new URL(`../../bench/results/${name}.md`, import.meta.url);
const source = existsSync(result('alternatives')) ? 'alternatives' : 'python-peers';
const page = readFileSync(result(source), 'utf8');
const rows = page
  .split('\n')
  .filter((row) => row.startsWith('| '))
  .map((row) => row.split('|').map((cell) => cell.trim()));

/** [name, median to JavaScript, median to Python] of each way: this package, then the others. */
function waysOfAlternatives() {
  return rows
    .filter(([, , median]) => Number(median) > 0)
    .map(([, name, here, , there]) => [name, Number(here), Number(there)]);
}
function waysOfPeers() {
  const medians = (ours, theirs) => {
    const found = rows.filter(([, name, , , other]) => name === ours && other.endsWith(theirs));
    const others = found.map(([, , , , other, median]) => [other.split(':')[0], Number(median)]);
    return [['dlpack', Number(found[0][2])], ...others];
  };
  const there = new Map(medians('Tensor to NumPy', 'to NumPy'));
  return medians('NumPy to JavaScript', 'NumPy to JavaScript').map(([name, here]) => [name, here, there.get(name)]);
}
const ways = source === 'alternatives' ? waysOfAlternatives() : waysOfPeers();
/** The bars of one direction, and the kind of each bar. */
const bars = (column) => ways.map((way) => [way[0], way[column], way[0].includes('dlpack') ? 'c' : 'off']);

const left = 190;
const least = 1;
/** The power of ten above the slowest way, so that every bar ends within the scale. */
const powers = Math.max(6, Math.ceil(Math.log10(Math.max(...ways.flatMap(([, here, there]) => [here, there])))));
const most = 10 ** powers;
const width = 420;
const position = (value) => left + (Math.log(value / least) / Math.log(most / least)) * width;
const timeText = (value) =>
  value < 1000
    ? `${value} µs`
    : value < 1_000_000
      ? `${Number((value / 1000).toPrecision(2))} ms`
      : `${Number((value / 1_000_000).toPrecision(2))} s`;

const group = (y, title, values) => [
  text(20, y, title, 'strong'),
  values.map(([name, value, kind], i) => [
    text(20, y + 28 + i * 30, name, 'small'),
    rect(left, y + 13 + i * 30, position(value) - left, 22, kind, 3),
    text(position(value) + 8, y + 28 + i * 30, timeText(value), 'small strong halo'),
  ]),
];

const below = 60 + ways.length * 30; // where the second group begins
const bottom = below * 2;
const ticks = Array.from({ length: powers + 1 }, (_, power) => 10 ** power);
/** The lines begin below the title of each group, which would be hard to read on them. */
const axis = ticks.map((value) => [
  [36, below + 26].map((y) => line(position(value), y + 8, position(value), y + 16 + ways.length * 30)),
  middle(position(value), bottom + 8, timeText(value), 'small dim'),
]);

const [, date] = /^Date (\S+);/m.exec(page);

export const svg = picture(
  {
    width: 680,
    height: bottom + 40,
    title: '4 MiB between Node and NumPy',
    description: [1, 2]
      .flatMap((column) => bars(column).map(([name, value]) => `${name}: ${timeText(value)}.`))
      .join(' '),
  },
  axis,
  group(36, '4 MiB from NumPy to JavaScript', bars(1)),
  group(below + 26, '4 MiB from JavaScript to NumPy', bars(2)),
  text(20, bottom + 30, `Medians, logarithmic scale. npm run bench -- ${source}, ${date}.`, 'small dim'),
);
