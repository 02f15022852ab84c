/** Starts Python with the options in the first argument, and prints the result. */

import { python } from 'dlpack/python';

try {
  const py = python(JSON.parse(process.argv[2] as string));
  console.log(`started ${py.eval('__import__("sys").version')}`);
} catch (error) {
  console.log(`${(error as Error).constructor.name}: ${(error as Error).message}`);
}
