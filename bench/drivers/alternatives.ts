/**
 * 4 MiB of float32 to Python and back, in Pyodide or by a way that this package replaces; prints nanoseconds as JSON.
 * Arguments: `pyodide`, `pyodide-dlpack`, `json <python> <scripts>` or `fastapi <python> <scripts>`.
 */

import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fromDLPack } from 'dlpack';
import { attach } from 'dlpack/pyodide';
import { counterparts } from '../../tests/pyodide/load.js';
import { startAnother } from '../../tests/pyodide/node.js';

const [name = '', first = '', second = ''] = process.argv.slice(2);
const LENGTH = 1 << 20;
const SUM = LENGTH; // of the elements 1 and LENGTH - 1
const numbers = Float32Array.from({ length: LENGTH }, (_, i) => i);
const ends = (array: ArrayLike<number>): number => (array[1] as number) + (array[LENGTH - 1] as number);

/** Each direction returns the sum of two elements, to check that the values arrived. */
interface Way {
  /** How often a sample runs: more for what takes microseconds. */
  readonly times: number;
  toJavaScript(): number | Promise<number>;
  toPython(): number | Promise<number>;
  end(): void;
}

async function startPyodide() {
  const pyodide = await startAnother(counterparts.unversioned);
  return { pyodide, array: pyodide.runPython(`np.arange(${LENGTH}, dtype='float32')`) };
}

const ways: Record<string, () => Promise<Way>> = {
  async pyodide() {
    const { pyodide, array } = await startPyodide();
    const look = pyodide.runPython('lambda a: float(a[1] + a[-1])');
    return {
      times: 3,
      toJavaScript: () => ends(array.toJs()),
      toPython() {
        const received = pyodide.toPy(numbers);
        const sum = look(received) as number;
        received.destroy();
        return sum;
      },
      end() {},
    };
  },
  async 'pyodide-dlpack'() {
    const { pyodide, array } = await startPyodide();
    const python = attach(pyodide);
    const look = pyodide.runPython('def look(x):\n  a = np.asarray(x)\n  return float(a[1] + a[-1])\nlook');
    const x = python.empty([LENGTH], 'float32').copyFrom(fromDLPack(array));
    return {
      times: 200,
      toJavaScript() {
        const tensor = fromDLPack(array);
        const sum = ends(tensor.data as Float32Array);
        tensor.dispose();
        return sum;
      },
      toPython() {
        const shared = python.toPython(x);
        const sum = look(shared) as number;
        shared.destroy();
        return sum;
      },
      end() {},
    };
  },
  async json() {
    const child = spawn(first, [join(second, 'alternatives_child.py'), String(LENGTH)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const answer = async (message: unknown) => {
      child.stdin.write(`${JSON.stringify(message)}\n`);
      return JSON.parse((await lines.next()).value as string);
    };
    return {
      times: 1,
      toJavaScript: async () => ends(await answer(null)),
      toPython: () => answer([...numbers]),
      end: () => child.stdin.end(),
    };
  },
  async fastapi() {
    const probe = createServer().listen(0);
    const { port } = probe.address() as { port: number };
    await new Promise((resolve) => probe.close(resolve));
    const child = spawn(first, [join(second, 'alternatives_fastapi.py'), String(port), String(LENGTH)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const url = `http://127.0.0.1:${port}/`;
    while ((await fetch(`${url}health`).catch(() => null)) === null) {
      if (child.exitCode !== null) throw new Error(`FastAPI ended with ${child.exitCode}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return {
      times: 1,
      toJavaScript: async () => ends(new Float32Array(await (await fetch(`${url}give`)).arrayBuffer())),
      toPython: async () => Number(await (await fetch(`${url}take`, { method: 'POST', body: numbers })).json()),
      end: () => child.kill('SIGTERM'),
    };
  },
};

async function measure(what: string, times: number, run: () => number | Promise<number>): Promise<number[]> {
  const sum = await run();
  if (sum !== SUM) throw new Error(`${name}, ${what}: expected ${SUM} but received ${sum}`);
  for (let i = 0; i < 5; i++) await run(); // compiled code, open connections
  const samples: number[] = [];
  for (let i = 0; i < 9; i++) {
    const start = process.hrtime.bigint();
    for (let turn = 0; turn < times; turn++) await run();
    samples.push(Number(process.hrtime.bigint() - start) / times);
  }
  return samples;
}

const way = await (ways[name] as () => Promise<Way>)();
console.log(
  JSON.stringify({
    'Python to JavaScript': await measure('to JavaScript', way.times, way.toJavaScript),
    'JavaScript to Python': await measure('to Python', way.times, way.toPython),
  }),
);
way.end();
