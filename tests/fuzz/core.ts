/** The core under random operations, against plain arrays. Getters and producers run further operations in the middle. */

import { DLPACK, DLPACK_DEVICE, type DType, fromDLPack, isDLPackError, Tensor } from 'dlpack';
import { exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import { fromNDAlloc } from 'dlpack/tvm-ffi';
import { type Model, modelOf, readModel, repeats, rowMajor, sizeOf, writeModel } from './model.js';
import { Random } from './random.js';

const arrays = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
} as const;
type Name = keyof typeof arrays;
const dtypes = Object.keys(arrays) as Name[];

const toScalar = (value: number, dtype: string): number | bigint => (dtype.endsWith('int64') ? BigInt(value) : value);

function makeArray(dtype: Name, values: readonly number[]): Float32Array<ArrayBuffer> {
  const make = arrays[dtype] as unknown as Float32ArrayConstructor;
  return make.from(values.map((value) => toScalar(value, dtype) as number));
}

interface Entry {
  readonly tensor: Tensor;
  readonly model: Model;
  /** A wrapped `.data`: it ends with the tensor that it was taken from. */
  readonly isBorrowed: boolean;
}

/** What the fuzzer found. */
export class Mismatch extends Error {}

export class CoreFuzzer {
  readonly random: Random;
  readonly live: Entry[] = [];
  readonly log: (line: string) => void;
  readonly #more: readonly Operation[];
  #depth = 0;

  /** `more`: operations with another owner of tensors, which are as frequent as all those of the core. */
  constructor(seed: number, log: (line: string) => void, more: readonly Operation[] = []) {
    this.random = new Random(seed);
    this.log = log;
    this.#more = more;
  }

  /** One operation, and a check of a tensor that it may have changed. */
  step(): void {
    this.operate();
    if (this.live.length > 24) this.dispose();
    if (this.live.length > 0) this.check(this.random.pick(this.live));
  }

  /** Ends it: every tensor is compared and disposed. */
  finish(): void {
    for (const entry of this.live) this.check(entry);
    while (this.live.length > 0) this.dispose();
  }

  private operate(): void {
    const isMore = this.live.length >= 2 && this.#more.length > 0 && this.random.chance(0.5);
    const operations = this.live.length < 2 ? makers : isMore ? this.#more : [...makers, ...users];
    const operation = this.random.pick(operations);
    this.log(`${'  '.repeat(this.#depth)}${operation.name}`);
    operation(this);
  }

