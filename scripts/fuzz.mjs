// npm run fuzz -- [core|adapters|workers|files|python|tvm-ffi] [--minutes n] [--seed s]: runs random operations against an oracle. Each run is a
// separate process with its own seed, alternately with flags that make the garbage collector move objects and run
// often. A failure prints its command and the last operations.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { prepare } from './lib/needs.mjs';
import { at, Missing, main, run } from './lib/steps.mjs';

const suites = { core: 20_000, adapters: 20_000, workers: 20, files: 5000, python: 5000, 'tvm-ffi': 10_000 };
const collectors = [
  [],
  ['--stress-compaction'],
  ['--gc-interval=1000'],
  ['--predictable-gc-schedule'],
  ['--single-threaded-gc'],
];

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { minutes: { type: 'string', default: '1' }, seed: { type: 'string' } },
    });
  } catch (error) {
    throw new Missing(
      `${error.message}. Usage: npm run fuzz -- [${Object.keys(suites).join('|')}] [--minutes n] [--seed s]`,
    );
  }
}

await main(async () => {
  const { values, positionals } = readArguments();
  const unknown = positionals.find((name) => !(name in suites));
  if (unknown !== undefined)
    throw new Missing(`a suite named "${unknown}"; there are ${Object.keys(suites).join(', ')}.`);
  const names = positionals.length > 0 ? positionals : Object.keys(suites);
  const end = Date.now() + Number(values.minutes) * 60_000;
  await prepare();
  mkdirSync(at('.cache'), { recursive: true });
  let seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
  let operations = 0;
  for (let turn = 0; turn === 0 || (values.seed === undefined && Date.now() < end); turn++, seed++) {
    const flags = ['--expose-gc', ...(values.seed === undefined ? collectors[turn % collectors.length] : [])];
    for (const suite of names) {
      // Named by this process, so that runs beside each other keep their last operations apart.
      const log = at(`.cache/fuzz-${suite}-${process.pid}.log`);
      const args = [
        ...flags,
        at('build/tests/fuzz/run.js'),
        suite,
        '--seed',
        String(seed),
        '--steps',
        String(suites[suite]),
      ];
      const { code, signal, output } = await run(process.execPath, [...args, '--log', log], { allowFailure: true });
      if (code !== 0) {
        console.log(`FAILED with ${signal ?? code}: node ${args.join(' ')}\n${output}`);
        console.log(`last operations:\n${readFileSync(log, 'utf8').trimEnd().split('\n').slice(-40).join('\n')}`);
        return 1;
      }
      rmSync(log);
      operations += Number(/(\d+) operations/.exec(output)?.[1] ?? 0);
      console.log(`${output.trim()} ${flags.slice(1).join(' ')}`);
    }
  }
  console.log(`${operations} operations, no failure`);
  return 0;
});
