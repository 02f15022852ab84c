/** What the process that exchanges tensors with Python libraries prints: a line of JSON for each result. */

import type { Cell } from './cells.js';

/**
 * The outcome of a cell: `shared` (one address, and each side sees the other's writes), `copied` (neither), `empty`,
 * `absent` (the peer cannot hold such a tensor), `refused: <error>`; after a semicolon the properties that changed. A word
 * that no table expects, such as `broken`, names the failure.
 */
export interface Outcome {
  readonly outcome: string;
  /** The message of the error. */
  readonly message: string;
}

/** Outcomes of one peer, direction and route, in the order of `cellsOf`. */
export interface Finding {
  readonly peer: string;
  readonly key: string;
  readonly outcomes: readonly Outcome[];
}

/** A peer's version, and its results for its own tensors: one for each dtype and layout. */
export interface Context {
  readonly peer: string;
  readonly version: string;
  readonly itself: readonly string[];
}

/** A line. `missing` names peers that are not installed, and `begin` what runs next. */
export type Line = Partial<Finding & Context & { readonly missing: readonly string[]; readonly begin: string }>;

/** The direction and the route of a cell. */
export const keyOf = ({ direction, route }: Cell): string => `${direction}|${route}`;
