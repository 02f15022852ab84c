/** The scale and the offset of a cast. */

/** Each number is multiplied by its scale, and its offset is added. */
export interface Scaling {
  readonly scale: Float64Array;
  readonly offset: Float64Array;
  /** The axis along which they change; -1 when there is one of each for all elements. */
  readonly axis: number;
}
