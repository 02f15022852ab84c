/**
 * Tensors in WebAssembly memory: views of a module's tensors, tensors that its own functions free, and exports into it.
 *
 * @example
 * ```ts fragment: needs a module
 * const heap = new WasmHeap(instance.exports);
 * using y = heap.importManaged(instance.exports.make_tensor());
 * const x = heap.exportTensor(Tensor.from([1, 2, 3], { dtype: 'float32' }));
 * instance.exports.scale(x.address, 2);
 * x.tensor.toArray(); // [2, 4, 6]
 * ```
 *
 * @module
 */

export {
  type ExportManagedOptions,
  type ImportManagedOptions,
  type ImportTensorOptions,
  type TensorAtOptions,
  type WasmExport,
  WasmHeap,
  type WasmHeapOptions,
} from './heap.js';
export type { WasmAddress, WasmExports } from './module.js';
