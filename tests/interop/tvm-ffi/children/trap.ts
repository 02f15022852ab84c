/** A WebAssembly load out of bounds: V8 gets it as a SIGSEGV. */

// One page of memory; the exported function loads from address -16.
const bytes = Uint8Array.from(
  '0061736d 01000000 01050160 00017f 03020100 0503010001 070501016600 00 0a0901 07 00 4170 280200 0b'
    .replaceAll(' ', '')
    .match(/../g) ?? [],
  (pair) => Number.parseInt(pair, 16),
);
const { f } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports as { f: () => number };

/** The message of the trap. */
export function trap(): string {
  try {
    return String(f());
  } catch (error) {
    return (error as Error).message;
  }
}
