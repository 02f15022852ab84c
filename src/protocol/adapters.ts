/**
 * Objects of libraries that do not implement the protocol. `dlpack/adapters/register` sets the function that recognises
 * them, so that the core accepts them without containing the adapters.
 */

import type { Descriptor } from '../storage/descriptor.js';

/**
 * The objects that `Tensor.from` accepts besides its own sources, by library. `dlpack/adapters/register` adds to it
 * (`declare module`), so a program that does not import it gets a type error.
 */
// biome-ignore lint/suspicious/noEmptyInterface: modules add to it
export interface AdaptedSources {}

/** An object of a library that has a registered adapter. */
export type AdaptedSource = AdaptedSources[keyof AdaptedSources];

type Adapter = (source: object, copy: boolean | null, isArgument?: boolean) => Descriptor | null;

/** `dlpack/adapters/register` sets the function that takes the tensor of a library's object, or returns null. */
export const adapters: { adapt: Adapter | null } = { adapt: null };

/** The tensor of a library's object, which the caller owns; null for anything else, and without registered adapters. */
export function adaptObject(source: unknown, copy: boolean | null): Descriptor | null {
  const { adapt } = adapters;
  return adapt === null || typeof source !== 'object' || source === null ? null : adapt(source, copy);
}

/**
 * As {@link adaptObject} for an argument of a function in another language, to which a plain object is a dictionary. It
 * is a tensor only if it has exactly the properties of a library's plain objects.
 */
export function adaptArgument(value: object): Descriptor | null {
  return adapters.adapt?.(value, null, true) ?? null;
}