  /** Runs further operations where the package calls user code. */
  reenter(): void {
    if (this.#depth >= 2 || !this.random.chance(0.4)) return;
    this.#depth++;
    try {
      for (let i = this.random.integer(1, 3); i > 0; i--) this.operate();
    } finally {
      this.#depth--;
    }
  }

  get isNested(): boolean {
    return this.#depth > 0;
  }

  /** The operation may fail only with an error of the package, and only where memory was detached. */
  attempt<T>(mayFail: boolean, run: () => T): T | null {
    try {
      return run();
    } catch (error) {
      if (mayFail && isDLPackError(error)) return null;
      throw error;
    }
  }

  add(tensor: Tensor, model: Model, isBorrowed = false): void {
    if (!isBorrowed) model.block.owners++;
    this.live.push({ tensor, model, isBorrowed });
  }

  pick(): Entry {
    return this.random.pick(this.live);
  }

  values(count: number): number[] {
    return Array.from({ length: count }, () => this.random.integer(0, 100));
  }

  shape(): number[] {
    if (this.random.chance(0.05)) return [this.random.integer(1000, 3000)]; // beyond one block of a copy
    return Array.from({ length: this.random.integer(0, 4) }, () => this.random.pick([0, 1, 2, 3, 4, 5]));
  }

  dispose(at = this.random.integer(0, this.live.length - 1)): void {
    const [entry] = this.live.splice(at, 1);
    if (entry === undefined) return;
    const { tensor, model } = entry;
    tensor.dispose();
    tensor.dispose();
    if (!entry.isBorrowed) model.block.owners--;
    if (!tensor.isDisposed) throw new Mismatch('a disposed tensor says that it is not');
    this.settle(model.block);
  }

  /** A call that uses a tensor and may run other operations. It may hold its arguments until it ends. */
  during<T>({ block }: Model, call: () => T): T {
    block.owners++;
    try {
      return call();
    } finally {
      block.owners--;
      this.settle(block);
    }
  }

  /** Without owners, no typed array shows the memory any more. */
  private settle(block: Model['block']): void {
    if (block.owners > 0 || block.owner !== 'package') return;
    block.isDetached = true;
    for (const array of block.kept) {
      if (array.length !== 0) throw new Mismatch(`a typed array of disposed memory has ${array.length} elements`);
    }
  }

  check({ tensor, model }: Entry): void {
    if (model.block.isDetached && sizeOf(model.shape) > 0) {
      try {
        tensor.toArray();
      } catch (error) {
        if (isDLPackError(error)) return;
        throw error;
      }
      throw new Mismatch('memory that was taken away can be read');
    }
    const got = flatten(tensor.toArray()).map(Number);
    const wanted = model.block.isDetached ? [] : readModel(model);
    if (got.length !== wanted.length || got.some((value, i) => value !== wanted[i])) {
      throw new Mismatch(`${tensor.dtype} [${tensor.shape}] has [${got}] instead of [${wanted}]`);
    }
    if (String(tensor.shape) !== String(model.shape))
      throw new Mismatch(`shape [${tensor.shape}], not [${model.shape}]`);
  }
}

export function flatten(value: unknown): unknown[] {
  return Array.isArray(value) ? value.flat(Number.POSITIVE_INFINITY) : [value];
}

export type Operation = (self: CoreFuzzer) => void;

function fromArray(self: CoreFuzzer): void {
  const dtype = self.random.pick(dtypes);
  const shape = self.shape();
  const values = self.values(sizeOf(shape));
  const array = makeArray(dtype, values);
  self.add(Tensor.from(array, { shape, dtype } as { shape: number[] }), modelOf(values, dtype, shape));
}

function wrapArray(self: CoreFuzzer): void {
  const dtype = self.random.pick(dtypes);
  const shape = self.shape();
  const values = self.values(sizeOf(shape));
  const array = makeArray(dtype, values);
  const options = {
    get shape() {
      self.reenter();
      return shape;
    },
  };
  self.add(Tensor.wrap(array, options), modelOf(values, dtype, shape, array));
}

function adoptArray(self: CoreFuzzer): void {
  const dtype = self.random.pick(dtypes);
  const shape = self.shape();
  const values = self.values(sizeOf(shape));
  const array = makeArray(dtype, values);
  self.add(Tensor.adopt(array, { shape }), modelOf(values, dtype, shape));
}

function zeros(self: CoreFuzzer): void {
  const dtype = self.random.pick(dtypes);
  const shape = self.shape();
  self.add(Tensor.zeros(shape, dtype), modelOf(new Array<number>(sizeOf(shape)).fill(0), dtype, shape));
}

function allocated(self: CoreFuzzer): void {
  const dtype = self.random.pick(dtypes);
  const shape = self.shape();
  const values = self.values(sizeOf(shape));
  const tensor = fromNDAlloc(
    {
      allocData({ nbytes }) {
        self.reenter();
        return new ArrayBuffer(nbytes);
      },
      freeData() {
        self.reenter();
      },
    },
    shape,
    dtype as DType,
    'cpu',
  );
  const model = modelOf(new Array<number>(sizeOf(shape)).fill(0), dtype, shape, 'allocator');
  self.add(tensor, model);
  if (sizeOf(shape) === 0) return;
  tensor.copyFrom(Tensor.wrap(Float64Array.from(values), { shape }));
  writeModel(model, values);
}

function share(self: CoreFuzzer): void {
  const { tensor, model, isBorrowed } = self.pick();
  const producer = {
    [DLPACK](request: object) {
      self.reenter();
      return tensor[DLPACK](request);
    },
    [DLPACK_DEVICE]: () => tensor[DLPACK_DEVICE](),
  };
  const isForeign = !model.block.isWrapped && self.random.chance(0.5);
  if (isForeign) model.block.isExported = true;
  const shared = self.attempt(true, () => fromDLPack(isForeign ? producer : tensor));
  if (shared === null) return;
  if (tensor.isDisposed) shared.dispose();
  else self.add(shared, model, isBorrowed);
}

function shareCopy(self: CoreFuzzer): void {
  const { tensor, model } = self.pick();
  const copy = self.attempt(model.block.isDetached, () => fromDLPack(tensor, { copy: true }));
  if (copy === null) return;
  self.add(copy, modelOf(model.block.isDetached ? [] : readModel(model), model.dtype, model.shape));
}

function throughC(self: CoreFuzzer): void {
  const { tensor, model } = self.pick();
  if (model.block.isWrapped) return;
  model.block.isExported = true;
  const options = {
    get versioned() {
      self.reenter();
      return true;
    },
  };
  const address = self.attempt(true, () => exportManaged(tensor, options));
  if (address === null) return;
  if (self.random.chance(0.2)) {
    releaseManaged(address);
    return;
  }
  const imported = importManaged(address, options);
  // Wrapped memory is copied for native code.
  const isCopy = model.block.owner !== 'package';
  if (tensor.isDisposed || model.block.isDetached || isCopy) imported.dispose();
  else self.add(imported, { ...model, block: model.block });
}

function transpose(self: CoreFuzzer): void {
  const { tensor, model, isBorrowed } = self.pick();
  const axes = self.random.shuffled(model.shape.map((_, i) => i));
  const view = self.attempt(model.block.isDetached, () => tensor.transpose(axes));
  if (view === null) return;
  self.add(
    view,
    {
      ...model,
      shape: axes.map((axis) => model.shape[axis] as number),
      strides: axes.map((axis) => model.strides[axis] as number),
    },
    isBorrowed,
  );
}

function slice(self: CoreFuzzer): void {
  const { tensor, model, isBorrowed } = self.pick();
  if (model.shape.length === 0) return;
  const axis = self.random.integer(0, model.shape.length - 1);
  const length = model.shape[axis] as number;
  const start = self.random.integer(0, length);
  const stop = self.random.integer(start, length);
  const step = self.random.integer(1, 3);
  const ranges = model.shape.map((_, i) => (i === axis ? ([start, stop, step] as const) : null));
  const view = self.attempt(model.block.isDetached, () => tensor.slice(...(ranges as never[])));
  if (view === null) return;
  const stride = model.strides[axis] as number;
  self.add(
    view,
    {
      ...model,
      shape: model.shape.map((old, i) => (i === axis ? Math.ceil((stop - start) / step) : old)),
      strides: model.strides.map((old, i) => (i === axis ? stride * step : old)),
      offset: model.offset + start * stride,
    },
    isBorrowed,
  );
}

function flip(self: CoreFuzzer): void {
  const { tensor, model, isBorrowed } = self.pick();
  const view = self.attempt(model.block.isDetached, () => tensor.flip());
  if (view === null) return;
  const moved = model.shape.reduce((sum, length, i) => sum + Math.max(length - 1, 0) * (model.strides[i] as number), 0);
  self.add(
    view,
    { ...model, strides: model.strides.map((stride) => -stride), offset: model.offset + moved },
    isBorrowed,
  );
}

function broadcast(self: CoreFuzzer): void {
  const { tensor, model, isBorrowed } = self.pick();
  if (model.shape.length > 4) return;
  const length = self.random.integer(1, 3);
  const shape = [length, ...model.shape];
  const view = self.attempt(model.block.isDetached, () => tensor.broadcastTo(shape));
  if (view === null) return;
  self.add(view, { ...model, shape, strides: [0, ...model.strides] }, isBorrowed);
}

function setElement(self: CoreFuzzer): void {
  const { tensor, model } = self.pick();
  if (sizeOf(model.shape) === 0) return;
  const index = model.shape.map((length) => self.random.integer(0, length - 1));
  const value = self.random.integer(0, 100);
  const done = self.attempt(model.block.isDetached, () => {
    (tensor.set as (...all: unknown[]) => void)(...index, toScalar(value, model.dtype));
    return true;
  });
  if (done === null) return;
  const place = index.reduce((sum, i, axis) => sum + i * (model.strides[axis] as number), model.offset);
  model.block.values[place] = value;
}

function fill(self: CoreFuzzer): void {
  const { tensor, model } = self.pick();
  if (repeats(model)) return;
  const value = self.random.integer(0, 100);
  const done = self.attempt(model.block.isDetached, () => tensor.fill(toScalar(value, model.dtype) as never));
  if (done === null || model.block.isDetached) return;
  writeModel(model, new Array<number>(sizeOf(model.shape)).fill(value));
}

function copyFrom(self: CoreFuzzer): void {
  const target = self.pick();
  const same = self.live.filter(({ model }) => String(model.shape) === String(target.model.shape));
  // Often over the same memory, where source and target may overlap.
  const over = same.filter(({ model }) => model.block === target.model.block && model.dtype === target.model.dtype);
  const source = self.random.pick(self.random.chance(0.5) ? over : same);
  if (repeats(target.model)) return;
  const isDetached = target.model.block.isDetached || source.model.block.isDetached;
  const done = self.attempt(isDetached, () => target.tensor.copyFrom(source.tensor));
  if (done === null || isDetached) return;
  writeModel(target.model, readModel(source.model));
}

function astype(self: CoreFuzzer): void {
  const { tensor, model } = self.pick();
  const dtype = self.random.pick(dtypes);
  const cast = self.attempt(model.block.isDetached, () => tensor.astype(dtype));
  if (cast === null) return;
  self.add(cast, modelOf(model.block.isDetached ? [] : readModel(model), dtype, model.shape));
}

function reshape(self: CoreFuzzer): void {
  const { tensor, model, isBorrowed } = self.pick();
  const flat = self.attempt(true, () => tensor.contiguous());
  if (flat === null) return;
  const isShared = tensor.isContiguous;
  const shape = [sizeOf(model.shape)];
  const view = flat.reshape(shape);
  flat.dispose();
  if (isShared) self.add(view, { ...model, shape, strides: rowMajor(shape) }, isBorrowed);
  else self.add(view, modelOf(model.block.isDetached ? [] : readModel(model), model.dtype, shape));
}

function keepData(self: CoreFuzzer): void {
  const { tensor, model } = self.pick();
  if (model.block.owner !== 'package' || sizeOf(model.shape) === 0) return;
  const data = self.attempt(true, () => tensor.data);
  if (data !== null && model.block.kept.length < 8) model.block.kept.push(data as ArrayLike<unknown>);
}

function wrapData(self: CoreFuzzer): void {
  const { tensor, model, isBorrowed } = self.pick();
  const { block } = model;
  if (isBorrowed || block.isExported || block.owner !== 'package' || block.isDetached || !tensor.isContiguous) return;
  if (sizeOf(model.shape) === 0) return;
  block.isWrapped = true;
  self.add(
    Tensor.wrap(tensor.data as Float32Array, { shape: model.shape }),
    { ...model, strides: rowMajor(model.shape) },
    true,
  );
}

function writeArray(self: CoreFuzzer): void {
  const { model } = self.pick();
  const { owner: array, isDetached, values } = model.block;
  if (typeof array === 'string' || isDetached || values.length === 0) return;
  const place = self.random.integer(0, values.length - 1);
  const value = self.random.integer(0, 100);
  array[place] = toScalar(value, model.dtype) as number;
  values[place] = value;
}

function detach(self: CoreFuzzer): void {
  const { block } = self.pick().model;
  if (typeof block.owner === 'string' || block.isDetached || !self.random.chance(0.3)) return;
  structuredClone(block.owner.buffer, { transfer: [block.owner.buffer] });
  block.isDetached = true;
}

function drop(self: CoreFuzzer): void {
  self.dispose();
}

function forget(self: CoreFuzzer): void {
  // Left to the collector.
  const [entry] = self.live.splice(self.random.integer(0, self.live.length - 1), 1);
  if (entry !== undefined && !entry.isBorrowed) entry.model.block.owners++;
}

const makers: Operation[] = [fromArray, wrapArray, adoptArray, zeros, allocated];
const users: Operation[] = [
  share,
  share,
  shareCopy,
  throughC,
  throughC,
  transpose,
  slice,
  slice,
  flip,
  broadcast,
  setElement,
  fill,
  copyFrom,
  copyFrom,
  astype,
  reshape,
  keepData,
  wrapData,
  writeArray,
  detach,
  drop,
  drop,
  forget,
];

/** Operations until `steps` have run or `isOver` returns true. */
export function fuzzCore(seed: number, steps: number, log: (line: string) => void, isOver = () => false): number {
  const fuzzer = new CoreFuzzer(seed, log);
  let done = 0;
  for (; done < steps && !isOver(); done++) fuzzer.step();
  fuzzer.finish();
  return done;
}

/** Operations beside those of the core, and what ends them. */
export interface MoreOperations {
  readonly operations: readonly Operation[];
  finish(): void;
}

/** As {@link fuzzCore} with more operations. The event loop turns now and then, so that delayed releases and promises settle. */
export function fuzzerWith(make: () => MoreOperations) {
  return async (
    seed: number,
    steps: number,
    log: (line: string) => void,
    isOver: () => boolean = () => false,
  ): Promise<number> => {
    const more = make();
    const fuzzer = new CoreFuzzer(seed, log, more.operations);
    let done = 0;
    for (; done < steps && !isOver(); done++) {
      fuzzer.step();
      if (done % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    }
    fuzzer.finish();
    more.finish();
    return done;
  };
}
