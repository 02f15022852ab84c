/** Finds and loads libonnxruntime, once for the process, and attaches this thread to it. */

import { ArgumentTypeError, ArgumentValueError, LoadError } from '../errors.js';
import { findInstalled } from '../native/load/installed.js';
import { isSameFile, native } from '../native/load/load.js';
import { node } from '../native/load/node-modules.js';
import type { OnnxRuntimeBinding } from './binding.js';

const { existsSync, readdirSync } = node.fs;
const { dirname, join, resolve } = node.path;

/** The library of ONNX Runtime that this process uses. */
export interface Runtime {
  /** Such as `'1.30.0'`. */
  readonly version: string;
  /** The file of the library. */
  readonly path: string;
  /** Where it was found. */
  readonly from: 'this process' | 'the given path' | 'DLPACK_ONNXRUNTIME' | 'onnxruntime-node';
  /** The providers that it was built with. Not each of them works on each machine. */
  readonly providers: readonly string[];
}

interface Attached {
  readonly binding: OnnxRuntimeBinding;
  readonly from: Runtime['from'];
}

let attached: Attached | null = null;

/** The native functions for this thread. Loads the library the first time. */
export function onnxruntime(): OnnxRuntimeBinding {
  attached ??= attach(undefined);
  return attached.binding;
}

/** Loads the library from `path`, or from the usual places. */
function attach(path: string | undefined): Attached {
  const binding = native();
  const tried: string[] = [];
  for (const { from, files, missing } of places(path)) {
    if (files.length === 0) tried.push(`${from}: ${missing}`);
    for (const file of files) {
      if (from === 'the given path' || from === 'DLPACK_ONNXRUNTIME') reserveName(file);
      const made = binding.loadOnnxRuntime(file) ?? binding.attachOnnxRuntime<OnnxRuntimeBinding>();
      if (typeof made !== 'string') return { binding: made, from };
      tried.push(`${from}: ${file === '' ? '' : `${file}: `}${made}`);
    }
  }
  throw new LoadError('ONNX Runtime', tried, [
    'install it beside your program: npm install onnxruntime-node',
    'without its install script, which fetches only CUDA: ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node',
    'or name the file of the library in DLPACK_ONNXRUNTIME, or with loadRuntime(path)',
  ]);
}

/**
 * Loads ONNX Runtime's library and tells what it is. You need this only to name a file, or to look: `loadSession` loads
 * the library by itself.
 *
 * Without a path the library is the one that the process has loaded already, the file in `DLPACK_ONNXRUNTIME`, or the
 * one in `onnxruntime-node`, in this order.
 *
 * @param path - The file of the library. A process uses one, so a second file throws an `ArgumentValueError`.
 * @returns The version, the file, and the execution providers.
 * @throws LoadError if there is none, or if it is older than 1.20.
 * @throws ArgumentTypeError if the path is no string, and ArgumentValueError if it names another file than the loaded
 *   one.
 * @example
 * ```ts
 * import { loadRuntime } from 'dlpack/onnxruntime';
 * console.log(loadRuntime().providers.includes('CPUExecutionProvider')); // true
 * ```
 */
export function loadRuntime(path?: string): Runtime {
  if (path !== undefined && typeof path !== 'string') throw new ArgumentTypeError('path', 'a string', path);
  attached ??= attach(path);
  const { version, path: file, providers } = attached.binding;
  if (path !== undefined && !isSameFile(resolve(path), file)) {
    throw new ArgumentValueError('path', `the ONNX Runtime that this process has loaded already, ${file},`, path);
  }
  return { version, path: file, from: attached.from, providers: [...providers] };
}

/**
 * onnxruntime-node finds its library by a name that all of them have. If the loader knew a file by it that the program
 * names, onnxruntime-node could not be loaded afterwards. So its own library comes first.
 */
function reserveName(named: string): void {
  if (!existsSync(named)) return;
  for (const file of installed()) if (!isSameFile(file, named)) native().reserveOnnxRuntime(file);
}

interface Place {
  readonly from: Runtime['from'];
  readonly files: readonly string[];
  readonly missing: string;
}

/** The places to try, in order. */
function* places(given?: string): Generator<Place> {
  yield { from: 'this process', files: [''], missing: '' };
  if (given !== undefined) {
    yield { from: 'the given path', files: [resolve(given)], missing: '' };
    return;
  }
  const { DLPACK_ONNXRUNTIME: named } = process.env;
  yield { from: 'DLPACK_ONNXRUNTIME', files: named ? [resolve(named)] : [], missing: 'the variable is not set' };
  yield { from: 'onnxruntime-node', files: installed(), missing: 'the package is not installed for this program' };
}

/** The library in onnxruntime-node, as the program finds that package: from its first file, then from its folder. */
function installed(): string[] {
  const from = [process.argv[1], join(process.cwd(), 'index.js')];
  for (const file of from) {
    const main = file === undefined ? null : findInstalled('onnxruntime-node', resolve(file));
    if (main !== null) return librariesIn(join(dirname(main), '..', 'bin'));
  }
  return [];
}

const libraryName =
  process.platform === 'win32'
    ? /^onnxruntime\.dll$/
    : process.platform === 'darwin'
      ? /^libonnxruntime\..*dylib$/
      : /^libonnxruntime\.so/;

/** onnxruntime-node has a folder for each version of Node-API, with one for each system in it. */
function librariesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((version) => {
    const place = join(folder, version, process.platform, process.arch);
    if (!existsSync(place)) return [];
    return readdirSync(place)
      .filter((name) => libraryName.test(name))
      .slice(0, 1)
      .map((name) => join(place, name));
  });
}
