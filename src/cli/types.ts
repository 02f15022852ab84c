/** dlpack types: TypeScript declarations for a kernel library, or for Python modules. */

import { statSync, writeFileSync } from 'node:fs';
import { python } from '../python/index.js';
import { loadSource } from '../python/interpreter/source-module.js';
import { moduleDeclarations } from '../tvm-ffi/declarations.js';
import { type Command, parse, UsageError } from './command.js';
import SOURCE from './python-types.py';
import '../tvm-ffi/index.js';

/** True for the path of a library; false for the name of a Python module. */
const isLibrary = (name: string): boolean =>
  /\.(so|dylib|dll)$|[/\\]/.test(name) ||
  statSync(name, { throwIfNoEntry: false })?.isFile() === true ||
  !/^[A-Za-z_][\w.]*$/.test(name);

export const command: Command = {
  help: `Usage: dlpack types <library> [file]
       dlpack types <Python module>... [--out <file>]

Writes TypeScript declarations for the kernels of a library compiled for TVM-FFI, from the metadata in the library; or for Python
modules, from their stubs and signatures. They go to the file, or to the standard output if no file is named.

  dlpack types kernels.so kernels.d.ts
  dlpack types numpy torch.nn --out python.d.ts
`,
  run(args) {
    const { positionals, values } = parse(args, { out: 'string' });
    const [library, file, ...rest] = positionals;
    if (library === undefined) throw new UsageError('expected the path of a library, or names of Python modules');
    const isKernels = isLibrary(library);
    if (isKernels && rest.length > 0) {
      throw new UsageError(`expected one library and one file but received "${rest[0]}", too`);
    }
    const text = isKernels ? moduleDeclarations(library) : describePython(positionals);
    const target = values.out ?? (isKernels ? file : undefined);
    if (target === undefined) process.stdout.write(text);
    else writeFileSync(target, text);
    return 0;
  },
};

/** Declarations of Python modules. The module with the error is named by Python's own text. */
function describePython(names: readonly string[]): string {
  const py = python();
  for (const name of names) py.release(py.import(name)); // says how to install one that is missing
  return loadSource(py.import, '_dlpack_types', SOURCE).describe(names) as string;
}
