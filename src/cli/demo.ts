/** dlpack demo: shows one tensor to every library that is here, and the address at which each finds it. */

import { addressOf } from '../native/index.js';
import { type Command, paint, parse, UsageError } from './command.js';
import { type Arrival, NotHere, type Stop } from './demo/stop.js';
import { makeTensor, runChild, stops } from './demo/stops.js';
import { packageFolder, packageVersion } from './package.js';

interface Row {
  readonly name: string;
  readonly call: string;
  readonly address: string;
  readonly time: string;
  readonly note: string;
}

const widths = { name: 16, call: 42, address: 16, time: 9 };
const hex = (address: bigint): string => `0x${address.toString(16)}`;

function timeText(micros: number | undefined): string {
  if (micros === undefined) return '';
  return micros < 1000 ? `${micros.toFixed(1)} µs` : `${(micros / 1000).toFixed(1)} ms`;
}

function rowText({ name, call, address, time, note }: Row, isSame: boolean): string {
  const cells = [name.padEnd(widths.name), call.padEnd(widths.call), address.padEnd(widths.address)];
  if (isSame) cells[2] = paint('green', cells[2] as string);
  return `  ${[...cells, time.padStart(widths.time), paint('dim', note)].join('  ').trimEnd()}\n`;
}

/** What a stop found, or why it was left out. */
async function visit(stop: Stop, x: ReturnType<typeof makeTensor>): Promise<Arrival | NotHere | Error> {
  try {
    return await stop.run(x);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

const endText = (same: number): string =>
  same > 1
    ? `\n${same} rows have one address. Nothing was copied, and each saw what the others wrote.\n`
    : '\nInstall NumPy or ONNX Runtime, and their rows will show the same address.\n';

const next = (folder: string): string => `
Try next

  npx dlpack doctor                  what works on this machine, and what to do about the rest
  npx dlpack inspect FILE --stats    the tensors in a safetensors, npy, npz, gguf or onnx file
  ${folder}/docs/tutorials
                                     three tutorials of ten minutes: Python, a model, a page
`;

export const command: Command = {
  help: `Usage: dlpack demo

Makes a tensor of 4 MiB and shows it to NumPy, PyTorch, ONNX Runtime, a second process, a file and a GPU, as far as they are
here. Each row has the address at which the other side finds the tensor. What is missing is listed with the command that
installs it. The demo installs nothing, and writes only a file that it removes again.

Python is found as dlpack/python finds it: VIRTUAL_ENV, .venv in this folder, python3 on the PATH.
`,
  async run(args) {
    const { values, positionals } = parse(args, { child: 'string' });
    if (positionals.length > 0) throw new UsageError(`expected no argument but received "${positionals[0]}"`);
    if (values.child !== undefined) {
      runChild(values.child);
      return 0;
    }
    const write = (text: string) => process.stdout.write(text);
    using x = makeTensor();
    const home = addressOf(x);
    write(`dlpack ${packageVersion()}: a float32 tensor of 1,048,576 elements, 4 MiB\n\n`);
    const title = { name: 'where', call: 'call', address: 'address', time: 'time', note: '' };
    write(paint('dim', rowText(title, false)));
    write(rowText({ name: 'JavaScript', call: 'x', address: hex(home), time: '', note: '' }, true));
    const missing: [string, NotHere][] = [];
    let same = 1;
    let failures = 0;
    for (const stop of stops) {
      const found = await visit(stop, x);
      if (found instanceof NotHere) {
        missing.push([stop.name, found]);
      } else if (found instanceof Error) {
        failures++;
        write(
          rowText({ ...title, ...stop, address: '', time: '', note: `failed: ${found.message.split('\n')[0]}` }, false),
        );
      } else {
        if (!found.arrived) failures++;
        const isSame = found.address === home;
        if (isSame) same++;
        const note = found.arrived
          ? (found.note ?? (isSame ? '' : 'copied'))
          : 'failed: what was written did not arrive';
        write(rowText({ ...stop, address: hex(found.address), time: timeText(found.micros), note }, isSame));
      }
    }
    write(failures > 0 ? '\nA row failed: npx dlpack doctor looks closer.\n' : endText(same));
    if (missing.length > 0) write('\nNot here yet\n\n');
    for (const [name, { message, command }] of missing) {
      write(`  ${name.padEnd(widths.name)}  ${paint('dim', message)}\n  ${''.padEnd(widths.name)}  ${command}\n`);
    }
    write(next(packageFolder()));
    return failures === 0 ? 0 : 1;
  },
};
