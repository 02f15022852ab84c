/** The pictures: drawn from their sources and from the results of benchmarks, used by a page, and told to a screen reader. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const names = readdirSync(join(root, 'docs/pictures')).map((file) => file.replace('.svg', ''));
const sources = readdirSync(join(root, 'scripts/pictures')).filter((file) => file !== 'svg.mjs');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

test('each picture is what its source draws (npm run pictures)', async () => {
  equal(names.sort(), sources.map((file) => file.replace('.mjs', '')).sort());
  for (const name of names) {
    const source = pathToFileURL(join(root, 'scripts/pictures', `${name}.mjs`)).href;
    const { svg } = (await import(source)) as { svg: string };
    ok(svg === read(`docs/pictures/${name}.svg`), name);
  }
});

test('each picture has a title and a description, and a page shows it with a text', () => {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((it) =>
    it.endsWith('.md'),
  );
  const text = [read('README.md'), ...pages.map((page) => read(join('docs', page)))].join('\n');
  for (const name of names) {
    ok(
      /<title id="title">[^<]{10,}<\/title>\n\s*<desc id="description">[^<]{40,}</.test(
        read(`docs/pictures/${name}.svg`),
      ),
      name,
    );
    ok(new RegExp(`!\\[[^\\]]{10,}\\]\\([./a-z]*pictures/${name}\\.svg\\)`).test(text), name);
  }
});

test('the comparison names the figures of the results that it cites', () => {
  const text = read('docs/comparison.md').replaceAll('\n', ' ');
  /** The medians of a row, in its order. */
  const medians = (page: string, row: string, ...columns: number[]): number[] => {
    const line = read(`bench/results/${page}.md`)
      .split('\n')
      .find((it) => it.startsWith(`| ${row} |`));
    return columns.map((column) => Number(line?.split('|')[column]));
  };
  const [here, there] = medians('python', 'fromDLPack(torch tensor), dispose', 2, 5).map((ns) =>
    (ns / 1000).toFixed(1),
  );
  const torch = `Importing a PyTorch tensor takes ${here} µs; NumPy needs ${there} µs (\`bench/results/python.md\`).`;
  const [own] = medians('exchange', 'fromDLPack(tensor), dispose', 2);
  const ours = `\`fromDLPack\` takes ${own} ns for a tensor of this package (\`bench/results/exchange.md\`).`;
  const [array] = medians('python-peers', 'Float32Array to NumPy', 2);
  const once = `took ${array} µs in another run (\`bench/results/python-peers.md\`).`;
  for (const sentence of [torch, ours, once]) ok(text.includes(sentence), sentence);
});

test('README, the comparison and the home page name the figures of the chart', () => {
  const [, chart = ''] = /<desc id="description">([^<]*)</.exec(read('docs/pictures/peers.svg')) ?? [];
  const bars = chart.split(/(?<=s)\.\s*(?=\S|$)/).filter((bar) => bar !== '');
  const times = bars.map((bar) => bar.slice(bar.lastIndexOf(': ') + 2));
  const names = bars.slice(0, bars.length / 2).map((bar) => bar.slice(0, bar.lastIndexOf(': ')));
  ok(names.length > 5 && names[0] === 'dlpack', chart);
  const comparison = read('docs/comparison.md');
  names.forEach((name, i) => {
    const row = `| ${name} | ${times[i]} | ${times[i + names.length]} |`;
    ok(comparison.includes(row), row);
  });
  for (const page of ['README.md', 'site/home.md']) {
    const [, section = ''] = /## What you would use instead\n([\s\S]*?)\n## /.exec(read(page)) ?? [];
    const named = [...section.matchAll(/\d[\d.,]* (?:µs|ms|s)\b/g)].map(([time]) => time);
    ok(named.length > 1, `${page}: ${section}`);
    for (const time of named) ok(times.includes(time), `${page}: ${time}`);
  }
});
