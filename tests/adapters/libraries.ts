/** The libraries in .libraries, each loaded when a test needs it. */

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const folder = fileURLToPath(new URL('../../../.libraries/', import.meta.url));
const require = createRequire(join(folder, 'package.json'));

/** For testWith: what is missing, or false. */
export function missing(name: string): string | false {
  return existsSync(join(folder, 'node_modules', name)) ? false : `${name} in .libraries`;
}

/** The installed version. */
export function versionOf(name: string): string {
  return JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version;
}

/** The CommonJS build of a library. Its types are installed in another folder, so a test declares what it uses. */
export function load<T>(name: string): T {
  return require(name) as T;
}

/** The ES module at a path in .libraries/node_modules. */
export async function loadModule<T>(path: string): Promise<T> {
  return (await import(pathToFileURL(join(folder, 'node_modules', path)).href)) as T;
}

/** TensorFlow.js with its CPU and WebAssembly backends, without its advice for users of Node. */
export function loadTensorFlow<T>(): T {
  const tf = load<T & { enableProdMode(): void }>('@tensorflow/tfjs-core');
  tf.enableProdMode();
  load('@tensorflow/tfjs-backend-cpu');
  load('@tensorflow/tfjs-backend-wasm');
  return tf;
}

interface OpenCV {
  Mat?: unknown;
  onRuntimeInitialized?: () => void;
}

/** OpenCV.js, inside of an object, because an `await` of the module would call its `then` again and again. */
export async function loadOpenCV<T>(): Promise<{ cv: T }> {
  const module = load<OpenCV | Promise<OpenCV>>('@techstark/opencv-js');
  const cv = module instanceof Promise ? await module : module;
  if (cv.Mat === undefined) {
    await new Promise<void>((resolve) => {
      cv.onRuntimeInitialized = resolve;
    });
  }
  return { cv: cv as T };
}

/** MediaPipe's vision tasks. The module is made for a page, and its masks need none. */
export async function loadMediaPipe<T>(): Promise<T> {
  const scope = globalThis as Record<string, unknown>;
  const absent = ['self', 'document'].filter((name) => scope[name] === undefined);
  for (const name of absent) scope[name] = name === 'self' ? globalThis : {};
  try {
    return await loadModule<T>('@mediapipe/tasks-vision/vision_bundle.mjs');
  } finally {
    for (const name of absent) delete scope[name];
  }
}
