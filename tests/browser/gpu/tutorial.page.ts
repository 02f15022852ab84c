/** The program of docs/tutorials/page.md runs in a page, and prints what its comments say. */

import { equal } from '../../assert.js';
import { marked, programsOf, unlike } from '../../docs/programs.js';
import { testWith } from '../../harness.js';
import { newDevice, noAdapter } from '../../webgpu/device.js';

const missing = (await newDevice()) === null ? noAdapter : false;

/** What a program prints, as Node would print it for values of these kinds. */
async function run(text: string): Promise<string> {
  const lines: string[] = [];
  const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
  const print = console.log;
  console.log = (...values: unknown[]) => void lines.push(values.map(shown).join(' '));
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  try {
    await import(url);
  } finally {
    console.log = print;
    URL.revokeObjectURL(url);
  }
  return lines.join('\n');
}

testWith(missing, 'docs/tutorials/page.md', async () => {
  const page = await (await fetch('/docs/tutorials/page.md')).text();
  const [program, ...others] = programsOf('page.md', page);
  equal(others, []);
  const { text, prints } = marked(program?.text ?? '');
  equal(prints.length, 6);
  equal(unlike(prints, await run(text)), []);
});
