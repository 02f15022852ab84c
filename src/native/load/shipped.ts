/**
 * The addons in the package. Node takes 2.5 ms to import a CommonJS file, so only the entries for bundlers import
 * `addon.cjs`, and an entry for Node requires it at the first use. Each entry assigns `load`. Nothing calls `trace`, by
 * which tools that copy the files of a server find `addon.cjs`.
 */

import type Shipped from '../addon.cjs';

interface Addons {
  load: () => typeof Shipped;
  trace?: () => Promise<unknown>;
}
export const shipped: Addons = { load: () => ({ addons: {}, folder: null }) };
