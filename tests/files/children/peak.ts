/**
 * Opens, reads and closes more files in one tick than the system maps at once: large ones, which are mapped, or with `small` those
 * that are read. Prints how much the peak of memory grew.
 */

import { liveCounts } from 'dlpack/debug';
import { openNpySync } from 'dlpack/files';
import { printGrowth } from '../../peak.js';
import { fileOf, npy } from '../make.js';

const length = process.argv[2] === 'small' ? 20_000 : 300_000;
const path = fileOf(
  npy(`{'descr': '|u1', 'fortran_order': False, 'shape': (${length},)}`, new Uint8Array(length).fill(7)),
);
// Linux maps 65,530 files at most unless vm.max_map_count says otherwise.
printGrowth(66_000, (i) => {
  const x = openNpySync(path, { mode: 'c' });
  const value = i % 2 === 0 ? x.data[length - 1] : x.get(length - 1);
  x.dispose();
  if (value !== 7 || liveCounts().imports !== 0) throw new Error(`${value}, ${JSON.stringify(liveCounts())}`);
});
