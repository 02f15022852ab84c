/**
 * Whether this program has native memory and native exchange.
 *
 * @module
 */

export interface NativeStatus {
  /** True with native memory; false when tensors live in JavaScript memory. */
  readonly loaded: boolean;
  /** The addon's file, as far as the runtime or the bundler tells. */
  readonly path: string | null;
  /** Why there is no native part. */
  readonly reason: string | null;
}

/** Whether the native part of the package is loaded, from where, or why not. Loads it where that was not tried yet. */
export function nativeStatus(): NativeStatus {
  return {
    loaded: false,
    path: null,
    reason: 'this is the entry of the package for browsers, which has no native part',
  };
}
