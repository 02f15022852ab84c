// Python code in the addon. It is in a .py file for editors and linters, and in a header for compilers, which are all
// that `npx dlpack build` has.
import { readFileSync } from 'node:fs';
import { at } from './steps.mjs';

/** A Python file, and the name of its text in C++. */
const embedded = [
  ['native/python/tensors/dtypes.py', 'kDtypesPy'],
  ['native/python/interpreter/prelude.py', 'kPreludePy'],
  ['native/python/tensors/tensor.py', 'kTensorPy'],
];

function headerOf(path, name) {
  const code = readFileSync(at(path), 'utf8');
  if (code.includes(')python"')) throw new Error(`${path} contains the end of a string of C++`);
  const guard = `DLPACK_NODE_${path.replace('native/', '').replaceAll(/[/.]/g, '_').toUpperCase()}_H_`;
  return `// Written by "npm run embed" from ${path.split('/').at(-1)}; change it there.
#ifndef ${guard}
#define ${guard}

static const char ${name}[] = R"python(\n${code})python";

#endif  // ${guard}
`;
}

/** The headers: path and text. */
export const embeddedFiles = () =>
  embedded.map(([path, name]) => [path.replace(/\.py$/, '_py.h'), headerOf(path, name)]);
