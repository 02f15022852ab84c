/** Prints the bytes that an array of 1 MiB adds to the live objects. */

import { liveCounts } from 'dlpack/debug';
import { python } from 'dlpack/python';

const { ones } = python().import('numpy');
const small = ones(1);
const before = liveCounts().objectBytes;
const array = ones(2 ** 17);
console.log(`RESULT ${liveCounts().objectBytes - before}`);
for (const object of [small, array]) object[Symbol.dispose]();
