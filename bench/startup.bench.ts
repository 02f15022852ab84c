/**
 * The cost of an import, each in a fresh process, compared with packages with native code and with an empty program.
 * Counts CPU time, because other work on the machine makes an import wait but hardly changes its CPU time.
 *
 *   npm run bench -- startup
 */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.js';
import { summarise } from './measure.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ROUNDS = 15;

interface Row {
  readonly code: string;
  readonly cwd: string;
}
const imports = (specifier: string, cwd = root): Row => ({ code: `await import('${specifier}')`, cwd });
const libraries = `${root}.libraries`;
const rows: Record<string, Row> = {
  'an empty module': imports('data:text/javascript,'),
  'dlpack/abi': imports('dlpack/abi'),
  dlpack: imports('dlpack'),
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

const times = new Map(Object.keys(rows).map((name) => [name, [] as number[]]));
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, { code, cwd }] of Object.entries(rows)) {
    const script = `const start = process.cpuUsage(); ${code};
      const { user, system } = process.cpuUsage(start); console.log((user + system) / 1000);`;
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { cwd, encoding: 'utf8' });
    times.get(name)?.push(Number(output));
  }
}

const reference = summarise(times.get('onnxruntime-node') as number[]);
const table = [...times].map(([name, all]) => {
  const { median, min } = summarise(all);
  return `| ${name} | ${median.toFixed(1)} | ${min.toFixed(1)} | ${(median / reference.median).toFixed(2)} |`;
});
const report = `# Start-up

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- startup\`; ${describeMachine()}; Node ${process.versions.node}.
Milliseconds of processor time (all threads) that an import takes, each in a fresh process, ${ROUNDS} rounds in turns. The ratio is that of the medians.

| import | median | least | to onnxruntime-node |
|---|---|---|---|
${table.join('\n')}
`;
writeFileSync(`${root}bench/results/startup.md`, report);
console.log(report);
