/**
 * Tensors in the memory of a WebAssembly module: views of its tensors, tensors that release them, and exports into it.
 */

import { decodeManagedTensor, decodeManagedTensorVersioned } from '../abi/codec.js';
import { describeTensor } from '../abi/describe.js';
import { layoutOf } from '../abi/layout-of.js';
import { wasm32, wasm64 } from '../abi/model.js';
import { DLManagedTensor, DLManagedTensorVersioned } from '../abi/structs.js';
import { checkOptions, type OptionNames } from '../base/options.js';
import { cpu } from '../device.js';
import { type DType, parseDType, sizeBytes } from '../dtype.js';
import { ArgumentTypeError, BufferError, ConsumedError, isUsable, VersionError } from '../errors.js';
import { checkShape, rowMajorStrides, sizeOf } from '../layout.js';
import { DLPACK_VERSION } from '../protocol/managed.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { disposeSymbol, releaseAfter } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import { convertElements } from '../values/convert.js';
import { descriptorOf, TensorView } from '../view.js';
import { writeManaged } from './encode.js';
import { bufferOf, callModule, type WasmAddress, type WasmExports, WasmModule } from './module.js';
import { WasmStorage } from './storage.js';

export interface WasmHeapOptions {
  /** true: the module has 64-bit memory (wasm64). */
  memory64?: boolean;
}

export interface ImportTensorOptions {
  /** Releases the tensor in the module, for example `() => exports.tensor_free(address)`. Called once. */
  release: () => void;
}

export interface ImportManagedOptions {
  /** false: the address is of a `DLManagedTensor` without a version. */
  versioned?: boolean;
}

/** A tensor in the module's memory, for calls of the module. */
export interface WasmExport<D extends DType = DType> {
  /** The address of the `DLTensor`, as the module's functions take it. */
  readonly address: WasmAddress;
  /** The same elements. The module's writes are visible here. */
  readonly tensor: Tensor<D>;
  /** Frees the struct, and the copy of the elements if there is one. The garbage collector does so, too. */
  dispose(): void;
  [disposeSymbol](): void;
}

const heapNames: OptionNames<WasmHeapOptions> = { memory64: 'boolean' };
const importNames: OptionNames<ImportTensorOptions> = { release: true };
const managedNames: OptionNames<ImportManagedOptions> = { versioned: 'boolean' };

/** The struct of each export, which the collector frees with its tensor if it was not disposed. */
const structs = new WeakMap<Tensor, WasmStorage>();

/**
 * The memory of one WebAssembly module. Tensors and views stay valid when the memory grows. Typed arrays do not: take
 * `.data` again after a call that may allocate.
 */
export class WasmHeap {
  readonly #module: WasmModule;
  /** Exports with a deleter that the module has not called yet, by the offset of the struct. */
  readonly #exported = new Map<number, () => void>();
  #deleter: bigint | null = null;

  /** `module`: the exports of an instance, or the module object of Emscripten. */
  constructor(module: WasmExports, options: WasmHeapOptions = {}) {
    if (typeof module !== 'function' && !isUsable(module)) {
      throw new ArgumentTypeError('module', 'the exports of a WebAssembly instance', module);
    }
    checkOptions(options, heapNames, '{ memory64: true }');
    this.#module = new WasmModule(module, options.memory64 === true);
  }

