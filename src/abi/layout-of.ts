/** Offsets and sizes of a struct in a data model, by the rules of C. */

import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { type DataModel, lp64, wasm32, wasm64 } from './model.js';
import type { Fields, ScalarField, Struct } from './structs.js';

/** Where the fields of a struct lie. */
export interface StructLayout<F extends Fields = Fields> {
  /** Bytes, with the padding at the end. */
  readonly size: number;
  /** The address of the struct must be a multiple of this number. */
  readonly alignment: number;
  /** Bytes from the start of the struct to each field. */
  readonly offset: { readonly [name in keyof F]: number };
}

const scalarSize: Record<Exclude<ScalarField, 'ptr'>, number> = { u8: 1, u16: 2, u32: 4, i32: 4, u64: 8 };
/** The layouts by the size of a pointer, in which alone the models differ. */
const caches = { 4: new WeakMap<Struct, StructLayout>(), 8: new WeakMap<Struct, StructLayout>() };

/**
 * Computes the offset of each field of a struct, as a C compiler does.
 *
 * @param struct - A table of this module, such as {@link DLTensor}.
 * @param model - `lp64`, `wasm32` or `wasm64`.
 * @returns The size, the alignment and the offsets, the same object each time.
 * @throws ArgumentTypeError or ArgumentValueError for anything else.
 * @example
 * ```ts
 * import { DLTensor, layoutOf, lp64, wasm32 } from 'dlpack/abi';
 * console.log(layoutOf(DLTensor, lp64).size, layoutOf(DLTensor, wasm32).size); // 48 40
 * ```
 */
export function layoutOf<F extends Fields>(struct: Struct<F>, model: DataModel): StructLayout<F> {
  if (model !== lp64 && model !== wasm32 && model !== wasm64) {
    throw new ArgumentTypeError('model', 'lp64, wasm32 or wasm64', model);
  }
  if (typeof struct?.fields !== 'object' || struct.fields === null) {
    throw new ArgumentTypeError('struct', 'a table of this module, such as DLTensor', struct);
  }
  let layout = caches[model.pointerSize].get(struct);
  if (layout === undefined) {
    layout = derive(struct, model);
    caches[model.pointerSize].set(struct, layout);
  }
  return layout as StructLayout<F>;
}

function derive(struct: Struct, model: DataModel): StructLayout {
  const offset: Record<string, number> = {};
  let end = 0;
  let alignment = 1;
  for (const [name, field] of Object.entries(struct.fields)) {
    const { size, alignment: align } = measure(field, model);
    end = roundUp(end, align);
    offset[name] = end;
    end += size;
    alignment = Math.max(alignment, align);
  }
  return Object.freeze({ size: roundUp(end, alignment), alignment, offset: Object.freeze(offset) });
}

function measure(field: ScalarField | Struct, model: DataModel): { size: number; alignment: number } {
  if (typeof field !== 'string') return layoutOf(field, model);
  const size = field === 'ptr' ? model.pointerSize : scalarSize[field];
  if (size === undefined) throw new ArgumentValueError('field', 'u8, u16, u32, i32, u64, ptr or a struct', field);
  return { size, alignment: size };
}

function roundUp(value: number, to: number): number {
  return Math.ceil(value / to) * to;
}
