/** Exports after the last number of a layout. A program would need hours to get there, so this one sets the number by hand. */

import { loadWithWire } from '../../wire-words.js';

const LAST_LAYOUT = 13; // WireHeader.LAST_LAYOUT
const LAST = 2 ** 30 - 1;

const { words, loaded } = await loadWithWire(async () => ({
  ...(await import('dlpack')),
  ...(await import('dlpack/native')),
}));
const { Tensor, exportManaged, importManaged } = loaded;

const make = (first: number, dtype: 'float32' | 'int16', count: number) =>
  Array.from({ length: count }, (_, i) => Tensor.zeros([first, i + 1], dtype));
let wrong = 0;
const exportAll = (tensors: ReturnType<typeof make>): void => {
  for (const x of tensors) {
    const taken = importManaged(exportManaged(x));
    if (String([taken.dtype, taken.shape]) !== String([x.dtype, x.shape])) wrong++;
    taken.dispose();
  }
};
const before = words[LAST_LAYOUT] as number;
const early = make(1, 'float32', 20);
exportAll(early);
const hasNumbers = (words[LAST_LAYOUT] as number) >= before + early.length;
words[LAST_LAYOUT] = LAST - 1;
// If numbers began again after the last number, the last of these tensors would have numbers of earlier tensors.
exportAll(make(2, 'int16', 15));
exportAll(early.slice(0, 14).reverse());
console.log(hasNumbers, words[LAST_LAYOUT] === LAST, wrong);
