/**
 * Tensors in the memory of a WebAssembly module: views of its tensors, tensors that release them, and exports into it.
 */

import { checkStruct, type ReadTensor, readPointer, readTensor } from '../abi/describe.js';
import { layoutOf } from '../abi/layout-of.js';
import { wasm32, wasm64 } from '../abi/model.js';
import { DLManagedTensor, DLManagedTensorVersioned } from '../abi/structs.js';
import { checkOptions, type OptionNames } from '../base/options.js';
import { cpu } from '../device.js';
import { type DType, parseDType, sizeBytes } from '../dtype.js';
import { ArgumentTypeError, BufferError, ConsumedError, isUsable, VersionError } from '../errors.js';
import { checkShape, checkStrides, sizeOf } from '../layout.js';
import { DLPACK_VERSION } from '../protocol/managed.js';
import { Descriptor, Flag, KNOWN_FLAGS } from '../storage/descriptor.js';
import { findLayout } from '../storage/layouts.js';
import { afterError, disposeSymbol, releaseAfter } from '../storage/storage.js';
import { WasmStorage } from '../storage/wasm-storage.js';
import { Tensor } from '../tensor.js';
import { convertElements } from '../values/convert.js';
import { descriptorOf, sharedDescriptorOf, TensorView } from '../view.js';
import { writeManaged } from './encode.js';
import { callModule, type WasmAddress, type WasmExports, WasmModule } from './module.js';

/** The size of the module's addresses. */
export interface WasmHeapOptions {
  /** true: the module has 64-bit memory (wasm64). The default is false. */
  memory64?: boolean;
}

/** What happens at the end of an imported tensor. */
export interface ImportTensorOptions {
  /** Releases the tensor in the module, for example `() => exports.tensor_free(address)`. Called once. */
  release: () => void;
}

/** What lies at an address of the module. */
export interface TensorAtOptions<D extends DType = DType> {
  /** The lengths of the axes. */
  shape: readonly number[];
  /** The element type. */
  dtype: D;
  /** In elements; row-major when absent. */
  strides?: readonly number[];
  /** true: the tensor refuses writes. The default is false. */
  readonly?: boolean;
  /** Called once when the last owner is disposed. Absent for memory that lives as long as the module. */
  release?: () => void;
}

/** Which struct lies at an address, and how it is released. */
export interface ImportManagedOptions {
  /** false: the address is of a `DLManagedTensor` without a version. The default is true. */
  versioned?: boolean;
  /**
   * true: the tensor refuses writes, even if the struct does not say so. A `DLManagedTensor` cannot say so. The default is
   * false.
   */
  readonly?: boolean;
  /**
   * Called once in place of the deleter, which it calls. For modules that do not export their table of functions. By
   * default the deleter is called.
   */
  release?: () => void;
}

/** Which struct is written, and whether the elements are copied. */
export interface ExportManagedOptions {
  /**
   * false: writes a `DLManagedTensor` without a version, which older consumers take. It cannot say read-only. The
   * default is true.
   */
  versioned?: boolean;
  /** true: always copy; false: never copy, throw instead; null (default): copy elements outside the module's memory. */
  copy?: boolean | null;
}

/** A tensor in the module's memory, for calls of the module. */
export interface WasmExport<D extends DType = DType> {
  /** The address of the `DLTensor`, as the module's functions take it. */
  readonly address: WasmAddress;
  /** The same elements. The module's writes are visible here. */
  readonly tensor: Tensor<D>;
  /** Frees the struct, and the copy of the elements if there is one. The garbage collector does so, too. */
  dispose(): void;
  /** Frees the memory at the end of a block that begins with `using`. */
  [disposeSymbol](): void;
}

const heapNames: OptionNames<WasmHeapOptions> = { memory64: 'boolean' };
const importNames: OptionNames<ImportTensorOptions> = { release: true };
const atNames: OptionNames<TensorAtOptions> = {
  shape: true,
  dtype: true,
  strides: true,
  readonly: 'boolean',
  release: true,
};
const managedNames: OptionNames<ImportManagedOptions> = { versioned: 'boolean', readonly: 'boolean', release: true };
const exportNames: OptionNames<ExportManagedOptions> = { versioned: 'boolean', copy: 'boolean or null' };

