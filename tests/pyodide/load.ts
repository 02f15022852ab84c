/** Pyodides with NumPy for tests, in Node and in a page. `.pyodide` has them (scripts/lib/libraries.mjs). */

/** The part of Pyodide that the tests use. */
export interface Pyodide {
  readonly version: string;
  readonly globals: { get(name: string): unknown; set(name: string, value: unknown): void };
  // biome-ignore lint/suspicious/noExplicitAny: any Python value
  runPython(code: string, options?: object): any;
  // biome-ignore lint/suspicious/noExplicitAny: any Python value
  runPythonAsync(code: string): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: any JavaScript value
  toPy(value: any): any;
  unpackArchive(bytes: Uint8Array, format: string, options: object): void;
  setInterruptBuffer(buffer: Uint8Array | undefined): void;
}

/** A Python object, as the tests use it. */
export interface PyProxy {
  destroy(): void;
}

export interface Counterpart {
  /** The folder of Pyodide below `.pyodide/node_modules`. */
  readonly pyodide: string;
  /** NumPy's archive below the same folder; null where there is no NumPy for this Python. */
  readonly numpy: string | null;
}

export const counterparts = {
  /** Python 3.14, the newest. */
  newest: { pyodide: 'pyodide-314', numpy: null },
  /** Python 3.12, and NumPy 2.0, whose capsules have no version. */
  unversioned: { pyodide: 'pyodide-027', numpy: 'numpy-20/pkg/numpy-2.0.1-py312h4e66579_0.tar.gz' },
  /** Python 3.11, which has no `__buffer__`, and NumPy 2.1, whose capsules have a version. */
  versioned: { pyodide: 'pyodide-025', numpy: 'numpy-21/pkg/numpy-2.1.1-py311hc8e14bb_0.tar.gz' },
} satisfies Record<string, Counterpart>;

/** Starts a Pyodide. `root` is the URL of `.pyodide/node_modules/`, and `read` reads a file below it. */
export async function load(
  { pyodide, numpy }: Counterpart,
  root: string,
  read: (path: string) => Promise<Uint8Array<ArrayBuffer>>,
): Promise<Pyodide> {
  const { loadPyodide } = (await import(`${root}${pyodide}/pyodide.mjs`)) as {
    loadPyodide(options?: object): Promise<Pyodide>;
  };
  const started = await loadPyodide();
  if (numpy !== null) {
    started.unpackArchive(await read(numpy), 'gztar', { extractDir: '/numpy' });
    started.runPython(
      'import glob, sys; sys.path.insert(0, glob.glob("/numpy/lib/python*/site-packages")[0]); import numpy as np',
    );
  }
  return started;
}
