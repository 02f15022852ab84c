/**
 * 4 MiB of float32 to Python and back, by a way that this package replaces; prints nanoseconds as JSON.
 * Arguments: `pyodide <folder>`, `json <python> <scripts>` or `fastapi <python> <scripts>`.
 */

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [name = '', first = '', second = ''] = process.argv.slice(2);
const LENGTH = 1 << 20;
const SUM = LENGTH; // of the elements 1 and LENGTH - 1
const numbers = Float32Array.from({ length: LENGTH }, (_, i) => i);
const ends = (array: ArrayLike<number>): number => (array[1] as number) + (array[LENGTH - 1] as number);

/** Each returns the sum of two elements, to check that the values arrived. */
interface Way {
  toJavaScript(): Promise<number>;
  toPython(): Promise<number>;
  end(): void;
}

const ways: Record<string, () => Promise<Way>> = {
  async pyodide() {
    const { loadPyodide } = createRequire(join(first, 'index.js'))('pyodide');
    const py = await loadPyodide();
    py.runPython(`from array import array\nnumbers = array('f', range(${LENGTH}))`);
    const array = py.globals.get('numbers');
    const look = py.runPython('lambda a: (m := memoryview(a))[1] + m[-1]');
    return {
      toJavaScript: async () => ends(array.toJs()),
      toPython: async () => look(py.toPy(numbers)),
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
      toJavaScript: async () => ends(new Float32Array(await (await fetch(`${url}give`)).arrayBuffer())),
      toPython: async () => Number(await (await fetch(`${url}take`, { method: 'POST', body: numbers })).json()),
      end: () => child.kill('SIGTERM'),
    };
  },
};

async function measure(what: string, run: () => Promise<number>): Promise<number[]> {
  const sum = await run();
  if (sum !== SUM) throw new Error(`${name}, ${what}: expected ${SUM} but received ${sum}`);
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const start = process.hrtime.bigint();
    await run();
    times.push(Number(process.hrtime.bigint() - start));
  }
  return times;
}

const way = await (ways[name] as () => Promise<Way>)();
console.log(
  JSON.stringify({
    'Python to JavaScript': await measure('to JavaScript', way.toJavaScript),
    'JavaScript to Python': await measure('to Python', way.toPython),
  }),
);
way.end();
