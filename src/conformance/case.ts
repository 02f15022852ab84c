/** A case: one rule of docs/spec.md with a check. A check returns, throws a ConformanceError, or is skipped. */

import { DLPackError, textOf } from '../errors.js';

declare module '../errors.js' {
  interface DLPackErrors {
    /** A case that failed. */
    ConformanceError: ConformanceError;
  }
}

/**
 * A library breaks a rule of the specification.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * import { casesOf } from 'dlpack/conformance';
 * const make = () => Tensor.from([1]); // not what the case asks for
 * const cases = casesOf({ name: 'mine', producer: { make } });
 * try {
 *   await cases.find(({ id }) => id === 'p.values.f32')?.run();
 * } catch (error) {
 *   if (!isDLPackError(error, 'ConformanceError')) throw error;
 *   console.log(error.expected, error.received); // shape [2,3] received [1]
 * }
 * ```
 */
export class ConformanceError extends DLPackError {
  readonly tag = 'ConformanceError';

  constructor(
    /** What the rule asks for. */
    readonly expected: string,
    /** What the library did. */
    readonly received: string,
    options?: { cause?: unknown },
  ) {
    super(`Expected ${expected} but ${received}`, options);
  }
}

/** `'must'`: a library that breaks the rule does not conform. `'should'`: advice. */
export type Level = 'must' | 'should';

/** One rule as a test. Ids are stable: a rule that changes gets a new id. */
export interface Case {
  /** The name of the rule, which is stable. */
  readonly id: string;
  /** The section of docs/spec.md. */
  readonly section: string;
  /** Whether the rule is a must. */
  readonly level: Level;
  /** The rule, as a sentence whose subject is the library. */
  readonly title: string;
  /** The first version of the specification that has the case. */
  readonly since: string;
  /**
   * Runs the check. Rejects with a {@link ConformanceError}.
   *
   * @returns Null, or the reason why the case says nothing here.
   */
  run(): Promise<string | null>;
}

/** A case of a table: its check takes what the cases of that table have in common. */
export interface Row<T> extends Omit<Case, 'run'> {
  check(context: T): void | Promise<void>;
}

type Check<T> = Row<T>['check'];

/** The version of docs/spec.md that the cases follow. */
export const SPECIFICATION = '1.0';

export const must = <T>(id: string, section: string, title: string, check: Check<T>): Row<T> => ({
  id,
  section,
  level: 'must',
  title,
  since: '1.0',
  check,
});

export const should = <T>(id: string, section: string, title: string, check: Check<T>): Row<T> => ({
  ...must(id, section, title, check),
  level: 'should',
});

class Skipped {
  constructor(readonly reason: string) {}
}

/** True for what {@link skip} throws. */
export const isSkip = (error: unknown): boolean => error instanceof Skipped;

/** Ends the check: the rule does not apply to this library or this runtime. */
export function skip(reason: string): never {
  throw new Skipped(reason);
}

export function expect(holds: boolean, expected: string, received: string): void {
  if (!holds) throw new ConformanceError(expected, received);
}

/** Runs the action, which must not throw. */
export function passes<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof ConformanceError || error instanceof Skipped) throw error;
    throw new ConformanceError(what, `it threw ${textOf(error)}`, { cause: error });
  }
}

/** The error of an action that must throw. */
export function thrown(what: string, action: () => unknown): unknown {
  let returned: unknown;
  try {
    returned = action();
  } catch (error) {
    if (error instanceof ConformanceError || error instanceof Skipped) throw error;
    return error;
  }
  throw new ConformanceError(what, `it returned ${typeof returned === 'object' ? 'a result' : String(returned)}`);
}

/** The name of an error by section 6: its tag, or else its name. */
export function nameOf(error: unknown): string {
  const { tag, name } = (error ?? {}) as { tag?: unknown; name?: unknown };
  return typeof tag === 'string' ? tag : String(name);
}

/** The cases of a table for one context. */
export const casesFrom = <T>(rows: readonly Row<T>[], context: T): Case[] =>
  rows.map(({ check, ...row }) => ({
    ...row,
    async run() {
      try {
        await check(context);
        return null;
      } catch (error) {
        if (error instanceof Skipped) return error.reason;
        if (error instanceof ConformanceError) throw error;
        throw new ConformanceError('no other error', `the check ended with ${textOf(error)}`, { cause: error });
      }
    },
  }));
