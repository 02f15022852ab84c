/** Python raises where the stack is almost full, after an exception before. Prints the message of the error. */

import { PythonError, python } from 'dlpack/python';

const fail = python().eval('lambda: 1 / 0');
let error: unknown;
const raise = () => {
  try {
    fail();
  } catch (caught) {
    error = caught;
  }
};
raise();
error = null;

/** Fills the stack, and calls Python from each level on the way back until there is room for its error. */
const descend = (): void => {
  try {
    descend();
  } catch {}
  if (!(error instanceof PythonError)) raise();
};
descend();
console.log((error as unknown as PythonError).message);
