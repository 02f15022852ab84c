/** Loads the module in a program whose stacks are arrays, and prints what a callback throws through native code. */

Object.assign(Error, { prepareStackTrace: (_: Error, sites: unknown) => sites });
const { toFunction } = await import('dlpack/tvm-ffi');
const { testing } = await import('../peer.js');

const fail = toFunction(() => {
  throw new RangeError('inside');
});
try {
  testing('apply')(fail);
} catch (error) {
  console.log((error as Error).name, (error as Error).message);
}
