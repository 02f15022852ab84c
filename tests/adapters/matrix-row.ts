/** Rows of the table of JavaScript libraries in docs/compatibility.md, as a test on Node or in a page finds them. */

import type { DType } from 'dlpack';

export const dtypes =
  'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 bfloat16 int4'.split(
    ' ',
  ) as DType[];

/** `shared`, `copied`, `–` where the library has no such object, or the tag of the error that refused it. */
export type Verdict = string;

/** What was found for each dtype. */
export type Found = [dtype: string, verdict: Verdict][];

/** One as an element of the dtype. */
export const oneOf = (dtype: DType): number =>
  (/^u?int64$/.test(dtype) ? 1n : dtype === 'complex64' ? { re: 1, im: 0 } : 1) as number;

export interface Row {
  readonly name: string;
  readonly version: string;
  readonly inward: Found;
  readonly outward: Found;
  /** Why elements are copied. */
  readonly why?: string | undefined;
  readonly where: string;
}

export const rowOf = ({ name, version, inward, outward, why, where }: Row): string =>
  `| ${name} | ${version} | ${cell(inward, why)} | ${cell(outward, why)} | ${where} |`;

/** `shared: float32 int32; copied: bool; ✗ UnsupportedDTypeError: the others`. */
function cell(found: Found, why: string | undefined): string {
  const verdicts = [...new Set(found.map(([, verdict]) => verdict))].filter((verdict) => verdict !== '–');
  return verdicts
    .sort((a, b) => Number(b === 'shared') - Number(a === 'shared') || Number(b === 'copied') - Number(a === 'copied'))
    .map((verdict) => {
      const names = found.filter(([, v]) => v === verdict).map(([dtype]) => dtype);
      const isRefused = verdict !== 'shared' && verdict !== 'copied';
      const reason = verdict === 'copied' && why !== undefined ? ` (${why})` : '';
      return `${isRefused ? `✗ ${verdict}` : verdict}${reason}: ${names.join(' ').replace(' float32 at', ', float32 at')}`;
    })
    .join('; ');
}
