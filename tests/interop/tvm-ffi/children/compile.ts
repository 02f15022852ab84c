/** Compiles the source it is given and calls the result. Two of these run at once. */

import type { Tensor } from 'dlpack';
import { type CompileOptions, compileLibrary, loadModule } from 'dlpack/tvm-ffi';

const options = JSON.parse(process.argv[2] as string) as CompileOptions;
const path = await compileLibrary(options);
const { iota } = loadModule<{ iota(count: number): Tensor }>(path);
console.log(JSON.stringify({ path, values: iota(3).toArray() }));
process.exit(0);
