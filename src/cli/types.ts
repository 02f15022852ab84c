/** dlpack types: TypeScript declarations for a kernel library. */

import { writeFileSync } from 'node:fs';
import { moduleDeclarations } from '../tvm-ffi/declarations.js';
import { type Command, parse, UsageError } from './command.js';
import '../tvm-ffi/index.js';

export const command: Command = {
  help: `Usage: dlpack types <library> [file]

Writes TypeScript declarations for the kernels of a library compiled for TVM-FFI, from the metadata in the library. They go to
the file, or to the standard output if no file is named.

  dlpack types kernels.so kernels.d.ts
`,
  run(args) {
    const [library, target, ...rest] = parse(args, {}).positionals;
    if (library === undefined) throw new UsageError('expected the path of a library');
    if (rest.length > 0) throw new UsageError(`expected one library and one file but received "${rest[0]}", too`);
    const text = moduleDeclarations(library);
    if (target === undefined) process.stdout.write(text);
    else writeFileSync(target, text);
    return 0;
  },
};
