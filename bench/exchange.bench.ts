/**
 * Exchange: between our tensors, compared with NumPy between its own arrays.
 *
 *   npm run bench -- exchange
 */

import { fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.js';
import { summarise } from './measure.js';
import { compared, overall, type Run, shown, verdict } from './runs.js';
import { beside, runDriverOnEach } from './runtimes.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const RUNS = 3;
const SIZES = ['1 KiB', '1 MiB', '64 MiB', '512 MiB'];
/** The largest ratio of an import to one of 1 KiB: the cost must not depend on the size. */
const SIZE_LIMIT = 1.1;
/** The most nanoseconds that an operation may take. */
const limits: Record<string, number> = {
  'fromDLPack(tensor), dispose': 30,
  'fromDLPack(foreign JavaScript object), dispose': 150,
  'exportManaged, deleter called from C': 60,
  'importManaged (another addon’s tensor), dispose': 160,
};

/** Bytes and times with one and with a million live tensors, in two processes that take turns. */
async function live(kind: string): Promise<{ bytes: number; alone: number; crowded: number }> {
  const script = fileURLToPath(new URL('./live.js', import.meta.url));
  const start = async (count: number) => {
    const child = fork(script, [kind, String(count)], { execArgv: ['--expose-gc'] });
    const answer = () =>
      new Promise<number>((resolve, reject) => {
        child.once('message', (value) => resolve(value as number));
        child.once('exit', (code) => reject(new Error(`live.js ${kind} ended with ${code}`)));
      }).finally(() => child.removeAllListeners('exit'));
    const bytes = await answer();
    const ask = () => {
      child.send('sample');
      return answer();
    };
    return { bytes, ask, end: () => child.disconnect() };
  };
  const [one, many] = [await start(1), await start(1_000_000)];
  const [alone, crowded]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < 40; turn++) {
    alone.push(await one.ask());
    crowded.push(await many.ask());
  }
  one.end();
  many.end();
  return { bytes: many.bytes, alone: summarise(alone).median, crowded: summarise(crowded).median };
}

const reference = 'np.from_dlpack(array)';
const ratio = (own: number, other: number): number => own / other;
const { runs, others } = runDriverOnEach<Run>('exchange', RUNS);
/** The medians of a row on the Nodes beside this one. */
const besideCells = (name: string): string =>
  others.map((each) => ` ${shown(overall(each.flatMap(({ ours }) => ours[name] ?? [])).median)} |`).join('');
const rows = Object.keys(runs[0]?.ours ?? {})
  .filter((name) => !SIZES.includes(name))
  .map((name) => {
    const { own, median } = compared(runs, name, reference, ratio);
    return `| ${name} | ${shown(own?.median)} | ${shown(own?.min)} | ${shown(median, 2)} | ${verdict(own?.median ?? Number.NaN, limits[name])} |${besideCells(name)}`;
  });
const peers = Object.keys(runs[0]?.theirs ?? {}).map((name) => {
  const { median, min } = overall(runs.flatMap(({ theirs }) => theirs[name] ?? []));
  const { other } = compared(runs, '', reference, ratio);
  return `| ${name} | ${shown(median)} | ${shown(min)} | ${shown(median / (other?.median ?? Number.NaN), 2)} | ${verdict(median, undefined)} |${beside.map(() => '  |').join('')}`;
});
const sizeRows = SIZES.map((name) => {
  const own = overall(runs.flatMap(({ ours }) => ours[name] ?? []));
  const ratios = runs.map(({ ours }) => (ours[name]?.median ?? Number.NaN) / (ours[SIZES[0] as string]?.median ?? 1));
  const { median } = summarise(ratios);
  const cells = `${shown(own.median)} | ${shown(own.min)} | ${shown(median, 2)}`;
  return `| ${name} | ${cells} | ${verdict(median, name === SIZES[0] ? undefined : SIZE_LIMIT)} |${besideCells(name)}`;
});
const kinds = ['share', 'import', 'import-foreign', 'allocate'];
const liveRows: string[] = [];
for (const kind of kinds) {
  const { bytes, alone, crowded } = await live(kind);
  const ratio = (crowded / alone).toFixed(2);
  liveRows.push(`| ${kind} | ${bytes.toFixed(0)} | ${alone.toFixed(0)} | ${crowded.toFixed(0)} | ${ratio} |`);
}
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const [besideNames, besideLine] = [beside.map(({ name }) => ` ${name} |`).join(''), '---|'.repeat(beside.length)];
const versions = Object.entries(runs[0]?.versions ?? {}).map(([name, v]) => `${name} ${v}`);
const report = `# Exchange

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- exchange\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, Node ${process.versions.node}, ${versions.join(', ')}.

Nanoseconds for one operation on a float32 tensor of shape 2 by 3: medians over ${RUNS} runs, each in processes of its own in which both
sides took turns, and the least of all samples; the ratio is to NumPy's median for \`${reference}\` in the same run. The last
columns are the limit that this project has set itself for the median, and whether it holds, and the medians on other versions of Node.

| operation | median | least | × NumPy | limit | holds |${besideNames}
|---|---|---|---|---|---|${besideLine}
${[...rows, ...peers].join('\n')}

Imports by size: nanoseconds for one import of foreign memory and its release, and the ratio to the smallest. The last columns are the
limit that this project has set itself, and whether the ratio holds it.

| size | median | least | × 1 KiB | limit | holds |${besideNames}
|---|---|---|---|---|---|${besideLine}
${sizeRows.join('\n')}

With a million live tensors: bytes for each (all of the process: JavaScript and native, without the elements), and
nanoseconds for one more exchange with one and with a million alive, medians of 40 turns that two processes took.

| kind | bytes each | ns, 1 alive | ns, 1,000,000 alive | ratio |
|---|---|---|---|---|
${liveRows.join('\n')}
`;
writeFileSync(`${root}bench/results/exchange.md`, report);
console.log(report);
