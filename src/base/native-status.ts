/** Whether this program has native memory and native exchange. */

export interface NativeStatus {
  /** True when tensors use native memory; false when they use JavaScript memory. */
  readonly loaded: boolean;
  /** The addon's file, if the runtime or the bundler reveals it. */
  readonly path: string | null;
  /** Why the native part is not loaded. */
  readonly reason: string | null;
}

/**
 * Returns whether the native part of the package is loaded, from which file, or why not. The first call tries to load
 * it.
 *
 * @returns The state. It never throws.
 * @example
 * ```ts
 * import { nativeStatus } from 'dlpack';
 * console.log(nativeStatus().loaded); // true
 * ```
 */
export function nativeStatus(): NativeStatus {
  return {
    loaded: false,
    path: null,
    reason: 'this is the entry for browsers, which has no native part',
  };
}
