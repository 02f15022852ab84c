/** The library of ONNX Runtime in .libraries, which tests load by its path. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The library in a folder where onnxruntime-node is installed; null if there is none. */
export function findLibrary(libraries: string): string | null {
  const url = new URL(`../../../${libraries}/node_modules/onnxruntime-node/bin`, import.meta.url);
  const folder = fileURLToPath(url);
  if (!existsSync(folder)) return null;
  for (const version of readdirSync(folder)) {
    const place = join(folder, version, process.platform, process.arch);
    const name =
      existsSync(place) && readdirSync(place).find((file) => /^(lib)?onnxruntime\.(so|dll|.*dylib)/.test(file));
    if (name) return join(place, name);
  }
  return null;
}

/** `TEST_ONNXRUNTIME` names another one, such as one of another version. */
export const libraryPath = process.env.TEST_ONNXRUNTIME ?? findLibrary('.libraries');
export const missing = libraryPath === null ? 'onnxruntime-node in .libraries' : false;
if (libraryPath !== null) process.env.DLPACK_ONNXRUNTIME = libraryPath;
