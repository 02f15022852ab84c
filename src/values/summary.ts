/**
 * A short text about a tensor for `Object.prototype.toString`. Node's `assert.deepStrictEqual` and Chai's `deep.equal`
 * look at nothing else of objects without properties, so the text has to differ when the tensors do.
 */

import type { Descriptor } from '../storage/descriptor.js';
import type { ElementValue } from './element.js';
import { ElementIterator } from './iterate.js';

/** Reading more elements would take more than a millisecond, and some tools ask for the text of every object. */
const MOST = 10_000;

let unread = 0;

/** Equal for tensors that `equals` calls equal, and never the same twice where the elements are not read. Never throws. */
export function tagOf(open: () => Descriptor): string {
  let head = 'Tensor';
  try {
    const descriptor = open();
    head += ` ${descriptor.dtype.name} [${descriptor.shape.join(', ')}]`;
    const isRead = descriptor.size <= MOST && descriptor.device.isHostAccessible;
    return `${head} ${isRead ? digest(descriptor) : `#${++unread}`}`;
  } catch {
    return head; // disposed, a proxy, or a prototype; or memory that its owner took away
  }
}

function digest(descriptor: Descriptor): string {
  const number = new Float64Array(1);
  const words = new Uint32Array(number.buffer);
  let [low, high] = [0x811c9dc5, 0x1b873593];
  const mixNumber = (value: number): void => {
    number[0] = value === 0 ? 0 : value; // not negative zero
    for (const word of words) {
      low = Math.imul(low ^ word, 0x01000193);
      low ^= low >>> 15;
      high = Math.imul(high ^ word ^ low, 0x85ebca6b);
      high ^= high >>> 13;
    }
  };
  const mix = (value: ElementValue): void => {
    if (typeof value === 'bigint') {
      for (const shift of [0n, 32n, 64n, 96n]) mixNumber(Number(BigInt.asUintN(32, value >> shift)));
    } else if (typeof value !== 'object') {
      mixNumber(Number(value));
    } else {
      for (const part of Object.values(value) as ElementValue[]) mix(part);
    }
  };
  const elements = new ElementIterator(descriptor, (same) => same);
  for (let i = 0; i < descriptor.size; i++) mix(elements.next().value as ElementValue);
  return [low, high].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}