/** The struct of each export, which the collector frees with its tensor if it was not disposed. */
const structs = new WeakMap<Tensor, WasmStorage>();

/**
 * Holds the memory of one WebAssembly module. Tensors and views stay valid when the memory grows. Typed arrays do not:
 * take `.data` again after a call that may allocate.
 *
 * @example
 * ```ts
 * import { WasmHeap } from 'dlpack/wasm';
 * const memory = new WebAssembly.Memory({ initial: 1 }); // instance.exports.memory
 * const heap = new WasmHeap({ memory });
 * const x = heap.tensorAt(64, { shape: [2], dtype: 'float32' });
 * x.fill(7);
 * console.log(new Float32Array(memory.buffer, 64, 2).join()); // 7,7
 * ```
 */
export class WasmHeap {
  readonly #module: WasmModule;
  /** Exports with a deleter that the module has not called yet, by the offset of the struct. */
  readonly #exported = new Map<number, () => void>();
  #deleter = 0;

  /**
   * Connects the memory of a module.
   *
   * @param module - The exports of an instance, or the module object of Emscripten.
   * @param options - `memory64: true` for 64-bit memory; false when absent.
   * @throws ArgumentTypeError for anything but exports with a `WebAssembly.Memory`.
   */
  constructor(module: WasmExports, options: WasmHeapOptions = {}) {
    if (typeof module !== 'function' && !isUsable(module)) {
      throw new ArgumentTypeError('module', 'the exports of a WebAssembly instance', module);
    }
    checkOptions(options, heapNames, '{ memory64: true }');
    this.#module = new WasmModule(module, options.memory64 === true);
  }

