/**
 * The wire of a package that `load` imports, for tests that change its words by hand: catches the buffer when the package
 * makes it. The program must not have imported the package before.
 */
export async function loadWithWire<T>(load: () => Promise<T>): Promise<{ words: Uint32Array; loaded: T }> {
  const Plain = globalThis.ArrayBuffer;
  let wire: ArrayBuffer | null = null;
  globalThis.ArrayBuffer = class extends Plain {
    constructor(length: number) {
      super(length);
      if (length === 131072 * 8) wire = this;
    }
  } as ArrayBufferConstructor;
  const loaded = await load();
  globalThis.ArrayBuffer = Plain;
  if (wire === null) throw new Error('the wire was not found');
  return { words: new Uint32Array(wire), loaded };
}
