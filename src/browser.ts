/**
 * Everything that works in a page, as one file without imports, for pages without a bundler. An import map names the
 * file for each subpath that the page uses:
 *
 * ```html
 * <script type="importmap">
 *   { "imports": { "dlpack": "./dlpack.js", "dlpack/adapters": "./dlpack.js", "dlpack/webgpu": "./dlpack.js" } }
 * </script>
 * ```
 *
 * @module
 */

export * from './abi/index.js';
// The core has types of these names.
export { DLDataType, DLDevice } from './abi/index.js';
export * from './adapters/index.js';
export * from './debug/index.js';
export * from './files/index.js';
export * from './index.js';
export * from './mdspan/index.js';
export * from './pyodide/index.js';
export * from './wasm/index.js';
export * from './webgpu/index.js';
