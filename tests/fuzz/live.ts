/** Lists, dicts and JavaScript objects in native code under random changes, beside an array and a map that have the same ones. */

import { threadId } from 'node:worker_threads';
import { Dict, getGlobalFunc, List, registerObject } from 'dlpack/tvm-ffi';
import { type CoreFuzzer, Mismatch, type Operation } from './core.js';
import { randomValue, sameValue, type Value } from './values.js';

/** An object whose field runs further operations when native code reads it. */
class Item {
  readonly count: number;
  readonly #fuzzer: CoreFuzzer;

  constructor(fuzzer: CoreFuzzer) {
    this.#fuzzer = fuzzer;
    this.count = fuzzer.random.integer(0, 1000);
  }

  get value(): number {
    this.#fuzzer.reenter();
    return this.count;
  }
}

type Element = Value | Item;
type Call = (...args: unknown[]) => unknown;

/** Types stay registered until the process ends. */
let isRegistered = false;

/** The most elements, so that a run does not spend its time on copies. */
const MOST = 100;

function expectSame(wanted: Element | undefined, got: unknown, what: string): void {
  const isSame = wanted instanceof Item ? got === wanted : sameValue(null, wanted ?? null, got);
  if (!isSame) throw new Mismatch(`${what} has ${String(got)} instead of ${String(wanted)}`);
}

function expectAll(wanted: readonly Element[], got: readonly unknown[], what: string): void {
  if (got.length !== wanted.length) throw new Mismatch(`${what} has ${got.length} elements, not ${wanted.length}`);
  for (const [i, value] of wanted.entries()) expectSame(value, got[i], what);
}

/** `pass` gives a value to native code and returns the value that comes back. */
export function liveOperations(pass: (value: unknown) => unknown): Operation[] {
  const key = `dlpack.fuzz.Item${threadId}`;
  const list = new List<unknown>();
  const array: Element[] = [];
  const dict = new Dict<unknown, unknown>();
  const map = new Map<string | number, Element>();
  const repr = getGlobalFunc('ffi.ReprPrint') as Call;
  if (!isRegistered) registerObject(key, Item, { fields: ['value'] });
  isRegistered = true;

  const element = (self: CoreFuzzer): Element =>
    self.random.chance(0.2) ? new Item(self) : randomValue(self.random, 2);
  const elements = (self: CoreFuzzer): Element[] =>
    Array.from({ length: self.random.integer(0, self.random.chance(0.1) ? 90 : 3) }, () => element(self));

  const changes: ((self: CoreFuzzer, at: number) => void)[] = [
    (self) => {
      const items = elements(self);
      if (list.push(...items) !== array.push(...items)) throw new Mismatch('push returned another length');
    },
    () => expectSame(array.pop(), list.pop(), 'pop'),
    (self, at) => {
      const value = element(self);
      list.insert(at, value);
      array.splice(at, 0, value);
    },
    (self, at) => {
      if (at === array.length) return;
      const value = element(self);
      list.set(at, value);
      array[at] = value;
    },
    (self, at) => {
      const [count, items] = [self.random.integer(0, 5), elements(self)];
      expectAll(array.splice(at, count, ...items), list.splice(at, count, ...items), 'splice');
    },
    () => {
      list.reverse();
      array.reverse();
    },
  ];

  const changeList: Operation = function changeList(self: CoreFuzzer) {
    self.random.pick(changes)(self, self.random.integer(0, array.length));
    if (array.length > MOST) {
      list.clear();
      array.length = 0;
    }
    if (list.length !== array.length) throw new Mismatch(`a list has ${list.length} elements, not ${array.length}`);
  };

  const readList: Operation = function readList(self: CoreFuzzer) {
    expectAll(array, list.toArray(), 'a list');
    const at = self.random.integer(-array.length - 1, array.length);
    expectSame(array.at(at), list.at(at), 'at');
    // An array is iterated by index, too, so both see the changes of operations in between.
    const wanted = array[Symbol.iterator]();
    for (const value of list) {
      const { value: next, done } = wanted.next();
      if (done) throw new Mismatch('a list has more elements');
      expectSame(next, value, 'an iterator');
      if (self.random.chance(0.05)) self.reenter();
    }
    if (!wanted.next().done) throw new Mismatch('a list has fewer elements');
  };

  const changeDict: Operation = function changeDict(self: CoreFuzzer) {
    const name = self.random.chance(0.5) ? self.random.integer(0, 20) : `key ${self.random.integer(0, 20)} of a dict`;
    if (self.random.chance(0.3)) {
      if (dict.delete(name) !== map.delete(name)) throw new Mismatch('delete returned another answer');
    } else {
      const value = element(self);
      dict.set(name, value);
      map.set(name, value);
    }
    if (dict.size !== map.size || dict.has(name) !== map.has(name)) throw new Mismatch('a dict has another size');
  };

  const readDict: Operation = function readDict(self: CoreFuzzer) {
    const copy = dict.toMap();
    for (const [name, value] of map) expectSame(value, copy.get(name), 'a copy of a dict');
    for (const name of dict.keys()) {
      expectSame(map.get(name as string), dict.get(name), 'a dict');
      if (self.random.chance(0.1)) self.reenter();
    }
  };

  const passOn: Operation = function passOn(self: CoreFuzzer) {
    const value = self.random.pick([list, dict, new Item(self)]);
    if (pass(value) !== value) throw new Mismatch('another object came back');
    const item = new Item(self);
    const text = repr(item);
    if (text !== `${key}(value=${item.count})`) throw new Mismatch(`an object prints ${String(text)}`);
  };

  return [changeList, changeList, changeList, readList, changeDict, changeDict, readDict, passOn];
}
