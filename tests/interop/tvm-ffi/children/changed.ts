/**
 * Reads a list or a dict that begins with errors. The constructor of their registered class empties the container, and
 * other objects take the freed memory.
 */

import { Dict, List, registerError } from 'dlpack/tvm-ffi';
import { collectUntil } from '../../../harness.js';
import { caught, testing } from '../peer.js';

const COUNT = 100;
/** Several, because some collectors keep the last objects for long. */
const ERRORS = 10;
const read = process.argv[2] as 'toArray' | 'toMap' | 'keys';
const taken: unknown[] = [];
let onError = () => {};
class ChangeError extends Error {
  constructor(message: string) {
    super(message);
    onError();
  }
}
registerError('ChangeError', ChangeError);
const raiseError = testing('test_raise_error');
const part = (i: number) => new List([`a string that is longer than a word ${i}`]);

function fill(): { container: List | Dict; errors: WeakRef<object>[] } {
  const errors = Array.from({ length: ERRORS }, () => caught(() => raiseError('ChangeError', 'as asked')) as object);
  const list = new List<unknown>(read === 'toArray' ? errors : []);
  const dict = new Dict<unknown, unknown>(errors.map((error, i) => (read === 'toMap' ? [-1 - i, error] : [error, i])));
  for (let i = 0; i < COUNT; i++) {
    if (read === 'toArray') list.push(part(i));
    else if (read === 'toMap') dict.set(i, part(i));
    else dict.set(part(i), i);
  }
  return { container: read === 'toArray' ? list : dict, errors: errors.map((error) => new WeakRef(error)) };
}

const { container, errors } = fill();
// Errors that JavaScript already knows are returned as the same objects.
const isForgotten = await collectUntil(() => errors.some((error) => error.deref() === undefined));
let changes = 0;
onError = () => {
  if (changes++ > 0) return;
  container.clear();
  for (let i = 0; i < 10 * COUNT; i++) taken.push(new List(['another string that is longer than a word']));
};
const values = (
  container instanceof List
    ? container.toArray()
    : read === 'toMap'
      ? [...container.toMap().values()]
      : [...container.keys()]
) as List[];
const parts = values.slice(ERRORS).map((value) => String(value.at(0)));
const isRight = parts.every((text, i) => text === `a string that is longer than a word ${i}`);
console.log(isForgotten, changes > 0, values.length, isRight ? 'right' : 'wrong');
