/** A WebAssembly trap, which arrives as a signal that the runtime handles. */

/** Reads an address that is not mapped. */
const code = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 5, 1, 1, 102, 0, 0, 10, 9, 1,
  7, 0, 32, 0, 40, 2, 0, 11,
];

/** The error that the trap throws, or the value that was read, if there was no trap. */
export function trap(): unknown {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(code)));
  try {
    return (exports.f as (at: number) => number)(0x7fffffff);
  } catch (error) {
    return error;
  }
}
