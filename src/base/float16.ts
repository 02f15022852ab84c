/** The arrays of float16. */

/** `Float16Array` where the runtime has it (Node 24, Bun, Deno, browsers), raw bits in a `Uint16Array` elsewhere. */
export type Float16Data =
  | Uint16Array
  | (typeof globalThis extends {
      /** The class, where the types of the program have it. */
      Float16Array: {
        /** Its arrays. */
        prototype: infer F;
      };
    }
      ? F
      : never);

export const float16Array = ((globalThis as { Float16Array?: unknown }).Float16Array ?? Uint16Array) as {
  readonly BYTES_PER_ELEMENT: 2;
  readonly prototype: Float16Data;
};
