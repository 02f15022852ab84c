/** Values that are nested deep, contain themselves, or are linked to long chains. Each run has its own process. */

import { equal } from '../../assert.js';
import { resultOf, runChild } from '../../child.js';
import { testWith } from '../../harness.js';
import { ffiMissing } from './peer.js';

type Outcomes = Record<string, Record<string, string>>;

/** These end in a ValueError, unless `but` says otherwise. */
function refused(type: string, but: Record<string, string> = {}): Record<string, string> {
  return {
    'arrays, 200 deep': type,
    'lists, 200 deep': type,
    'shared lists, 12 deep': type,
    'a shared list, once too deep': 'ValueError',
    'a shared list, later too deep': 'ValueError',
    'arrays, 9,999 deep': 'ValueError',
    'lists, 30,000 deep': 'ValueError',
    'dicts, 30,000 deep': 'ValueError',
    'keys, 30,000 deep': 'ValueError',
    'views, 300 deep': 'ValueError',
    'an array around deep lists': 'ValueError',
    'a list that contains itself': 'ValueError',
    'a dict that contains itself': 'ValueError',
    'a ring of a list, a map, an array and a dict': 'ValueError',
    'a taken-over list': 'ValueError',
    'an object that stands for a deep list': 'ValueError',
    ...but,
  };
}

for (const where of ['main', 'worker']) {
  testWith(ffiMissing, `functions that follow nested values refuse what is too deep or cyclic: ${where}`, () => {
    const results = resultOf<Outcomes>(runChild(import.meta.url, 'children/nesting.js', { args: [where] }).output);
    equal(results, {
      structuralEqual: refused('true'),
      structuralHash: refused('bigint'),
      toJSONGraph: refused('string'),
      metadata: refused('string'),
      deepCopy: refused('object', {
        'a list that contains itself': 'object',
        'a dict that contains itself': 'object',
        'a ring of a list, a map, an array and a dict': 'object',
      }),
      fromJSONGraph: {
        'an array in itself': 'ValueError',
        'a list in itself': 'ValueError',
        'a map in itself': 'ValueError',
        'a dict in itself': 'ValueError',
        'an object in itself': 'ValueError',
        'false as the index 0': 'ValueError',
        'a ring': 'ValueError',
        'true as the root': 'ValueError',
        'arrays, 200 deep': 'object',
        'objects, 200 deep': 'object',
        'arrays, 5,000 deep': 'ValueError',
        'objects, 5,000 deep': 'ValueError',
        'brackets, 100,000 deep': 'ValueError',
        'objects of JSON, 100,000 deep': 'ValueError',
        'brackets in a string': 'string',
        'not a number': 'number',
      },
    });
  });

  testWith(ffiMissing, `long chains of containers are released: ${where}`, () => {
    const released = resultOf<string[]>(runChild(import.meta.url, 'children/linked.js', { args: [where] }).output);
    equal(released.length, 5);
  });
}