  /**
   * Makes a view of the tensor that a `DLTensor` describes. The module keeps the memory.
   *
   * @param address - The address of the struct.
   * @returns A view that shares the memory and owns nothing.
   * @throws ArgumentTypeError for NULL or no address, LayoutError for a struct or elements outside of the memory, and
   *   BufferError for a tensor on a device.
   * @throws UnsupportedDTypeError or UnsupportedDeviceError for an unknown dtype or device.
   */
  viewTensor(address: WasmAddress): TensorView {
    return new TensorView(this.#over(this.#read(this.#module.structAt(address), 0), undefined));
  }

  /**
   * Makes a tensor over a `DLTensor` of the module, which `release` frees when the last owner is disposed.
   *
   * @param address - The address of the struct.
   * @param options - The function that frees it.
   * @returns A tensor that shares the memory.
   * @throws ArgumentTypeError without `release`. Otherwise as `viewTensor` does; then the module still owns the tensor.
   */
  importTensor(address: WasmAddress, options: ImportTensorOptions): Tensor {
    if (options !== undefined) checkOptions(options, importNames, '{ release: () => exports.tensor_free(address) }');
    const release = checkRelease(options?.release);
    if (release === undefined) {
      throw new ArgumentTypeError('release', 'a function that frees the tensor in the module', release);
    }
    return new Tensor(this.#over(this.#read(this.#module.structAt(address), 0), release));
  }

  /**
   * Takes over a `DLManagedTensorVersioned` of the module. Its deleter is called once, also if a check fails.
   *
   * @param address - The address of the struct.
   * @param options - The struct (`versioned`, true when absent), whether writes are refused (`readonly`, false when
   *   absent), and what is called in place of the deleter (`release`).
   * @returns A tensor that shares the memory and calls the deleter after its last owner.
   * @throws VersionError for another major version of DLPack, and LoadError if the module does not export its table of
   *   functions.
   * @throws BufferError for a deleter that is no function of the module. Otherwise as `viewTensor` does.
   */
  importManaged(address: WasmAddress, options: ImportManagedOptions = {}): Tensor {
    checkOptions(options, managedNames, '{ versioned: false }');
    const { versioned, readonly, release: given } = options;
    const own = checkRelease(given);
    const module = this.#module;
    const at = module.structAt(address);
    const isVersioned = versioned !== false;
    const struct = isVersioned ? DLManagedTensorVersioned : DLManagedTensor;
    const { offset, size } = layoutOf(struct, this.#model);
    const view = module.view();
    checkStruct(view, at, size, struct.name);
    const release = own ?? this.#deleterAt(readPointer(view, at + offset.deleter, this.#model.pointerSize), at);
    try {
      const flags = isVersioned ? this.#flagsAt(view, at) : 0;
      return new Tensor(
        this.#over(this.#read(at + offset.dl_tensor, readonly === true ? flags | Flag.readonly : flags), release),
      );
    } catch (error) {
      throw release === undefined ? error : afterError(error, release);
    }
  }

  /**
   * Makes a tensor over elements at an address of the module, which no struct describes.
   *
   * @param address - The address of the first element.
   * @param options - The shape, the dtype, the strides (row-major when absent), whether writes are refused (false when
   *   absent), and how the memory is released.
   * @returns A tensor that shares the memory.
   * @throws ArgumentTypeError for NULL or no address, and ArgumentTypeError, ArgumentValueError or LayoutError for an
   *   impossible shape, elements outside of the memory, or an address that the dtype does not allow.
   * @throws UnsupportedDTypeError for an unknown dtype.
   */
  tensorAt<D extends DType>(address: WasmAddress, options: TensorAtOptions<D>): Tensor<D> {
    checkOptions(options, atNames, "{ shape: [2, 3], dtype: 'float32' }");
    const { shape: lengths, dtype, strides: steps, readonly, release: given } = options;
    const release = checkRelease(given);
    const shape = checkShape(lengths);
    const strides = steps === undefined ? null : checkStrides(steps, shape);
    const layout = findLayout(parseDType(dtype), cpu, shape, strides, readonly === true ? Flag.readonly : 0);
    const start = layout.size === 0 ? 0 : this.#module.structAt(address);
    return new Tensor<D>(this.#over({ layout, start }, release));
  }

  /**
   * Allocates a tensor in uninitialised memory of the module's `malloc`. The last owner calls the module's `free`.
   *
   * @param shape - The lengths of the axes.
   * @param dtype - The element type.
   * @returns A tensor in the memory of the module, which exports share.
   * @throws LoadError for a module without `malloc` and `free`, OutOfMemoryError if it has no memory left, and
   *   ForeignError if it traps.
   * @throws ArgumentTypeError, ArgumentValueError or LayoutError for an impossible shape, and UnsupportedDTypeError for
   *   an unknown dtype.
   */
  empty<D extends DType>(shape: readonly number[], dtype: D): Tensor<D> {
    return new Tensor<D>(this.#allocate(checkShape(shape), parseDType(dtype).name, 0));
  }

  /**
   * Tells whether a tensor lies in this memory, so that an export shares it.
   *
   * @param tensor - Any tensor.
   * @throws DisposedError for one that was disposed.
   */
  includes(tensor: TensorView): boolean {
    return this.#isHere(descriptorOf(tensor));
  }

  /**
   * Returns the address of the first element of a tensor in this memory.
   *
   * @param tensor - A tensor for which `includes` is true.
   * @throws BufferError for a tensor elsewhere, and DisposedError for one that was disposed.
   */
  addressOf(tensor: TensorView): WasmAddress {
    const descriptor = descriptorOf(tensor);
    if (!this.#isHere(descriptor)) {
      throw new BufferError('Expected a tensor in the memory of this module; export it with exportTensor()');
    }
    return this.#module.addressOf(this.#dataOf(descriptor));
  }

  /**
   * Makes a `DLTensor` of a tensor for calls of the module. Elements outside the module's memory are copied into it.
   *
   * @param tensor - The tensor. It may be disposed before the export.
   * @returns The address of the struct, and a tensor that shares the elements. Dispose it after the call.
   * @throws BufferError for elements that start inside a byte, and DisposedError for a tensor that was disposed. For a
   *   copy also as `empty` does.
   */
  exportTensor<D extends DType>(tensor: TensorView<D>): WasmExport<D> {
    const { descriptor, block, address } = this.#write(tensor, 0, true, null);
    const owner = new Tensor<D>(descriptor);
    const struct = this.#own(block, block, 0);
    structs.set(owner as Tensor, struct);
    const dispose = (): void => releaseAfter(struct, () => owner.dispose());
    return { address, tensor: owner, dispose, [disposeSymbol]: dispose };
  }

  /**
   * Makes a `DLManagedTensorVersioned` of a tensor that the module takes over: it calls the deleter when it has
   * finished. Elements outside the module's memory are copied into it.
   *
   * @param tensor - The tensor. It may be disposed before the module has finished.
   * @param options - The struct (`versioned`, true when absent) and whether to copy (`copy`; when absent, only elements
   *   outside the module's memory).
   * @returns The address of the struct.
   * @throws BufferError if `copy: false` forbids a copy that is needed, the struct cannot say that the tensor is
   *   read-only, or elements start inside a byte.
   * @throws LoadError for a module without `malloc`, `free` or a table of functions. Otherwise as `empty` does.
   * @throws ConsumedError inside the module, if it calls the deleter twice.
   */
  exportManaged(tensor: TensorView, options: ExportManagedOptions = {}): WasmAddress {
    checkOptions(options, exportNames, '{ versioned: false }');
    const { versioned, copy = null } = options;
    const isVersioned = versioned !== false;
    if (!isVersioned && copy !== true && tensor.isReadOnly) {
      throw new BufferError('Expected a writable tensor: a DLManagedTensor cannot say read-only; export a copy');
    }
    if (this.#deleter === 0) {
      this.#deleter = this.#module.addFunction((self) => this.#delete(this.#module.offsetOf(self)));
    }
    const { descriptor, block, start } = this.#write(tensor, this.#deleter, isVersioned, copy);
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

  /** The flags of a struct, whose version is checked first. */
  #flagsAt(view: DataView, at: number): number {
    const { version, flags } = layoutOf(DLManagedTensorVersioned, this.#model).offset;
    const major = view.getUint32(at + version, true);
    if (major === DLPACK_VERSION[0]) return view.getUint32(at + flags, true) & KNOWN_FLAGS;
    throw new VersionError([major, view.getUint32(at + version + 4, true)], DLPACK_VERSION);
  }

  /** Calls the deleter of a managed tensor; undefined where it has none. */
  #deleterAt(pointer: number, at: number): (() => void) | undefined {
    if (pointer === 0) return undefined;
    const run = this.#module.functionAt(pointer);
    const self = this.#module.addressOf(at);
    return () => callModule('deleter', run, self);
  }

  #read(offset: number, flags: number): ReadTensor {
    return readTensor(this.#module.view(), offset, this.#model, flags);
  }

  #over({ layout, start }: ReadTensor, release: (() => void) | undefined): Descriptor {
    const module = this.#module;
    const storage = new WasmStorage(module.memory, 0, module.view().byteLength, release);
    try {
      return new Descriptor(storage, layout, start * 8).checkBounds();
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
    return new Descriptor(storage, findLayout(info, cpu, shape, null, flags), 0);
  }

  #isHere({ storage }: Descriptor): boolean {
    return storage instanceof WasmStorage && storage.memory === this.#module.memory;
  }

  #dataOf({ storage, bitOffset }: Descriptor): number {
    return storage.start + Math.floor(bitOffset / 8);
  }

  /** Writes a struct over the elements, or over a copy in the module's memory. The caller owns a reference to them. */
  #write(tensor: TensorView, deleter: number, isVersioned: boolean, copy: boolean | null) {
    const source = sharedDescriptorOf(tensor);
    const isShared = copy !== true && this.#isHere(source);
    if (copy === false && !isShared) {
      throw new BufferError('Expected a tensor in the memory of this module (copy: false); allocate it with empty()');
    }
    const descriptor = isShared ? source : this.#copy(source);
    if (isShared) source.storage.refs++;
    try {
      if (descriptor.bitOffset % 8 !== 0) {
        throw new BufferError(`Expected ${descriptor.dtype.name} elements that start on a byte; export a copy()`);
      }
      const flags = isShared ? descriptor.flags : descriptor.flags | Flag.isCopied;
      const layout = descriptor.layout.withFlags(flags);
      const data = this.#dataOf(descriptor);
      const written = writeManaged(this.#module, this.#model, layout, data, deleter, isVersioned);
      return { descriptor, ...written, address: this.#module.addressOf(written.tensor) };
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

function checkRelease(release: unknown): (() => void) | undefined {
  if (release === undefined || typeof release === 'function') return release as (() => void) | undefined;
  throw new ArgumentTypeError('release', 'a function that frees the tensor in the module', release);
}
