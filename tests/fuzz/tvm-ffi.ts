/** The core under random operations, with kernels that keep tensors and call back. */

import { fileURLToPath } from 'node:url';
import { isDLPackError, Tensor, type TensorView } from 'dlpack';
import { loadModule, Shape, TVMFFIError } from 'dlpack/tvm-ffi';
import { type CoreFuzzer, flatten, fuzzerWith, Mismatch, type MoreOperations, type Operation } from './core.js';
import { liveOperations } from './live.js';
import { modelOf, readModel, sizeOf } from './model.js';
import { randomValue, sameValue } from './values.js';

const library = (name: string): Record<string, (...args: unknown[]) => unknown> =>
  loadModule(fileURLToPath(new URL(`../../kernels/${name}.so`, import.meta.url))) as never;

function operations(): MoreOperations {
  const { keep, kept, forget, call_then_return, with_view, make_tensor, allocate, call_with_many } = library(
    'probe',
  ) as Record<string, (...args: unknown[]) => unknown> &
    Record<'keep' | 'kept' | 'forget', (...a: unknown[]) => unknown>;
  const { fail } = library('kernels') as { fail(message: string): void };
  const call = (f: ((...args: unknown[]) => unknown) | undefined, ...args: unknown[]): unknown =>
    (f as (...args: unknown[]) => unknown)(...args);

  const returned: Operation = function returned(self: CoreFuzzer) {
    const { tensor, model } = self.pick();
    if (model.block.isWrapped || model.block.owner !== 'package') return;
    model.block.isExported = true;
    self.during(model, () => {
      const result = self.attempt(true, () => call(call_then_return, () => self.reenter(), tensor)) as Tensor | null;
      if (result === null) return;
      if (tensor.isDisposed || model.block.isDetached) result.dispose();
      else self.add(result, model);
    });
  };

  const throughContainer: Operation = function throughContainer(self: CoreFuzzer) {
    const { tensor, model } = self.pick();
    const value = randomValue(self.random, 3);
    if (model.block.isWrapped || model.block.owner !== 'package') return;
    model.block.isExported = true;
    const done = self.attempt(true, () => call(keep, [tensor, value, new Map([['key', value]])]) === undefined);
    if (done === null) return;
    const [back, echoed, map] = call(kept) as [Tensor, unknown, Map<string, unknown>];
    call(forget);
    if (!sameValue(null, value, echoed) || !sameValue(null, value, map.get('key'))) {
      throw new Mismatch(`${JSON.stringify(value)} came back as ${String(echoed)}`);
    }
    self.add(back, model);
  };

  const viewed: Operation = function viewed(self: CoreFuzzer) {
    const { tensor, model } = self.pick();
    if (model.block.isDetached) return;
    const wanted = readModel(model);
    const read = (view: TensorView): number => {
      const got = flatten(view.toArray()).map(Number);
      if (String(got) !== String(wanted)) throw new Mismatch(`a view has [${got}] instead of [${wanted}]`);
      self.reenter();
      return got.length;
    };
    try {
      const length = self.during(model, () => self.attempt(true, () => call(with_view, read, tensor)));
      if (length !== null && length !== wanted.length) throw new Mismatch('a result has another value');
    } catch (error) {
      if (isDLPackError(error) && error.cause instanceof Mismatch) throw error.cause;
      throw error;
    }
  };

  const madeThere: Operation = function madeThere(self: CoreFuzzer) {
    const length = self.random.integer(0, 50);
    const tensor = call(make_tensor, length) as Tensor;
    self.add(
      tensor,
      modelOf(
        Array.from({ length }, (_, i) => i),
        'float32',
        [length],
      ),
    );
  };

  const allocatedThere: Operation = function allocatedThere(self: CoreFuzzer) {
    const shape = self.shape();
    const tensor = call(allocate, new Shape(shape), 'float64') as Tensor;
    if (sizeOf(shape) > 0) tensor.fill(0 as never);
    self.add(tensor, modelOf(new Array<number>(sizeOf(shape)).fill(0), 'float64', shape));
  };

  const manyArguments: Operation = function manyArguments(self: CoreFuzzer) {
    const count = self.random.integer(0, 300);
    const length = call(
      call_with_many,
      (...args: unknown[]) => {
        self.reenter();
        return args.length;
      },
      count,
    );
    if (length !== count) throw new Mismatch(`${String(length)} arguments instead of ${count}`);
  };

  const raise: Operation = function raise() {
    try {
      fail('asked for');
    } catch (error) {
      if (error instanceof TVMFFIError && error.kind === 'ValueError') return;
      throw error;
    }
    throw new Mismatch('nothing was raised');
  };

  const throwInside: Operation = function throwInside(self: CoreFuzzer) {
    const thrown = new RangeError('mine');
    using x = Tensor.zeros([1], 'float32');
    try {
      call(
        with_view,
        () => {
          self.reenter();
          throw thrown;
        },
        x,
      );
    } catch (error) {
      if (error === thrown || (error as Error).cause === thrown) return;
      throw error;
    }
    throw new Mismatch('nothing was thrown');
  };

  const all = [returned, returned, throughContainer, throughContainer, viewed, madeThere, allocatedThere];
  const live = liveOperations((value) => {
    call(keep, [value]);
    const [back] = call(kept) as unknown[];
    call(forget);
    return back;
  });
  return { operations: [...all, ...live, manyArguments, raise, throwInside], finish: () => void call(forget) };
}

export const fuzzTvmFfi = fuzzerWith(operations);
