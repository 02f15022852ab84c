/** References to objects in Ray's object store. */

declare const VALUE: unique symbol;

/** Ray's own ObjectRef, with the type of the value. It can be passed to tasks and actors in place of the value. */
export interface ObjectRef<T = unknown> extends Disposable {
  /** Carries the type of the value. It does not exist at run time. */
  readonly [VALUE]?: T;
  /** Returns the identifier of the object. */
  hex(): string;
}
