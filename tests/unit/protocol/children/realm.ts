/** A process whose global object has no place for the set of consumed tensors. */

import { DLPACK, fromDLPack, isDLPackError, type ManagedTensor } from 'dlpack';

const [realm] = process.argv.slice(2);
let deleted = 0;
const managed: ManagedTensor = {
  version: [1, 3],
  flags: 0,
  data: new ArrayBuffer(4),
  byteOffset: 0,
  shape: [1],
  strides: [1],
  dtype: { code: 2, bits: 32, lanes: 1 },
  device: { type: 1, id: 0 },
  deleter: () => {
    deleted++;
  },
};
fromDLPack({ [DLPACK]: () => ({ ...managed }) }).dispose(); // loads all that is loaded late
Reflect.deleteProperty(globalThis, Symbol.for('dlpack.consumed'));
if (realm === 'frozen') Object.preventExtensions(globalThis);
else Object.assign(globalThis, { [Symbol.for('dlpack.consumed')]: { has: () => false, add: () => {} } });

deleted = 0;
const source = { [DLPACK]: () => managed };
fromDLPack(source).dispose();
let refused: unknown;
try {
  fromDLPack(source);
} catch (error) {
  refused = error;
}
const isRight = deleted === 1 && isDLPackError(refused, 'ConsumedError');
console.log(`RESULT ${JSON.stringify(isRight ? 'released once' : `${deleted} ${String(refused)}`)}`);
