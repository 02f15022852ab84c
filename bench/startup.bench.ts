/**
 * The cost of an import, each in a fresh process, compared with packages with native code and with an empty program.
 * Processor time and elapsed time, because other work on the machine makes an import wait but hardly changes its
 * processor time.
 *
 *   npm run bench -- startup
 *   DLPACK_BASE=/path/to/an/older/tree npm run bench -- startup
 */

import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.js';
import { summarise } from './measure.js';
import { beside } from './runtimes.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ROUNDS = 15;

interface Row {
  readonly code: string;
  readonly cwd: string;
  /** The program is a file, so Node has loaded its loader for files when the import begins. */
  readonly isFile?: boolean;
}
const imports = (specifier: string, cwd = root): Row => ({ code: `await import('${specifier}')`, cwd });
const libraries = `${root}.libraries`;
const program = `${root}build/startup.mjs`;
const empty = `${root}build/startup-empty.mjs`;
writeFileSync(empty, '');
const rows: Record<string, Row> = {
  'an empty module': imports('data:text/javascript,'),
  'an empty file': imports(empty),
  'an empty file, from a program that is a file': { ...imports(empty), isFile: true },
  'dlpack/abi': imports('dlpack/abi'),
  dlpack: imports('dlpack'),
  'dlpack, from a program that is a file': { ...imports('dlpack'), isFile: true },
  'dlpack, and the first tensor': { code: `(await import('dlpack')).Tensor.empty([1], 'float32')`, cwd: root },
  'dlpack/python': imports('dlpack/python'),
  'dlpack/tvm-ffi': imports('dlpack/tvm-ffi'),
  'dlpack/cuda': imports('dlpack/cuda'),
  'onnxruntime-node': imports('onnxruntime-node', libraries),
  sharp: imports('sharp', libraries),
  '@tensorflow/tfjs-core': imports('@tensorflow/tfjs-core', libraries),
};
// DLPACK_BASE names another build of this package for comparison.
const { DLPACK_BASE } = process.env;
if (DLPACK_BASE) rows['dlpack, the build to compare with'] = imports('dlpack', DLPACK_BASE);

interface Samples {
  readonly processor: number[];
  readonly elapsed: number[];
}
const times = new Map(Object.keys(rows).map((name): [string, Samples] => [name, { processor: [], elapsed: [] }]));
/** Milliseconds of processor time on the Nodes beside this one, row by row. */
const elsewhere = beside.map(() => new Map(Object.keys(rows).map((name): [string, number[]] => [name, []])));
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, { code, cwd, isFile }] of Object.entries(rows)) {
    const script = `const start = process.cpuUsage(); const begin = performance.now(); ${code};
      const elapsed = performance.now() - begin; const { user, system } = process.cpuUsage(start);
      console.log(JSON.stringify([(user + system) / 1000, elapsed]));`;
    if (isFile) writeFileSync(program, script);
    const args = isFile ? [program] : ['--input-type=module', '--eval', script];
    const ask = (node: string) => JSON.parse(execFileSync(node, args, { cwd, encoding: 'utf8' })) as [number, number];
    const [processor, elapsed] = ask(process.execPath);
    for (const [at, node] of beside.entries()) elsewhere[at]?.get(name)?.push(ask(node.program)[0]);
    times.get(name)?.processor.push(processor);
    times.get(name)?.elapsed.push(elapsed);
  }
}
for (const file of [program, empty]) rmSync(file, { force: true });

const reference = summarise((times.get('onnxruntime-node') as Samples).processor);
const table = [...times].map(([name, samples]) => {
  const [processor, elapsed] = [summarise(samples.processor), summarise(samples.elapsed)];
  const others = elsewhere.map((all) => ` ${summarise(all.get(name) as number[]).median.toFixed(1)} |`).join('');
  const cells = [processor.median, processor.min, elapsed.median, elapsed.min].map((time) => time.toFixed(1));
  return `| ${name} | ${cells.join(' | ')} | ${(processor.median / reference.median).toFixed(2)} |${others}`;
});
const report = `# Start-up

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- startup\`; ${describeMachine()}; Node ${process.versions.node}.
Milliseconds of processor time (all threads) and of elapsed time that an import takes, each in a fresh process, ${ROUNDS} rounds in turns. The ratio is
that of the medians of processor time. The last columns are that median on other versions of Node. The program is the argument of --eval, or a file where a row says so.

| import | processor, median | least | elapsed, median | least | to onnxruntime-node |${beside.map(({ name }) => ` ${name} |`).join('')}
|---|---|---|---|---|---|${'---|'.repeat(beside.length)}
${table.join('\n')}
`;
writeFileSync(`${root}bench/results/startup.md`, report);
console.log(report);
