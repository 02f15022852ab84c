/** What a model takes and returns. */

import type { DType } from '../dtype.js';
import type { SessionDescription, TypeDescription } from './binding.js';
import { dtypeOf, STRINGS } from './dtypes.js';

/** A type of ONNX. */
export type ValueType =
  | {
      /** A tensor of numbers. */
      readonly kind: 'tensor';
      /** null for a type that this package does not know. */
      readonly dtype: DType | null;
      /**
       * A number for a fixed length, a name for a length with a name, null for any length. null: any number of axes, and
       * before ONNX Runtime 1.24 also a scalar.
       */
      readonly shape: readonly (number | string | null)[] | null;
    }
  | {
      /** A tensor of strings. */
      readonly kind: 'string';
      /** As the shape of a tensor of numbers. */
      readonly shape: readonly (number | string | null)[] | null;
    }
  | {
      /** A list. */
      readonly kind: 'sequence';
      /** The type of its elements. */
      readonly element: ValueType;
    }
  | {
      /** A map. */
      readonly kind: 'map';
      /** The type of its keys; null for a type that this package does not know. */
      readonly key: DType | 'string' | null;
      /** The type of its values. */
      readonly element: ValueType;
    }
  | {
      /** A value that may be absent. */
      readonly kind: 'optional';
      /** The type of the value. */
      readonly element: ValueType;
    }
  | {
      /** A type that this package does not know. */
      readonly kind: 'unknown';
    };

/** An input or output of a model. */
export type ValueInfo = ValueType & {
  /** The name in the model. */
  readonly name: string;
  /** True for an input that a run may leave out: the model has a value for it, or its type is optional. */
  readonly isOptional: boolean;
};

/** What the author of a model wrote into it. */
export interface ModelMetadata {
  /** The program that made the model. */
  readonly producer: string;
  /** The name of the graph. */
  readonly graph: string;
  /** The domain of the model, such as `com.example`. */
  readonly domain: string;
  /** A description of the model. */
  readonly description: string;
  /** The version of the model. */
  readonly version: bigint;
  /** Further entries, by name. */
  readonly custom: ReadonlyMap<string, string>;
}

const kinds = ['unknown', 'tensor', 'sequence', 'map', 'unknown', 'unknown', 'optional'] as const;

function typeOf({ type, code = 0, shape = null as never, element }: TypeDescription): ValueType {
  const kind = kinds[type] ?? 'unknown';
  const inner = (): ValueType => (element === undefined ? { kind: 'unknown' } : typeOf(element));
  switch (kind) {
    case 'tensor':
      return code === STRINGS
        ? { kind: 'string', shape }
        : { kind, dtype: (dtypeOf(code)?.name ?? null) as DType | null, shape };
    case 'sequence':
    case 'optional':
      return { kind, element: inner() };
    case 'map':
      return {
        kind,
        key: code === STRINGS ? 'string' : ((dtypeOf(code)?.name ?? null) as DType | null),
        element: inner(),
      };
    default:
      return { kind: 'unknown' };
  }
}

export function inputsOf({ inputs, required }: SessionDescription): readonly ValueInfo[] {
  return Object.freeze(
    inputs.map((input, i) => {
      const type = typeOf(input);
      return Object.freeze({ ...type, name: input.name, isOptional: i >= required || type.kind === 'optional' });
    }),
  );
}

export function outputsOf({ outputs }: SessionDescription): readonly ValueInfo[] {
  return Object.freeze(
    outputs.map((output) => {
      const type = typeOf(output);
      return Object.freeze({ ...type, name: output.name, isOptional: type.kind === 'optional' });
    }),
  );
}

export function metadataOf({ metadata: { custom, ...texts } }: SessionDescription): ModelMetadata {
  const entries = new Map<string, string>();
  for (let i = 0; i < custom.length; i += 2) entries.set(custom[i] as string, custom[i + 1] as string);
  return Object.freeze({ ...texts, custom: entries });
}