  /** A view of the tensor that a `DLTensor` describes. The module keeps the memory. */
  viewTensor(address: WasmAddress): TensorView {
    return new TensorView(this.#describe(this.#module.structAt(address), 0n));
  }

  /** A tensor over a `DLTensor` of the module, which `release` frees when the last owner is disposed. */
  importTensor(address: WasmAddress, options: ImportTensorOptions): Tensor {
    if (options !== undefined) checkOptions(options, importNames, '{ release: () => exports.tensor_free(address) }');
    const release = options?.release; // read once, because getters may return different values
    if (typeof release !== 'function') {
      throw new ArgumentTypeError('release', 'a function that frees the tensor in the module', release);
    }
    const offset = this.#module.structAt(address);
    this.#describe(offset, 0n); // the caller keeps the tensor if a check fails
    return new Tensor(this.#describe(offset, 0n, release));
  }

  /** Takes over a `DLManagedTensorVersioned` of the module. Its deleter is called once, also if a check fails. */
  importManaged(address: WasmAddress, options: ImportManagedOptions = {}): Tensor {
    checkOptions(options, managedNames, '{ versioned: false }');
    const module = this.#module;
    const offset = module.structAt(address);
    const place = { buffer: bufferOf(module.memory) as ArrayBuffer, byteOffset: offset, model: this.#model };
    const isVersioned = options.versioned !== false;
    const struct = isVersioned ? DLManagedTensorVersioned : DLManagedTensor;
    const { deleter, ...managed } = isVersioned ? decodeManagedTensorVersioned(place) : decodeManagedTensor(place);
    const run = deleter === 0n ? undefined : module.functionAt(deleter);
    const release = run === undefined ? undefined : () => callModule('deleter', run, module.addressOf(offset));
    try {
      const { version, flags } = managed as { version?: { major: number; minor: number }; flags?: bigint };
      if (version !== undefined && version.major !== DLPACK_VERSION[0]) {
        throw new VersionError([version.major, version.minor], DLPACK_VERSION);
      }
      const tensor = offset + (layoutOf(struct, this.#model).offset.dl_tensor as number);
      this.#describe(tensor, flags ?? 0n);
      return new Tensor(this.#describe(tensor, flags ?? 0n, release));
    } catch (error) {
      release?.();
      throw error;
    }
  }

  /** A tensor in uninitialised memory of the module's `malloc`. The last owner calls the module's `free`. */
  empty<D extends DType>(shape: readonly number[], dtype: D): Tensor<D> {
    return new Tensor<D>(this.#allocate(checkShape(shape), parseDType(dtype).name, 0));
  }

  /** The address of the first element of a tensor in this memory. */
  addressOf(tensor: TensorView): WasmAddress {
    const descriptor = descriptorOf(tensor);
    if (!this.#isHere(descriptor)) {
      throw new BufferError('Expected a tensor in the memory of this module; export it with exportTensor()');
    }
    return this.#module.addressOf(this.#dataOf(descriptor));
  }

  /** A `DLTensor` of a tensor for calls of the module. Elements outside the module's memory are copied into it. */
  exportTensor<D extends DType>(tensor: TensorView<D>): WasmExport<D> {
    const { descriptor, block, address } = this.#write(tensor, null);
    const owner = new Tensor<D>(descriptor);
    const struct = this.#own(block, block, 0);
    structs.set(owner as Tensor, struct);
    const dispose = (): void => releaseAfter(struct, () => owner.dispose());
    return { address, tensor: owner, dispose, [disposeSymbol]: dispose };
  }

  /**
   * A `DLManagedTensorVersioned` of a tensor that the module takes over: it calls the deleter when it has finished.
   * Elements outside the module's memory are copied into it.
   */
  exportManaged(tensor: TensorView): WasmAddress {
    this.#deleter ??= this.#module.addFunction((self) => this.#delete(this.#module.offsetOf(self)));
    const { descriptor, block, start } = this.#write(tensor, this.#deleter);
    this.#exported.set(start, () => {
      descriptor.storage.release();
      this.#module.free(block);
    });
    return this.#module.addressOf(start);
  }

  get #model() {
    return this.#module.is64 ? wasm64 : wasm32;
  }

  #delete(start: number): void {
    const release = this.#exported.get(start);
    if (release === undefined) throw new ConsumedError(`The module called the deleter of the tensor at ${start} twice`);
    this.#exported.delete(start);
    release();
  }

  #describe(offset: number, flags: bigint, release?: () => void): Descriptor {
    const { memory } = this.#module;
    const buffer = bufferOf(memory) as ArrayBuffer;
    const storage = new WasmStorage(memory, 0, buffer.byteLength, release);
    try {
      return describeTensor({ buffer, byteOffset: offset, model: this.#model }, flags, storage);
    } catch (error) {
      storage.refs = 0; // the caller decides about the release, not the collector
      throw error;
    }
  }

  /** Memory in a block of the module. A function of its own, so that the deleter refers to nothing that uses the memory. */
  #own(block: number, start: number, nbytes: number): WasmStorage {
    const module = this.#module;
    return new WasmStorage(module.memory, start, nbytes, () => module.free(block));
  }

  #allocate(shape: readonly number[], dtype: DType, flags: number): Descriptor {
    const info = parseDType(dtype);
    const nbytes = sizeBytes(info, sizeOf(shape), flags !== 0);
    const module = this.#module;
    let block = module.allocate(nbytes);
    if (block % info.alignment !== 0) {
      module.free(block); // the allocator aligns to less than the elements need
      block = module.allocate(nbytes + info.alignment - 1);
    }
    const start = Math.ceil(block / info.alignment) * info.alignment;
    const storage = this.#own(block, start, nbytes);
    // Bits that belong to no element are never written.
    if (info.isSubByte) new Uint8Array(storage.buffer(), start, nbytes).fill(0);
    return new Descriptor(storage, info, cpu, shape, rowMajorStrides(shape), 0, flags);
  }

  #isHere({ storage }: Descriptor): boolean {
    return storage instanceof WasmStorage && storage.memory === this.#module.memory;
  }

  #dataOf({ storage, bitOffset }: Descriptor): number {
    return storage.start + Math.floor(bitOffset / 8);
  }

  /** Writes a struct over the elements, or over a copy in the module's memory. The caller owns a reference to them. */
  #write(tensor: TensorView, deleter: bigint | null) {
    const source = descriptorOf(tensor).shared();
    const descriptor = this.#isHere(source) ? source : this.#copy(source);
    if (descriptor === source) source.storage.refs++;
    try {
      if (descriptor.bitOffset % 8 !== 0) {
        throw new BufferError(`Expected ${descriptor.dtype.name} elements that start on a byte; export a copy()`);
      }
      const written = writeManaged(this.#module, this.#model, descriptor, this.#dataOf(descriptor), deleter);
      return {
        descriptor,
        block: written.block,
        start: written.start,
        address: this.#module.addressOf(written.tensor),
      };
    } catch (error) {
      descriptor.storage.release();
      throw error;
    }
  }

  #copy(source: Descriptor): Descriptor {
    const copy = this.#allocate(source.shape, source.dtype.name as DType, source.flags & Flag.subBytePadded);
    try {
      if (source.size > 0) convertElements(source, copy);
      return copy;
    } catch (error) {
      copy.storage.release();
      throw error;
    }
  }
}
