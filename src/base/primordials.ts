/**
 * Built-in functions as they were when the package was loaded. A program can replace them later. The replacement would receive
 * private memory, or could return anything, and native code relies on both (SECURITY.md). No other module captures a
 * built-in function, which `tests/architecture/primordials.test.ts` checks.
 */

/** A class of the runtime; undefined where the runtime does not have it. */
type Class = { readonly prototype: object } | undefined;

const { call } = Function.prototype;

/** A method or a getter of a class as a function whose first argument is the object; undefined where the runtime lacks it. */
function uncurry<F>(owner: Class, name: string | symbol): F {
  const found = owner === undefined ? undefined : Object.getOwnPropertyDescriptor(owner.prototype, name);
  const method = (found?.get ?? found?.value) as F | undefined;
  return (method === undefined ? undefined : call.bind(method as never)) as F;
}

/** The class, whose replacement would receive the buffers that arrays are made over. */
export const Bytes: typeof Uint8Array = Uint8Array;
/** Undefined in a page that is not isolated from other origins. */
export const SharedBuffer: typeof SharedArrayBuffer | undefined = globalThis.SharedArrayBuffer;

const TypedArray = Object.getPrototypeOf(Uint8Array) as NonNullable<Class>;
const {
  SharedArrayBuffer: Shared,
  WebAssembly: wasm,
  TextEncoder: Encoder,
  TextDecoder: Decoder,
  FinalizationRegistry: Registry,
} = globalThis as {
  SharedArrayBuffer?: Class;
  WebAssembly?: { Memory: Class };
  TextEncoder?: Class;
  TextDecoder?: Class;
  FinalizationRegistry?: Class;
};

// The getters throw for an object of another class.

export const bufferOf = uncurry<(array: unknown) => ArrayBufferLike>(TypedArray, 'buffer');
export const byteOffsetOf = uncurry<(array: unknown) => number>(TypedArray, 'byteOffset');
export const byteLengthOf = uncurry<(array: unknown) => number>(TypedArray, 'byteLength');
/** The name of the class of a typed array; undefined for anything else. */
export const arrayTagOf = uncurry<(value: unknown) => string | undefined>(TypedArray, Symbol.toStringTag);
export const arrayBufferLength = uncurry<(buffer: unknown) => number>(ArrayBuffer, 'byteLength');
export const arrayBufferResizable = uncurry<((buffer: unknown) => boolean) | undefined>(ArrayBuffer, 'resizable');
/** Undefined on engines without immutable ArrayBuffers. */
export const arrayBufferImmutable = uncurry<((buffer: unknown) => boolean) | undefined>(ArrayBuffer, 'immutable');
export const sharedBufferLength = uncurry<((buffer: unknown) => number) | undefined>(Shared, 'byteLength');
export const memoryBuffer = uncurry<((memory: unknown) => ArrayBuffer) | undefined>(wasm?.Memory, 'buffer');

/** Node 20 has none. */
export const transfer = uncurry<((buffer: ArrayBufferLike, length: number) => ArrayBuffer) | undefined>(
  ArrayBuffer,
  'transfer',
);
export const structuredClone: typeof globalThis.structuredClone = globalThis.structuredClone;
export const fillBytes = uncurry<(array: Uint8Array, value: number, start: number, end: number) => void>(
  TypedArray,
  'fill',
);
export const encodeInto = uncurry<(encoder: TextEncoder, text: string, into: Uint8Array) => { written: number }>(
  Encoder,
  'encodeInto',
);
export const decode = uncurry<(decoder: TextDecoder, bytes: Uint8Array) => string>(Decoder, 'decode');

/** Tools that fake timers replace this function, too, and run its callbacks late or never. */
export const queueMicrotask: typeof globalThis.queueMicrotask = globalThis.queueMicrotask;
export const register = uncurry<<H>(registry: FinalizationRegistry<H>, target: object, held: H) => void>(
  Registry,
  'register',
);

export const forEachOf = uncurry<<T>(set: ReadonlySet<T>, use: (value: T) => void) => void>(Set, 'forEach');
export const weakSetHas = uncurry<(set: unknown, value: object) => boolean>(WeakSet, 'has');
export const weakSetAdd = uncurry<(set: unknown, value: object) => void>(WeakSet, 'add');

const weakMapMethods = Object.getOwnPropertyDescriptors(WeakMap.prototype);
const dataViewMethods = Object.getOwnPropertyDescriptors(DataView.prototype);

/** A WeakMap with methods of its own. */
export const privateWeakMap = <K extends object, V>(): WeakMap<K, V> =>
  Object.defineProperties(new WeakMap<K, V>(), weakMapMethods);

/** A DataView with methods of its own. */
export const privateDataView = (buffer: ArrayBuffer): DataView =>
  Object.defineProperties(new DataView(buffer), dataViewMethods);
