/** The core under random operations, with NumPy as another owner of the same memory, and Python code that calls back. */

import { fromDLPack, isDLPackError } from 'dlpack';
import { callAsync, kwargs, type PyObject, PythonError, python } from 'dlpack/python';
import { type CoreFuzzer, fuzzerWith, Mismatch, type MoreOperations, type Operation } from './core.js';
import { type Block, type Model, modelOf, readModel, repeats, sizeOf, writeModel } from './model.js';
import { randomValue, sameValue } from './values.js';

const code = `
import numpy as np
def through(array, back):
    class Producer:
        def __dlpack_device__(self):
            back()
            return array.__dlpack_device__()
        def __dlpack__(self, **keywords):
            back()
            return array.__dlpack__(**keywords)
    return Producer()
def call(back, *args, **keywords):
    back(*args)
    return [list(args), keywords]
def fail(back):
    back()
    raise KeyError('asked for')
class Getter:
    def __init__(self, back): self.back = back
    @property
    def value(self):
        self.back()
        return 7
`;

interface Functions {
  through(array: PyObject, back: () => void): PyObject;
  call(...args: unknown[]): PyObject;
  fail(back: () => void): unknown;
  Getter(back: () => void): PyObject;
}

/** A Python array over a block, which stays alive without a JavaScript tensor. */
interface Held {
  readonly array: PyObject;
  readonly model: Model;
}

function operations(): MoreOperations {
  const py = python();
  const space = py.eval('{}');
  py.import('builtins').exec(code, space);
  const names = Object.fromEntries(
    ['through', 'call', 'fail', 'Getter'].map((name) => [name, py.getItem(space, name)]),
  ) as unknown as Functions;
  const np = py.import('numpy');
  const held: Held[] = [];

  /** The block for a new owner, which keeps the memory even after JavaScript disposed its last tensor. */
  const sharedBlock = (block: Block): Block => ({ ...block, owners: 0, isDetached: false, isExported: true, kept: [] });

  const check = ({ array, model }: Held): void => {
    const got = [...(array.ravel().tolist() as unknown as Iterable<number>)].map(Number);
    const wanted = readModel(model);
    if (String(got) !== String(wanted)) throw new Mismatch(`NumPy has [${got}] instead of [${wanted}]`);
  };

  const toNumPy: Operation = function toNumPy(self: CoreFuzzer) {
    const { tensor, model } = self.pick();
    if (model.block.isWrapped || model.block.owner !== 'package' || held.length > 16) return;
    model.block.isExported = true;
    const array = self.attempt(true, () => np.from_dlpack(tensor));
    if (array === null) return;
    const entry = { array, model: { ...model, block: sharedBlock(model.block) } };
    check(entry);
    held.push(entry);
  };

  const fromNumPy: Operation = function fromNumPy(self: CoreFuzzer) {
    const entry = held[self.random.integer(0, Math.max(held.length - 1, 0))];
    if (entry === undefined) return;
    const source = self.random.chance(0.5) ? entry.array : names.through(entry.array, () => self.reenter());
    const tensor = self.attempt(false, () => fromDLPack(source));
    if (tensor === null) return;
    // Another owner of the block that JavaScript tensors may share, too.
    const live = self.live.find(({ model }) => model.block.values === entry.model.block.values);
    if (live !== undefined) tensor.dispose();
    else self.add(tensor, { ...entry.model, block: sharedBlock(entry.model.block) });
  };

  const makeInPython: Operation = function makeInPython(self: CoreFuzzer) {
    const shape = self.shape();
    const values = self.values(sizeOf(shape));
    const array = np.array(values, kwargs({ dtype: 'int32' })).reshape(py.tuple(...shape));
    self.add(fromDLPack(array), modelOf(values, 'int32', shape));
  };

  const writeInPython: Operation = function writeInPython(self: CoreFuzzer) {
    const entry = held[self.random.integer(0, Math.max(held.length - 1, 0))];
    if (entry === undefined || repeats(entry.model)) return;
    const value = self.random.integer(0, 100);
    entry.array.fill(value);
    writeModel(entry.model, new Array<number>(sizeOf(entry.model.shape)).fill(value));
  };

  const checkHeld: Operation = function checkHeld(self: CoreFuzzer) {
    const at = self.random.integer(0, Math.max(held.length - 1, 0));
    const entry = held[at];
    if (entry === undefined) return;
    check(entry);
    if (self.random.chance(0.5)) {
      held.splice(at, 1);
      if (self.random.chance(0.5)) entry.array[Symbol.dispose]();
    }
  };

  const callBack: Operation = function callBack(self: CoreFuzzer) {
    const value = randomValue(self.random, 3);
    const { tensor, model } = self.pick();
    if (model.block.isWrapped || model.block.owner !== 'package') return;
    model.block.isExported = true;
    const back = (): void => self.reenter();
    const result = self.attempt(true, () => names.call(back, value, tensor, kwargs({ key: value })));
    if (result === null) return;
    const echoed = py.getItem(py.getItem(result, 0), 0) as unknown;
    if (!sameValue(py, value, echoed)) throw new Mismatch(`${JSON.stringify(value)} came back as ${String(echoed)}`);
  };

  const getAttribute: Operation = function getAttribute(self: CoreFuzzer) {
    const getter = names.Getter(() => self.reenter());
    if ((getter.value as unknown) !== 7) throw new Mismatch('an attribute has another value');
  };

  const raise: Operation = function raise(self: CoreFuzzer) {
    try {
      names.fail(() => self.reenter());
    } catch (error) {
      if (error instanceof PythonError && error.type === 'KeyError') return;
      throw error;
    }
    throw new Mismatch('nothing was raised');
  };

  const throwInside: Operation = function throwInside(self: CoreFuzzer) {
    const thrown = new RangeError('mine');
    try {
      names.call(() => {
        self.reenter();
        throw thrown;
      });
    } catch (error) {
      if (isDLPackError(error) && error.cause === thrown) return;
      throw error;
    }
    throw new Mismatch('nothing was thrown');
  };

  const startCall: Operation = function startCall(self: CoreFuzzer) {
    const { tensor, model } = self.pick();
    if (model.block.isWrapped || model.block.owner !== 'package') return;
    model.block.isExported = true;
    // Settles in a later tick, when the tensor may be disposed.
    const started = self.attempt(true, () => callAsync(np.sum, tensor));
    started?.catch(() => {});
  };

  const all = [toNumPy, toNumPy, fromNumPy, fromNumPy, makeInPython, writeInPython, checkHeld, callBack, getAttribute];
  return {
    operations: [...all, raise, throwInside, startCall],
    finish() {
      for (const entry of held) check(entry);
      held.length = 0;
    },
  };
}

export const fuzzPython = fuzzerWith(operations);
