/** 4 MiB of NumPy from Pyodide to JavaScript, in Node and in a page. */

import { fromDLPack } from 'dlpack';
import { attach } from 'dlpack/pyodide';
import type { Pyodide } from '../../tests/pyodide/load.js';

/** A NumPy array, as Pyodide shows it. */
interface ArrayProxy {
  getBuffer(): { release(): void };
  toJs(): unknown;
}

/** Microseconds for one operation by each way. */
export interface Rows {
  readonly fromDLPack: number;
  readonly getBuffer: number;
  readonly toJs: number;
}

/** Measures each way: the least of some samples. */
export function measureRows(pyodide: Pyodide, count: number): Rows {
  attach(pyodide);
  const array = pyodide.runPython("np.arange(1 << 20, dtype='float32').reshape(1024, 1024)") as ArrayProxy;
  const least = (turns: number, run: () => void): number => {
    for (let i = 0; i < turns; i++) run();
    const samples = Array.from({ length: count }, () => {
      const start = performance.now();
      for (let i = 0; i < turns; i++) run();
      return ((performance.now() - start) / turns) * 1000;
    });
    return Math.min(...samples);
  };
  return {
    fromDLPack: least(500, () => fromDLPack(array).dispose()),
    getBuffer: least(500, () => array.getBuffer().release()),
    toJs: least(5, () => void array.toJs()),
  };
}
